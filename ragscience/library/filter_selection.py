"""Turns filters into the ids of the chunks that a search may find."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ragscience.core.errors import NothingFound
from ragscience.core.records import Filters, Paper
from ragscience.library.paper_patterns import did_you_mean, fold, match_papers
from ragscience.library.snapshots import Database, Snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EVERY_KIND", "Selecting", "papers_allowed", "plain_name"]

EVERY_KIND = "all"
"""In `Filters.kinds`: every kind, references included."""

_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
"""Letters that do not decompose into a plain letter and an accent."""

_LAST_YEAR = 9999
_KNOWN = "`python ingest.py show PAPER` shows a paper's authors and year."


_FILTERS_KEPT = 4
"""Filters whose passages stay in memory until the library changes."""


class Selecting:
    """The filters of one library; keeps the latest selections until the library changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._chosen: dict[tuple[int, Filters], NDArray[np.int64] | None] = {}

    def select(self, filters: Filters) -> NDArray[np.int64] | None:
        """The ids of the passages that `filters` allows, ascending, int64; None if it allows all. Do not change them.

        Raises NothingFound for a paper pattern, an author or a span of years that fits no paper.
        """
        with self._database.now() as at:
            if at is None:
                if filters.papers:
                    raise NothingFound(f"No paper matches {filters.papers[0]!r}.", "The library has no papers yet.")
                return None
            key = (at.version, filters)
            kept = dict(self._chosen)
            chosen = kept.pop(key) if key in kept else _select(at, filters)
            self._chosen = dict([*kept.items(), (key, chosen)][-_FILTERS_KEPT:])  # a search asks for some several times
            return chosen

    def section_names(self) -> list[str]:
        """The headings above each passage, outermost first, each once: "3 Model › 3.2 Attention"."""
        with self._database.now() as at:
            if at is None:
                return []
            return list(dict.fromkeys(name for _, outline in at.outlines(at.listing.rows) for name in outline.section))


def _select(at: Snapshot, filters: Filters) -> NDArray[np.int64] | None:
    kinds = {fold(kind) for kind in filters.kinds}
    paper_ids = _paper_ids(at, filters)
    if filters.pages or filters.sections or (kinds and EVERY_KIND not in kinds):
        return _by_passage(at, filters, at.listing.rows.keys() if paper_ids is None else paper_ids, kinds)
    if kinds:
        return None if paper_ids is None else at.listing.chunk_ids_of(paper_ids)
    return at.listing.without_references if paper_ids is None else at.listing.without_references_of(paper_ids)


def _by_passage(at: Snapshot, filters: Filters, paper_ids: Collection[int], kinds: set[str]) -> NDArray[np.int64]:
    """The filters that need a look at each passage: pages, kinds (folded), sections; within the papers."""
    import numpy as np

    first, last = filters.pages or (0, 0)
    parts = [fold(part) for part in filters.sections]
    fits: dict[str, bool] = {}

    def is_in(section: str) -> bool:
        if section not in fits:
            fits[section] = any(part in fold(section) for part in parts)
        return fits[section]

    found = []
    for first_chunk, outline in at.outlines(paper_ids):
        rows = zip(outline.page_start, outline.page_end, outline.kind, outline.section, strict=True)
        found += [
            first_chunk + number
            for number, (start, end, kind, section) in enumerate(rows)
            if (not filters.pages or (start <= last and end >= first))
            and (kind != "reference" if not kinds else EVERY_KIND in kinds or fold(kind) in kinds)
            and (not parts or is_in(section))
        ]
    return np.array(found, np.int64)


def _paper_ids(at: Snapshot, filters: Filters) -> set[int] | None:
    """As `papers_allowed`, of the papers of the snapshot."""
    if not (filters.papers or filters.paper_ids or filters.years or filters.authors):
        return None
    by_ids_alone = not (filters.papers or filters.years or filters.authors)
    return papers_allowed(() if by_ids_alone else at.papers(), filters)


def papers_allowed(papers: Sequence[Paper], filters: Filters) -> set[int] | None:
    """The ids of the papers that names, years and authors leave together; None if none of these filters is set.

    Raises NothingFound for a paper pattern, an author or a span of years that fits no paper.
    """
    groups: list[set[int]] = []
    if filters.papers:
        groups.append(match_papers(papers, filters.papers))
    if filters.paper_ids:
        groups.append(set(filters.paper_ids))
    if filters.years:
        groups.append(_of_years(papers, *filters.years))
    if filters.authors:
        groups.append(_of_authors(papers, filters.authors))
    return set.intersection(*groups) if groups else None


def _of_years(papers: Sequence[Paper], first: int, last: int) -> set[int]:
    found = {paper.paper_id for paper in papers if first <= (paper.metadata.year or first - 1) <= last}
    if not found:
        years = sorted({paper.metadata.year for paper in papers if paper.metadata.year})
        have = f"The papers are from {years[0]} to {years[-1]}." if years else "No paper has a known year."
        span = str(first) if first == last else f"{first} to {last}" if last < _LAST_YEAR else f"{first} or later"
        raise NothingFound(f"No paper is of {span}.", f"{have} {_KNOWN}")
    return found


def _of_authors(papers: Sequence[Paper], parts: Sequence[str]) -> set[int]:
    """The papers with an author whose name contains any of the parts."""
    authors = [(paper.paper_id, [plain_name(name) for name in paper.metadata.authors]) for paper in papers]
    found: set[int] = set()
    for part in parts:
        plain = plain_name(part)
        fitting = {paper_id for paper_id, names in authors if any(plain in name for name in names)}
        if not fitting:
            names = {name: name for paper in papers for name in paper.metadata.authors}
            raise NothingFound(f"No paper has an author {part!r}.", f"{did_you_mean(part, names)} {_KNOWN}".strip())
        found |= fitting
    return found


def plain_name(name: str) -> str:
    """Ignoring case, accents and repeated spaces."""
    apart = unicodedata.normalize("NFKD", name.casefold())
    return " ".join("".join(char for char in apart if not unicodedata.combining(char)).translate(_LETTERS).split())
