"""The text of a passage as sentences of words, and the acronyms that it defines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from ragscience.core.sentences import split_sentences
from ragscience.core.tokenizing import joined_lines
from ragscience.graph.graph_records import canonical, clean
from ragscience.graph.lexicon import FUNCTION_WORDS, HARDWARE, NO_NAMES

__all__ = ["Words", "is_capitalised", "is_shaped", "read_words", "sentences_of", "short_forms"]

_WORD = re.compile(r"[^\W_]+(?:(?:[-‐‑–/'’@&]|(?<=\d)\.(?=\d))[^\W_]+)*(?:\+\+|[+*](?=[\s,.)]|$))?")
_POSSESSIVE = re.compile(r"['’]s$")
_ROMAN = re.compile(r"[IVXLC]+")
_PERSON = re.compile(r"(?:Mc|Mac|De|Di|Du|Le|La|Van|Von|O['’]|Fitz)[A-Z][a-z]+")
_TITLE_CASE = re.compile(r"[A-Z]?[a-z]+")
_ADJECTIVE = re.compile(
    r".*-(?:aware|based|free|like|style|specific|level|wise|only|related|inspired|trained|tuned|type)", re.I
)
_NUMBERED = re.compile(r"[A-Z][a-z]{2,}+[a-zA-Z]*+-?\d++[A-Za-z]?")
LONGEST_WORD = 30


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence, caption or row on one line: `text[starts[i]:ends[i]]` is word `i`, and `gaps[i]` is before it."""

    text: str
    kind: str
    """As of `language.sentences.Span`: "sentence", "caption" or "row"."""
    words: tuple[str, ...]
    """Without a possessive 's."""
    lower: tuple[str, ...]
    gaps: tuple[str, ...]
    """The text before each word; one more than words: the last is what follows the last one."""
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def joined(self, start: int, end: int) -> str:
        """Words `start` to `end` (exclusive) as written."""
        return _POSSESSIVE.sub("", self.text[self.starts[start] : self.ends[end - 1]])

    def is_joined(self, start: int, end: int) -> bool:
        """Whether words `start` to `end` (exclusive) are separated by spaces only."""
        return all(gap == " " for gap in self.gaps[start + 1 : end])


def sentences_of(text: str) -> Iterator[Words]:
    """The sentences, captions and rows of a passage, in order; Markdown rows one by one."""
    for span in split_sentences(text):
        yield read_words(text[span.start : span.end], span.kind)


def read_words(text: str, kind: str) -> Words:
    """One sentence: NFKC, on one line, words hyphenated at a line's end joined."""
    line = joined_lines(unicodedata.normalize("NFKC", text))
    found = [(m.start(), m.end(), _POSSESSIVE.sub("", m.group())) for m in _WORD.finditer(line)]
    edges = [0, *(end for _, end, _ in found)], [*(start for start, _, _ in found), len(line)]
    return Words(
        line,
        kind,
        tuple(word for _, _, word in found),
        tuple(word.casefold() for _, _, word in found),
        tuple(line[a:b] for a, b in zip(*edges, strict=True)),
        tuple(start for start, _, _ in found),
        tuple(end for _, end, _ in found),
    )


def is_shaped(word: str) -> bool:
    """Whether a word is written like a name: "BERT", "MapReduce", "CIFAR-10", "kNN-LM", "Wikitext103"."""
    if not 3 <= len(word) <= LONGEST_WORD or _ROMAN.fullmatch(word) or _PERSON.fullmatch(word):
        return False
    if not word[0].isalpha() or _ADJECTIVE.fullmatch(word):
        return False
    parts = re.split(r"[-‐‑–/]", word)
    if all(_TITLE_CASE.fullmatch(part) for part in parts) or any(not part for part in parts):
        return False
    if word.casefold() in NO_NAMES or any(canonical(part) in HARDWARE for part in parts):
        return False
    capitals = sum(letter.isupper() for letter in word)
    letters = sum(letter.isalpha() for letter in word)
    if letters < 2 or sum(letter.isdigit() for letter in word) > letters + 1 or not word[0].isascii():
        return False
    # A name has two adjacent capitals or two in one part ("LoRA"), not one in each of two common words.
    return (capitals >= 2 and any(sum(c.isupper() for c in part) >= 2 for part in parts)) or bool(
        _NUMBERED.fullmatch(word)
    )


def is_capitalised(word: str) -> bool:
    """Whether only the first letter of a word is in upper case: "Raft", "Wall"."""
    return len(word) >= 3 and word[0].isupper() and word[1:].islower() and word.casefold() not in NO_NAMES


_IN_PARENTHESES = re.compile(r"\s\(([^()]{2,80})\)")
_SHORT = re.compile(r"[A-Za-z][A-Za-z0-9\-/&]{1,9}")
_MAY_PRECEDE = re.compile(r"[.;:,()\[\]|]")


def short_forms(text: str) -> Iterator[tuple[str, str]]:
    """(short, long) as defined in a text on one line, in order: "long short-term memory (LSTM)", "LSTM (long …)".

    After A. S. Schwartz, M. A. Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical
    text", Pacific Symposium on Biocomputing 2003, section 3: the letters of the short form are found in the long one
    from the right; its first letter begins a word there.
    """
    for match in _IN_PARENTHESES.finditer(text):
        before, inside = text[: match.start()], re.split(r"[;,]", match.group(1))[0].strip()
        if _is_short(inside):
            words = _MAY_PRECEDE.split(before)[-1].split()[-min(len(inside) + 5, 2 * len(inside)) :]
            long = _long_form(inside, " ".join(words))
        else:
            inside, swapped = before.split()[-1] if before.split() else "", match.group(1).strip()
            long = _long_form(inside, swapped) if _is_short(inside) else ""
            long = long if long == swapped else ""
        short = inside.removesuffix("s") if inside[-2:-1].isupper() else inside
        if long and _is_term(short, long):
            yield short, long


def _is_short(text: str) -> bool:
    return bool(_SHORT.fullmatch(text)) and sum(c.isupper() for c in text) >= 2 and text.casefold() not in NO_NAMES


def _is_term(short: str, long: str) -> bool:
    words = long.split()
    return (
        len(words) >= 2
        and len(words) <= len(short) + 2
        and not any(word.casefold() in ("the", "is", "are", "we", "that", "this", "was") for word in words)
        and words[0].casefold() not in FUNCTION_WORDS
        and not any(character.isdigit() for character in long)
        and short.casefold() not in (word.casefold() for word in words)
    )


def _long_form(short: str, text: str) -> str:
    """The end of `text` that `short` abbreviates, or nothing."""
    letters = [c for c in short.removesuffix("s" if short[-2:-1].isupper() else "").casefold() if c.isalnum()]
    folded, at = text.casefold(), len(text)
    for place in range(len(letters) - 1, -1, -1):
        at -= 1
        while at >= 0 and (folded[at] != letters[place] or (place == 0 and at > 0 and folded[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return ""
    return clean(text[at:]) if text[at:].count(" ") < 8 else ""
