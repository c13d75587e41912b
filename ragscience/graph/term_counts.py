"""Counts over the sentences of a paper: names and the evidence for their types, and phrases that may be terms."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ragscience.core.records import StoredChunk
from ragscience.graph.graph_records import canonical
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

__all__ = [
    "LONGEST_TERM",
    "Counts",
    "Phrase",
    "Vote",
    "count_names",
    "count_phrases",
    "count_table_heads",
    "count_words",
    "cues",
    "noun_of",
]

Vote = tuple[str, float]
"""(type, weight): 3 and more is a statement, 2 strong, 1 a hint."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DETERMINERS = _words("a an the our this these new novel simple both standard original popular also then here")
_PROPOSE = _words(
    "propose proposes proposed introduce introduces introduced present presents presented develop developed"
)
_CALL = _words("called named dubbed termed call coined denoted")
_IT = _words("it this model method approach algorithm framework system")
_TRIED = _words("""
    trained pretrained pre-trained evaluated evaluate tested train test finetuned fine-tuned fine-tune finetune
    results result performance experiments experiment experimented scores fine-tuning pretraining pre-training
    validated
    """)
_MEASURED_BY = (("in", "terms", "of"), ("measured", "by"), ("measured", "in"), ("measured", "using"), ("report",))
_AMOUNT = _words("higher lower better improved best average")
_ACTS = _words("""
    outperforms outperformed achieves achieved obtains learns performs requires uses used surpasses improves
    exceeds generalizes trains converges computes predicts generates encodes
    """)
_WITH = _words("using with via use uses apply employ implement implemented")
_LIST_BEGINS = (("such", "as"), ("including",), ("like",), ("namely",), ("e.g",))
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DECIMAL = re.compile(r"\d+\.\d+")
_KIND_ENDS = _words("of for that which with to in from by on where whose based using designed and as at")
_RESULT_AT = 12


def cues(words: Words, start: int, end: int) -> Iterator[Vote]:
    """The evidence of sentence `words` for the type of the name that is words `start` to `end` (exclusive) of it."""
    yield from _from_behind(words, end)
    yield from _from_before(words, start)
    listed = _listed_as(words, start)
    if listed:
        yield listed, 2.0


def noun_of(words: Words, start: int) -> str:
    """The type by the head noun of the noun phrase from word `start` on: "a novel framework for …": METHOD."""
    kind = ""
    for i in range(start, min(start + _RESULT_AT, len(words.words))):
        if i > start and words.gaps[i] != " ":
            break
        if words.lower[i] in _KIND_ENDS:
            break
        kind = HEADS.get(canonical(words.lower[i]), "")
    return kind


def _from_behind(words: Words, end: int) -> Iterator[Vote]:
    lower, gaps = words.lower, words.gaps
    if end >= len(lower):
        return
    following, gap = lower[end], gaps[end]
    if gap == " ":
        kind = HEADS.get(canonical(following), "")
        if kind and kind != "CONCEPT":
            yield kind, 2.0
        elif following in ("task", "tasks", "test", "dev", "leaderboard", "validation"):
            yield "DATASET", 1.0
        elif following in _ACTS:
            yield "METHOD", 1.0
        elif following == "of" and end + 1 < len(lower) and _NUMBER.fullmatch(lower[end + 1]):
            yield "METRIC", 1.0
        if following in ("is", "are", "was") and end + 1 < len(lower) and lower[end + 1] in ("a", "an", "the"):
            kind = noun_of(words, end + 2)
            if kind:
                yield kind, 3.0
    elif gap.strip() == "," and following in ("a", "an"):
        kind = noun_of(words, end + 1)
        if kind:
            yield kind, 3.0
    elif gap.strip() == ":" and following in ("a", "an") and words.kind == "title":
        yield noun_of(words, end + 1) or "METHOD", 3.0


