"""Which papers a text names: by their titles and file names."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ragscience.records import title_of

if TYPE_CHECKING:
    from ragscience.records import Paper
    from ragscience.store import Library

__all__ = ["NamedPaper", "PaperNames"]

_WORD = re.compile(r"[^\W_]++")
_FEWEST_LETTERS = 3


@dataclass(frozen=True, slots=True)
class NamedPaper:
    """A paper that a text names."""

    paper_id: int
    file: str
    name: str
    """As the text has it: `text[start:end]`."""
    start: int
    end: int
    strength: float
    """How surely the name means this paper, 0 to 1."""


class PaperNames:
    """The names of a library's papers."""

    def __init__(self, papers: list[Paper]) -> None:
        self._by_words: dict[tuple[str, ...], dict[int, tuple[Paper, float]]] = defaultdict(dict)
        """For each name the papers, and how surely it means them."""
        for paper in papers:
            title = title_of(paper)
            before, colon, _ = title.partition(":")
            for name, strength in ((title, 1.0), (before if colon else "", 0.9), (Path(paper.file).stem, 0.8)):
                words = tuple(_words(name))
                while strength == 0.8 and words and words[-1].removeprefix("v").isdigit():
                    words = words[:-1]  # of a file's name, its year or arXiv number
                if sum(map(len, words)) >= _FEWEST_LETTERS:
                    self._by_words[words].setdefault(paper.paper_id, (paper, strength))
        self._longest = max(map(len, self._by_words), default=0)

    @classmethod
    def of(cls, library: Library) -> Self:
        """The names of the papers that are in the library now."""
        return cls(library.papers())

    def in_text(self, text: str) -> tuple[NamedPaper, ...]:
        """The papers that the text names, in its order, the longest name at each place."""
        matches = list(_WORD.finditer(text))
        words = [match.group().casefold() for match in matches]
        found: list[NamedPaper] = []
        at = 0
        while at < len(words):
            for length in range(min(self._longest, len(words) - at), 0, -1):
                named = self._by_words.get(tuple(words[at : at + length]))
                if named:
                    start, end = matches[at].start(), matches[at + length - 1].end()
                    found += [
                        NamedPaper(paper.paper_id, paper.file, text[start:end], start, end, strength)
                        for paper, strength in named.values()
                    ]
                    at += length
                    break
            else:
                at += 1
        return tuple(found)


def _words(name: str) -> list[str]:
    return [match.group().casefold() for match in _WORD.finditer(name)]
