"""Which papers of the library a text mentions: by file, title, acronym of the title, or author.

A name that fits several papers mentions none of them, unless the text has the year of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ragscience.core.records import Paper
from ragscience.core.tokenizing import terms

__all__ = ["MentionedPapers", "Word", "is_name", "named_papers", "names_in", "without", "words"]

SHORTEST_NAME = 3
"""Letters of a file's or a title's word that can name a paper."""
SHORTEST_AUTHOR = 4
SHORTEST_WRITTEN = 2
"""Least letters of a name in a question: N and d are not names."""
TITLE_TERMS = 3
"""Content words at the beginning of a title that name it."""

_WORD = re.compile(r"[^\W_](?:[\w’'.+/-]*\w)?")
_CAPITAL_WITHIN = re.compile(r"\w[-’']?[A-Z]|\d")
_STEM_PART = re.compile(r"[A-Za-z][A-Za-z]*\d{0,2}(?!\d)|[A-Za-z]{2,}")
_TITLE_WORD = re.compile(r"[^\W_]+")
_SIZE = re.compile(r"(?:BASE|SMALL|MEDIUM|LARGE|BIG|XL)$")
"""BERTLARGE: the subscript of a name, as a PDF gives it."""
_COMPOUND = re.compile(r"^\w+(?:-\w+)+")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_CALLED_PAPER = re.compile(
    r"\b(?:the|in|from|of)\s+((?:[\w'’-]+\s+){1,6}?)(?:paper|article|study|preprint)\b", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"[’']s$|[’']$")
_ORDINARY = frozenset(
    """
    a an and are at between both by can compare contrast could define describe did do does explain find for from give
    had has have how i if in is it its list name of on or please show so summarise summarize tell than that the their
    then these this to under using was were what when where which while who whom whose why will with would
    """.split()  # noqa: SIM905  # a list of sixty strings reads worse
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text and its place: `text[start:end] == word`."""

    text: str
    start: int
    end: int

    @property
    def bare(self) -> str:
        """Without a possessive ending."""
        return _POSSESSIVE.sub("", self.text)


def words(text: str) -> tuple[Word, ...]:
    """The words of `text` in order; a hyphenated or dotted one ("GPT-2", "v1.1") is one word."""
    return tuple(Word(match[0], match.start(), match.end()) for match in _WORD.finditer(text))


def is_name(word: str) -> bool:
    """Whether a word of a question is a name or an acronym by the way it is written.

    The first word of a sentence has its capital for free; it counts unless it is a word that questions begin with.
    """
    if len(word) < SHORTEST_WRITTEN or word.casefold() in _ORDINARY or word[0].isdigit():
        return False
    return word[0].isupper() or bool(_CAPITAL_WITHIN.search(word))


def names_in(text: str) -> tuple[str, ...]:
    """The words of `text` that are written like names, in order, without possessive endings."""
    return tuple(word.bare for word in words(text) if is_name(word.bare))


def named_papers(text: str, papers: Sequence[Paper]) -> list[Paper]:
    """The papers that `text` mentions, in its order; "the … paper" also by any words of its title, file or authors."""
    by_file = {paper.file: paper for paper in papers}
    found = [by_file[file] for file in MentionedPapers(papers).likely(text)]
    for match in _CALLED_PAPER.finditer(text):
        wanted = set(terms(match.group(1)))
        fitting = [paper for paper in papers if wanted and wanted <= _known_terms(paper)]
        found += fitting if len(fitting) == 1 else []
    return list({paper.paper_id: paper for paper in found}.values())


def _known_terms(paper: Paper) -> set[str]:
    known = paper.metadata
    stem = " ".join(_STEM_PART.findall(PurePath(paper.file).stem))
    return set(terms(" ".join([known.title, paper.title, stem, *known.authors[:1], str(known.year or "")])))


