"""Which papers a pattern fits, by file name, path, title or MD5."""

from __future__ import annotations

import fnmatch
import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from ragscience.core.errors import NothingFound
from ragscience.core.records import title_of

if TYPE_CHECKING:
    from ragscience.core.records import Paper

__all__ = ["did_you_mean", "fits_file", "fold", "match_papers", "no_such_paper", "papers_exactly", "papers_fitting"]

_ALIKE = 75.0
"""The least likeness of a suggested name, 0 to 100."""
_MUCH_LESS = 10.0
"""A name that is so much less alike than the best one is no suggestion."""
_LEAST_CHARS = 3
"""Shorter words are like too many names."""
_SUGGESTED = 3


def match_papers(papers: Sequence[Paper], patterns: Sequence[str]) -> set[int]:
    """The ids of the papers that any pattern fits. Raises NothingFound, with similar names, for one that fits none."""
    found: set[int] = set()
    for pattern in patterns:
        fitting = papers_fitting(papers, pattern)
        if not fitting:
            raise no_such_paper(pattern, papers)
        found.update(paper.paper_id for paper in fitting)
    return found


def papers_fitting(papers: Sequence[Paper], pattern: str) -> list[Paper]:
    """The papers that a pattern fits, in their order; case is ignored where it tells no two papers apart.

    A paper's listed name, MD5 or path means that paper alone; so does a pattern with a slash that is the end of its
    path, cut at a folder. Any other is a shell pattern for the file's name, its path or its title, or a part of name or
    title; with a slash in it, a part of the path. An empty pattern fits none.
    """
    if not pattern.strip():
        return []
    folded = fold(pattern)
    return papers_exactly(papers, pattern) or [paper for paper in papers if _fits(folded, paper)]


def papers_exactly(papers: Sequence[Paper], pattern: str) -> list[Paper]:
    """The papers whose listed name, MD5 or path the pattern is; more than one only where case tells none apart."""
    full, folded = os.path.abspath(pattern), fold(pattern)  # noqa: PTH100  # as find_pdfs does

    def named(wanted: str, *names: str) -> bool:
        return wanted in names or ("/" in wanted and names[0].endswith(f"/{wanted}"))

    return [paper for paper in papers if named(pattern, paper.path, paper.file) or paper.path == full] or [
        paper for paper in papers if named(folded, fold(paper.path), fold(paper.file), paper.md5)
    ]


def fits_file(pattern: str, path: str, md5: str) -> bool:
    """Whether a pattern is the path, MD5 or name of a file that is no paper of the library, or fits or is in its name.

    As `papers_fitting`, without titles.
    """
    name, folded = PurePath(path).name, fold(pattern)
    if pattern in (path, md5) or os.path.abspath(pattern) == path:  # noqa: PTH100  # as find_pdfs does
        return True
    return bool(folded.strip()) and (folded in fold(name) or fnmatch.fnmatchcase(fold(name), folded))


def _fits(pattern: str, paper: Paper) -> bool:
    name, path = fold(PurePath(paper.path).name), fold(paper.path)
    titles = {fold(paper.title), fold(title_of(paper))}
    if any(pattern in text for text in ((path,) if "/" in pattern else (name, *titles))):
        return True
    return any(fnmatch.fnmatchcase(text, pattern) for text in (name, fold(paper.file), path, *titles))


def no_such_paper(pattern: str, papers: Sequence[Paper], called: Iterable[tuple[str, Paper]] = ()) -> NothingFound:
    """The error for a pattern that fits none of `papers`; `called` are more names that may have been meant."""
    names = {text: paper.file for text, paper in called}
    for paper in papers:
        names |= dict.fromkeys((paper.file, PurePath(paper.path).stem, title_of(paper)), paper.file)
    hint = did_you_mean(pattern, names)
    return NothingFound(f"No paper matches {pattern!r}.", f"{hint} `python ingest.py list` shows all papers.".strip())


def did_you_mean(wanted: str, names: dict[str, str]) -> str:
    """`Did you mean a.pdf or b.pdf?`: what those of `names` stand for that have words most like `wanted`, else ""."""
    from rapidfuzz import fuzz

    folded = fold(wanted.strip())
    best: dict[str, float] = {}
    for name, shown in names.items():
        text = fold(name)
        alike = fuzz.partial_ratio(folded, text) if len(text) >= len(folded) else fuzz.ratio(folded, text)
        if alike >= _ALIKE and len(folded) >= _LEAST_CHARS:
            best[shown] = max(alike, best.get(shown, 0.0))
    least = max(best.values(), default=0.0) - _MUCH_LESS
    near = sorted((shown for shown in best if best[shown] > least), key=lambda shown: -best[shown])[:_SUGGESTED]
    return f"Did you mean {', '.join(near[:-1])}{' or ' if near[1:] else ''}{near[-1]}?" if near else ""


def fold(text: str) -> str:
    """For comparing names: ignoring case, and how accents are encoded."""
    return unicodedata.normalize("NFC", text).casefold()
