"""Duplicate papers of a library: the same one in other bytes or in an older version. See ragscience/similarity.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from ragscience.core.records import Paper
from ragscience.library.similarity import Duplicate, near_duplicates, same_statements

if TYPE_CHECKING:
    from ragscience.library.store import Store

__all__ = ["Duplicate", "duplicates", "duplicates_of", "keep_newest"]

_FEW = 20
"""Of more papers that are compared with all others, all are read."""


def duplicates(library: Store, on_step: Callable[[str, int, int], None] | None = None) -> list[Duplicate]:
    """Each pair of papers that are the same, named by `Paper.file`.

    `on_step` is told what is done next, its number from 1, and how many steps there are.
    """
    tell = on_step or _unheard
    tell("texts of the papers", 1, 2)
    fingerprints = library.fingerprints()
    tell(f"pairs of papers ({len(fingerprints)})", 2, 2)
    return near_duplicates(fingerprints)


def _unheard(what: str, step: int, steps: int) -> None:
    """Nobody wants to know."""


def duplicates_of(library: Store, files: Collection[str]) -> list[Duplicate]:
    """The pairs that include the papers `files` (`Paper.file`); the others are not compared with each other.

    Of the others only those are read that may be the same as one of few.
    """
    if not files:
        return []
    papers = library.papers()
    own = [paper.paper_id for paper in papers if paper.file in files]
    if len(own) > _FEW:
        return near_duplicates(library.fingerprints(), files)
    mine = library.fingerprints(own)
    alike = {papers[place].paper_id for place in same_statements(mine, [paper.metadata for paper in papers])}
    alike |= {*own, *library.papers_sharing_text(mine)}
    return near_duplicates(library.fingerprints(sorted(alike)), files)


def keep_newest(library: Store) -> list[Paper]:
    """Remove the older ones of duplicate papers from the library, never their files; returns those removed.

    A paper is removed only if a newer duplicate of it stays: of a chain of versions in which only neighbours are
    similar, more than one may stay. The library must be open for writing.
    """
    papers = {paper.file: paper for paper in library.papers()}
    newer: defaultdict[str, set[str]] = defaultdict(set)
    for pair in duplicates(library):
        newer[pair.older].add(pair.newer)
    leaving = [papers[file] for file in _dominated(list(papers), newer)]
    if leaving:
        library.remove_papers([paper.paper_id for paper in leaving])
    return leaving


def _dominated(files: list[str], newer: dict[str, set[str]]) -> list[str]:
    """Those of `files` of which a newer one stays; `newer` gives the newer ones of each file."""
    undecided, leaving = list(files), []
    while undecided:
        left = set(undecided)
        stay = {file for file in undecided if not newer.get(file, set()) & left}
        gone = {file for file in undecided if newer.get(file, set()) & stay}
        if not stay:
            # Version, year and date contradict each other in a circle: one with fewest newer ones counts as newest.
            newest = min(undecided, key=lambda file: len(newer[file] & left))
            stay = {newest}
            gone = {file for file in undecided if newest in newer[file]} | (newer[newest] & left)
        leaving += [file for file in undecided if file in gone]
        undecided = [file for file in undecided if file not in stay | gone]
    return leaving