class MentionedPapers:
    """What the papers of a library are called, made once for many texts."""

    def __init__(self, papers: Sequence[Paper]) -> None:
        self._by_name = _by_name(papers)
        self._by_beginning = _by_beginning(papers)
        self._years = {paper.file: str(paper.metadata.year) for paper in papers}

    def likely(self, text: str) -> tuple[str, ...]:
        """The files of the papers that `text` seems to mention, in its order."""
        found: dict[str, int] = {}
        read = words(text)
        years = _YEAR.findall(text)
        for word in read:
            owners = next((self._by_name[key] for key in _keys(word.bare) if key in self._by_name), {})
            capital = is_name(word.bare)
            fitting = {file for file, needs_capital in owners.items() if capital or not needs_capital}
            if len(fitting) > 1:
                fitting = {file for file in fitting if self._years[file] in years}
            if len(fitting) == 1:
                found.setdefault(fitting.pop(), word.start)
        asked = [(stem, word.start) for word in read for stem in _parts(word.text)]
        for index, (_, start) in enumerate(asked):
            for length in range(2, TITLE_TERMS + 1):
                files = self._by_beginning.get(tuple(stem for stem, _ in asked[index : index + length]), ())
                if len(files) == 1:
                    found[files[0]] = min(start, found.get(files[0], start))
        return tuple(sorted(found, key=lambda file: found[file]))


def _by_name(papers: Sequence[Paper]) -> dict[str, dict[str, bool]]:
    """Key of a name to the files that it may mean, and whether it must be written like a name to mean them."""
    names: dict[str, dict[str, bool]] = {}

    def add(name: str, file: str, *, needs_capital: bool) -> None:
        known = names.setdefault(_key(name), {})
        known[file] = needs_capital and known.get(file, True)

    for paper in papers:
        parts = [part for part in _STEM_PART.findall(PurePath(paper.file).stem) if _can_name(part)]
        for part in parts:
            add(part, paper.file, needs_capital=len(parts) > 1)
        add(paper.file, paper.file, needs_capital=False)
        head, colon, _ = paper.title.partition(":")
        short = _TITLE_WORD.findall(head)
        if colon and len(short) == 1 and _can_name(short[0]):
            add(short[0], paper.file, needs_capital=False)
        for compound in _COMPOUND.findall(paper.title)[:1]:
            add(compound, paper.file, needs_capital=False)
        for acronym in _acronyms(paper.title):
            add(acronym, paper.file, needs_capital=True)
        for author in paper.metadata.authors:
            family = author.split()[-1] if author.split() else ""
            if len(family) >= SHORTEST_AUTHOR:
                add(family, paper.file, needs_capital=True)
    return names


def _can_name(word: str) -> bool:
    return len(word) >= SHORTEST_NAME and word.casefold() not in _ORDINARY


def _key(name: str) -> str:
    """Case and hyphens aside: GPT-2, gpt2."""
    return re.sub(r"[\W_]", "", name).casefold()


def _keys(word: str) -> Iterable[str]:
    """What a word may be known by: all of it, the part before its hyphen, and without the size of a model."""
    yield _key(word)
    yield _key(word.partition("-")[0])
    yield _key(_SIZE.sub("", word))


def _acronyms(title: str) -> Iterable[str]:
    """The initials of each run of three words or more of a title."""
    initials = "".join(word[0] for word in _TITLE_WORD.findall(title) if word.casefold() not in _ORDINARY)
    for start in range(len(initials)):
        for end in range(start + 3, min(start + 6, len(initials)) + 1):
            yield initials[start:end]


def _by_beginning(papers: Sequence[Paper]) -> dict[tuple[str, ...], list[str]]:
    """The first `TITLE_TERMS` content words of each title to its files; a title of a single one is a name."""
    begins: dict[tuple[str, ...], list[str]] = {}
    for paper in papers:
        own = tuple(stem for word in words(paper.title) for stem in _parts(word.text))[:TITLE_TERMS]
        if len(own) > 1:
            begins.setdefault(own, []).append(paper.file)
    return begins


def _parts(word: str) -> list[str]:
    return terms(word.replace("-", " "))


def without(text: str, dropped: Callable[[Word], bool]) -> str:
    """`text` without the words that are `dropped`, on one line."""
    kept = text
    for word in reversed(words(text)):
        if dropped(word):
            kept = kept[: word.start] + kept[word.end :]
    return " ".join(kept.split())
