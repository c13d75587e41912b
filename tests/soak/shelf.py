"""The made-up papers of the campaign, in several versions each, and what a library has to hold of each."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ragscience.models.minilm import common_words
from tests.pdf_factory import make_pdf

NAMES = ("amber", "basalt", "cobalt", "dune", "ember", "fjord", "glacier", "harbour")
VERSIONS = 3
_ATTACHED_BYTES = 200_000
COMMON = "zephyr"
"""A word of each passage."""
_LETTERS, _WORDS = 8, 256
"""Of the words of the texts, which are one word piece each, and few passages share: BM25 has something to weigh."""


@cache
def _words() -> list[str]:
    fitting = sorted(word for word in common_words() if len(word) == _LETTERS and word.isascii())
    return fitting[:: len(fitting) // _WORDS][:_WORDS]


@dataclass(frozen=True, slots=True)
class Truth:
    """One version of a paper: its file, and what was read from it where nothing failed."""

    name: str
    version: int
    file: Path
    pages: tuple[str, ...]
    """The text of each page."""
    passages: tuple[tuple[int, int, int, int, str], ...]
    """Of each passage its first and last character and page, and its text."""

    @property
    def question(self) -> str:
        """What its first page answers."""
        return question(self.name)


def question(name: str) -> str:
    """What the first page of each version of a paper answers."""
    return f"What is the viscosity of {name}?"


def marker(name: str, version: int, page: int) -> str:
    """A word that stands on one page of one version and nowhere else."""
    return f"q{name}v{version}p{page}"


def draw(folder: Path) -> dict[str, tuple[str, int, Path]]:
    """Draw all versions of all papers; (name, version, file) by the MD5 of the file."""
    dice, drawn = random.Random(17), {}
    for number, name in enumerate(NAMES):
        for version in range(VERSIONS):
            count = 1 + (number + version) % 3
            pages = [_page(dice, name, version, page, number) for page in range(1, count + 1)]
            path = make_pdf(folder / f"{name}-{version}.pdf", pages, title=f"On the {name} of {_words()[number]}")
            _enlarge(path, dice)
            drawn[hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()] = (name, version, path)
    return drawn


def _enlarge(path: Path, dice: random.Random) -> None:
    """Give a PDF an attachment, so that a few fill the smallest cache of papers."""
    import pymupdf

    with pymupdf.open(path) as document:
        document.embfile_add("data", dice.randbytes(_ATTACHED_BYTES))
        document.saveIncr()


def _page(dice: random.Random, name: str, version: int, page: int, number: int) -> str:
    lines = [f"On the {name} of {_words()[number]}", ""] if page == 1 else []
    if page == 1:
        lines.append(f"The viscosity of {name} is {100 * number + 10 * version + 1}.5 pascal seconds.")
    lines.append(f"The {COMMON} is called {marker(name, version, page)} here.")
    lines += [f"{' '.join(dice.choices(_words(), k=8)).capitalize()} {COMMON}." for _ in range(7)]
    return "\n".join(lines)