def _from_before(words: Words, start: int) -> Iterator[Vote]:
    lower, gaps = words.lower, words.gaps
    at = start
    while at > 0 and gaps[at].strip(" :“\"'‘") == "" and lower[at - 1] in _DETERMINERS:
        at -= 1
    if at == 0 or gaps[at].strip(" :“\"'‘,"):
        return
    before = lower[at - 1]
    if before in _PROPOSE or (before in _CALL) or (at > 1 and lower[at - 2] in _CALL and before in _IT):
        yield "METHOD", 3.0
    elif before == "as" and at > 2 and "refer" in lower[max(0, at - 6) : at]:
        yield "METHOD", 2.0
    elif before == "on" and at > 1 and any(word in _TRIED for word in lower[max(0, at - 7) : at - 1]):
        yield "DATASET", 2.0 if lower[at - 2] in _TRIED else 1.0
    elif any(lower[at - len(phrase) : at] == phrase for phrase in _MEASURED_BY):
        yield "METRIC", 1.5
    elif before in _AMOUNT or _DECIMAL.fullmatch(before):
        yield "METRIC", 0.3
    elif before in _WITH:
        yield "METHOD", 0.5
    elif gaps[at] == " " and before not in BREAKS:
        kind = HEADS.get(before, "")
        if kind and kind != "CONCEPT":
            yield kind, 1.5


def _listed_as(words: Words, start: int) -> str:
    """The type of the list that contains a name: "datasets such as A, B and X": DATASET."""
    lower, gaps = words.lower, words.gaps
    first = max(0, start - 12)
    for at in range(start - 1, first, -1):
        for phrase in _LIST_BEGINS:
            begin = at - len(phrase) + 1
            if begin > 0 and lower[begin : at + 1] == phrase:
                between = [*gaps[at + 2 : start + 1]] if start > at + 1 else []
                if any("." in gap or ";" in gap or ":" in gap for gap in between):
                    return ""
                inner = lower[at + 1 : start]
                if any(word in BREAKS and word not in ("and", "or", "the") for word in inner):
                    return ""
                return HEADS.get(canonical(lower[begin - 1]), "") if gaps[begin].strip() in ("", ",", "(") else ""
    return ""


LONGEST_TERM = 5
"""Maximum words of a phrase."""
Phrase = tuple[str, ...]


@dataclass
class Counts:
    """Counts over a paper."""

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
    """(first, last exclusive) word of each span that is written as a name: "Penn Treebank", "GPT-2 Large"."""
    start = 0
    while start < len(words.words):
        end = start
        while end < len(words.words) and _may_name(words, end, start) and (end == start or words.gaps[end] == " "):
            end += 1
        if end > start:
            shaped = [at for at in range(start, end) if is_shaped(words.words[at])]
            if len(shaped) > 1 and canonical(words.joined(shaped[0], shaped[0] + 2)) not in KNOWN:
                yield from ((at, at + 1) for at in shaped)  # several adjacent names, as in a table
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
    """How often each word occurs in lower case, and capitalised other than at a sentence's beginning."""
    for i, word in enumerate(words.words):
        if word[:1].islower():
            counts.lower[canonical(word)] += 1
        elif i:
            counts.capital[canonical(word)] += 1


def _is_shouted(words: Words) -> bool:
    letters = [c for c in words.text if c.isalpha()]
    return len(letters) > 8 and sum(c.isupper() for c in letters) > 0.6 * len(letters)


def count_names(words: Words, counts: Counts) -> None:
    """Names, people, and the type votes from the context of each name."""
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
    """Phrases that end in a noun and might be terms, counted once per sentence."""
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
    """Whether the noun phrase has another noun after word `at`."""
    if at + 1 >= len(words.words) or words.gaps[at + 1] != " " or words.lower[at].endswith("s"):
        return False
    following = canonical(words.lower[at + 1])
    return following in CONTINUES or _may_end(following)


def _is_part(word: str) -> bool:
    """Whether a word that cannot begin a term may still be part of one."""
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
    """Votes in a table of models: names in its head are data sets, those in its first column models."""
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
