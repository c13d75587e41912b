"""What is counted over the sentences of a paper: names and what is said of them, and phrases that may be terms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ragscience.graph.entity_names import canonical
from ragscience.graph.lexicon import (
    BREAKS,
    CONTINUES,
    ED_MODIFIERS,
    GENERIC_HEADS,
    HARDWARE,
    HEADS,
    ING_NOUNS,
    KNOWN,
    NO_NAMES,
    NOUN_ENDINGS,
    PREFIXES,
    S_MODIFIERS,
    TASK_HEADS,
)
from ragscience.graph.passage_words import Words, is_capitalised, is_shaped, read_words
from ragscience.graph.type_cues import cues
from ragscience.records import StoredChunk

__all__ = ["LONGEST_TERM", "Counts", "Phrase", "count_names", "count_phrases", "count_table_heads", "count_words"]

LONGEST_TERM = 5
"""Words."""
Phrase = tuple[str, ...]


@dataclass
class Counts:
    """What is counted over a paper."""

    lower: Counter[str] = field(default_factory=Counter)
    capital: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    shaped: set[str] = field(default_factory=set)
    votes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    phrases: Counter[Phrase] = field(default_factory=Counter)
    before: dict[Phrase, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    aliases: set[tuple[str, str]] = field(default_factory=set)
    people: Counter[str] = field(default_factory=Counter)


def runs(words: Words) -> Iterator[tuple[int, int]]:
    """(first, last exclusive) word of each stretch that is written as a name: "Penn Treebank", "GPT-2 Large"."""
    start = 0
    while start < len(words.words):
        end = start
        while end < len(words.words) and _may_name(words, end, start) and (end == start or words.gaps[end] == " "):
            end += 1
        if end > start:
            shaped = [at for at in range(start, end) if is_shaped(words.words[at])]
            if len(shaped) > 1 and canonical(words.joined(shaped[0], shaped[0] + 2)) not in KNOWN:
                yield from ((at, at + 1) for at in shaped)  # several names side by side, as in a table
            elif end - start <= 4:
                yield start, end
            start = end
        else:
            start += 1


def _may_name(words: Words, at: int, start: int) -> bool:
    word = words.words[at]
    if is_shaped(word):
        return True
    if is_capitalised(word) and (at > 0 or words.kind == "title") and words.lower[at] not in BREAKS:
        return words.gaps[at].strip(" (“\"'‘,") == "" or words.kind == "title"
    return at > start and word.isdigit() and len(word) <= 4 and is_shaped(words.words[at - 1])


def count_words(words: Words, counts: Counts) -> None:
    """How often each word stands in lower case, and with a capital that begins no sentence."""
    for i, word in enumerate(words.words):
        if word[:1].islower():
            counts.lower[canonical(word)] += 1
        elif i:
            counts.capital[canonical(word)] += 1


def _is_shouted(words: Words) -> bool:
    letters = [c for c in words.text if c.isalpha()]
    return len(letters) > 8 and sum(c.isupper() for c in letters) > 0.6 * len(letters)


def count_names(words: Words, counts: Counts) -> None:
    """Names, people, and the votes of what stands around each name."""
    if _is_shouted(words):
        return
    for start, end in runs(words):
        following = words.lower[end : end + 2]
        if following == ("et", "al") or (
            following[:1] == ("and",) and words.text[words.ends[end - 1] :][:40].count("(19")
        ):
            counts.people[words.joined(start, end)] += 1
            continue
        name = canonical(words.joined(start, end))
        counts.names[name] += 1
        if any(is_shaped(word) for word in words.words[start:end]):
            counts.shaped.add(name)
        for kind, weight in cues(words, start, end):
            counts.votes[name][kind] += weight  # type: ignore[assignment]  # weights are halves
        if words.kind == "title" and words.gaps[end].strip() == ":":
            counts.votes[name]["METHOD"] += 3


def count_phrases(words: Words, counts: Counts) -> None:
    """Phrases that end in a noun and might be terms, once for each sentence."""
    seen = set[Phrase]()
    for at, word in enumerate(words.lower):
        head = canonical(word)
        if not _may_end(head) or not word.replace("-", "").isalpha():
            continue
        if _goes_on(words, at):
            continue
        start = at
        while (
            start > 0 and at - start < LONGEST_TERM - 1 and words.gaps[start] == " " and _may_modify(words, start - 1)
        ):
            start -= 1
        for first in range(start, at):
            phrase = (*words.lower[first:at], head)
            if phrase not in seen and _may_begin(words.lower[first]):
                seen.add(phrase)
                counts.phrases[phrase] += 1
                if first and words.gaps[first] == " " and _is_part(words.lower[first - 1]):
                    counts.before[phrase][words.lower[first - 1]] += 1


def _goes_on(words: Words, at: int) -> bool:
    """Whether the noun phrase has another noun behind word `at`."""
    if at + 1 >= len(words.words) or words.gaps[at + 1] != " " or words.lower[at].endswith("s"):
        return False
    following = canonical(words.lower[at + 1])
    return following in CONTINUES or _may_end(following)


def _is_part(word: str) -> bool:
    """Whether a word that no term begins with may be part of one all the same."""
    return word in PREFIXES or word.endswith(("ly", "ed"))


def _may_end(head: str) -> bool:
    return head not in BREAKS and (
        head in HEADS or head in TASK_HEADS or (len(head) > 5 and head.endswith(NOUN_ENDINGS))
    )


def _may_modify(words: Words, at: int) -> bool:
    word = words.lower[at]
    if (
        len(word) < 3
        or word in BREAKS
        or word in HARDWARE
        or not word.replace("-", "").isalpha()
        or word.endswith("ly")
    ):
        return False
    if word.endswith("ize") and word != "size":
        return False
    if "-" not in word and word.endswith("ed") and word not in ED_MODIFIERS:
        return False
    if word.endswith("s") and not word.endswith(("ss", "ous", "sis", "ics")) and word not in S_MODIFIERS:
        return False
    return not is_shaped(words.words[at]) and word not in NO_NAMES


def _may_begin(word: str) -> bool:
    return not (word.endswith("ing") and word not in ING_NOUNS) and word not in GENERIC_HEADS and not word.endswith("-")


def count_table_heads(chunks: Iterable[StoredChunk], counts: Counts) -> None:
    """Names in the head of a table of models are data sets rather, those in its first column models."""
    for chunk in chunks:
        rows = [line for line in chunk.text.splitlines() if line.startswith("|")]
        if chunk.kind != "table" or not rows:
            continue
        head = [cell.strip() for cell in rows[0].strip("|").split("|")]
        if canonical(head[0]) not in ("model", "method", "system", "algorithm", "approach"):
            continue
        cells = [("DATASET", cell) for cell in head[1:]]
        cells += [("METHOD", row.strip("|").split("|")[0]) for row in rows[2:]]
        for kind, cell in cells:
            words = read_words(cell, "row")
            if words.words and len(words.words) <= 2 and is_shaped(words.words[0]):
                counts.votes[canonical(words.words[0])][kind] += 1
