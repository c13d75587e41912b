"""Turns filters into the ids of the chunks that a search may find."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragscience.core.errors import LibraryDamaged, NothingFound
from ragscience.core.records import Filters, Paper
from ragscience.library import row_records as rows
from ragscience.library.library_damage import REBUILD_INDEXES, paper_sums, read_meta
from ragscience.library.paper_patterns import did_you_mean, fold, match_papers
from ragscience.library.row_checksums import FILTER_MARK, REFERENCE_MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EVERY_KIND", "Selecting", "papers_allowed", "plain_name", "section_names", "verify_database_indexes"]

EVERY_KIND = "all"
"""In `Filters.kinds`: every kind, references included."""

_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
"""Letters that do not decompose into a plain letter and an accent."""

_LAST_YEAR = 9999
_KNOWN = "`python ingest.py show PAPER` shows a paper's authors and year."


_FILTERS_KEPT = 4
"""Filters whose passages stay in memory until the library changes."""


class Selecting:
    """The filters of one library; caches the latest selections until the library changes."""

    def __init__(self) -> None:
        self._usual: tuple[rows.State, NDArray[np.int64] | None] | None = None
        self._verified: rows.State | None = None
        self._chosen: dict[tuple[rows.State, Filters], NDArray[np.int64] | None] = {}

    def select(self, db: sqlite3.Connection, state: rows.State, filters: Filters) -> NDArray[np.int64] | None:
        """The chunk ids that `filters` allows, ascending, int64; None if it allows all.

        `state` is that of the current transaction; the array is read-only. Raises NothingFound for a paper
        pattern, an author or a span of years that fits no paper, LibraryDamaged where an index of the database is not
        what the papers say.
        """
        key = (state, filters)
        kept = dict(self._chosen)
        chosen = kept.pop(key) if key in kept else self._select(db, state, filters)
        self._chosen = dict([*kept.items(), (key, chosen)][-_FILTERS_KEPT:])  # each search asks for some several times
        return chosen

    def _select(self, db: sqlite3.Connection, state: rows.State, filters: Filters) -> NDArray[np.int64] | None:
        kinds = {fold(kind) for kind in filters.kinds}
        paper_ids = _paper_ids(db, filters)
        if filters.pages or filters.sections or (kinds and EVERY_KIND not in kinds):
            if self._verified != state:
                _verify(db, *_BY_FILTER)
                self._verified = state
            return _by_passage(db, filters, paper_ids, kinds)
        if kinds:
            return None if paper_ids is None else rows.chunk_ids(db, paper_ids)
        if paper_ids is not None:
            return _without_references(db, rows.chunk_ids(db, paper_ids))
        last = self._usual
        if last is None or last[0] != state:
            ids = rows.chunk_ids(db)
            usual = _without_references(db, ids)
            last = self._usual = state, None if usual.size == ids.size else usual
        return last[1]


def _without_references(db: sqlite3.Connection, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of `ids` (ascending) that are not reference lists: these are few, and an index of the table has them."""
    import numpy as np

    from ragscience.library.top_scores import marked

    _verify(db, *_OF_REFERENCES)
    found = db.execute("SELECT chunk_id FROM chunks WHERE kind = 'reference' ORDER BY chunk_id")
    references = np.fromiter((chunk_id for (chunk_id,) in found), np.int64)
    return ids[~marked(ids, references)] if references.size else ids


def verify_database_indexes(db: sqlite3.Connection) -> None:
    """Raise LibraryDamaged unless the indexes that filters use hold what the papers say of their passages."""
    _verify(db, *_BY_FILTER)
    _verify(db, *_OF_REFERENCES)


_BY_FILTER = (FILTER_MARK, "chunks_by_filter", 4)
_OF_REFERENCES = (REFERENCE_MARK, "chunks_of_references", 3, "WHERE kind = 'reference'")


def _verify(db: sqlite3.Connection, mark: str, index: str, place: int, where: str = "") -> None:
    """Raise LibraryDamaged unless an index of the database holds what the papers say of their passages."""
    query = f"SELECT COALESCE({mark}, 0) FROM chunks INDEXED BY {index} {where}"  # noqa: S608  # constants of ours
    if db.execute(query).fetchone()[0] != paper_sums(read_meta(db))[place]:
        raise LibraryDamaged(f"An index of the library's database is damaged ({index}).", REBUILD_INDEXES)


def _by_passage(
    db: sqlite3.Connection, filters: Filters, paper_ids: set[int] | None, kinds: set[str]
) -> NDArray[np.int64]:
    """The filters that need a look at each passage: pages, kinds (folded), sections; within papers if any are given."""
    import numpy as np

    conditions: list[str] = []
    values: list[object] = []
    if paper_ids is not None:
        conditions.append("paper_id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(sorted(paper_ids)))
    if filters.pages:
        first, last = filters.pages
        conditions.append("page_start <= ? AND page_end >= ?")
        values += [last, first]
    if not kinds:
        conditions.append("kind <> 'reference'")
    elif EVERY_KIND not in kinds:
        conditions.append("kind IN (SELECT value FROM json_each(?))")
        values.append(json.dumps([kind for kind in _distinct(db, "kind") if fold(kind) in kinds]))
    if filters.sections:
        conditions.append("section IN (SELECT value FROM json_each(?))")
        parts = [fold(part) for part in filters.sections]
        names = section_names(db)
        values.append(json.dumps([name for name in names if any(part in fold(name) for part in parts)]))
    query = f"SELECT chunk_id FROM chunks WHERE {' AND '.join(conditions)}"  # noqa: S608  # values are bound
    found = np.fromiter((chunk_id for (chunk_id,) in db.execute(query, values)), np.int64)
    found.sort()
    return found


def section_names(db: sqlite3.Connection) -> list[str]:
    """The headings above each passage, outermost first, each once: "3 Model › 3.2 Attention"."""
    return _distinct(db, "section")


def _distinct(db: sqlite3.Connection, column: str) -> list[str]:
    return [str(value) for (value,) in db.execute(f"SELECT DISTINCT {column} FROM chunks")]  # noqa: S608  # ours


def _paper_ids(db: sqlite3.Connection, filters: Filters) -> set[int] | None:
    """As `papers_allowed`, of the papers of the current transaction."""
    if not (filters.papers or filters.paper_ids or filters.years or filters.authors):
        return None
    by_ids_alone = not (filters.papers or filters.years or filters.authors)
    return papers_allowed(() if by_ids_alone else rows.papers(db), filters)


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
