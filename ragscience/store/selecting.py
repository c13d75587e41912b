"""Filters become the ids of the chunks that a search may find."""

from __future__ import annotations

import fnmatch
import json
import sqlite3
import unicodedata
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from ragscience.errors import NothingFound
from ragscience.records import Filters, Paper
from ragscience.store import rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["match_papers", "select"]


def select(db: sqlite3.Connection, filters: Filters) -> NDArray[np.int64] | None:
    """The chunk ids that `filters` allows, ascending, int64; None when it allows all.

    Raises NothingFound for a paper pattern that fits no paper.
    """
    import numpy as np

    if filters == Filters():
        return None
    conditions: list[str] = []
    values: list[object] = []
    if filters.papers:
        paper_ids = match_papers(rows.papers(db), filters.papers)
        if not (filters.pages or filters.kinds or filters.sections):
            return rows.chunk_ids(db, paper_ids)
        conditions.append("paper_id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(sorted(paper_ids)))
    if filters.pages:
        first, last = filters.pages
        conditions.append("page_start <= ? AND page_end >= ?")
        values += [last, first]
    if filters.kinds:
        kinds = {_fold(kind) for kind in filters.kinds}
        conditions.append("kind IN (SELECT value FROM json_each(?))")
        values.append(json.dumps([kind for kind in _distinct(db, "kind") if _fold(kind) in kinds]))
    if filters.sections:
        parts = [_fold(part) for part in filters.sections]
        fitting = [name for name in _distinct(db, "section") if any(part in _fold(name) for part in parts)]
        conditions.append("section IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(fitting))
    query = f"SELECT chunk_id FROM chunks WHERE {' AND '.join(conditions)}"  # noqa: S608  # values are bound
    found = np.fromiter((chunk_id for (chunk_id,) in db.execute(query, values)), np.int64)
    found.sort()
    return found


def _distinct(db: sqlite3.Connection, column: str) -> list[str]:
    return [str(value) for (value,) in db.execute(f"SELECT DISTINCT {column} FROM chunks")]  # noqa: S608  # ours


def match_papers(papers: Sequence[Paper], patterns: Sequence[str]) -> set[int]:
    """The ids of the papers that any pattern fits.

    A pattern is a shell pattern for the file's name, its path or its title, or a part of name or title; with a slash
    in it, a part of the path. Raises NothingFound, naming the nearest names, for one that fits no paper.
    """
    spellings = [(paper.paper_id, _spellings(paper)) for paper in papers]
    found: set[int] = set()
    for pattern in patterns:
        folded = _fold(pattern)
        fitting = {paper_id for paper_id, names in spellings if _fits(folded, *names)}
        if not fitting:
            raise NothingFound(f"No paper of the library matches {pattern!r}.", _nearest(folded, papers))
        found |= fitting
    return found


def _spellings(paper: Paper) -> tuple[str, str, str, str]:
    name = PurePath(paper.path).name
    return _fold(name), _fold(paper.file), _fold(paper.path), _fold(paper.title)


def _fits(pattern: str, name: str, file: str, path: str, title: str) -> bool:
    parts = (path,) if "/" in pattern else (name, title)
    if any(pattern in text for text in parts):
        return True
    return any(fnmatch.fnmatchcase(text, pattern) for text in (name, file, path, title))


def _nearest(pattern: str, papers: Sequence[Paper]) -> str:
    import difflib

    by_name: dict[str, str] = {}
    for paper in papers:
        for text in (paper.file, PurePath(paper.path).stem, paper.title):
            by_name.setdefault(_fold(text), paper.file)
    near = list(dict.fromkeys(by_name[text] for text in difflib.get_close_matches(pattern, by_name, n=5, cutoff=0.4)))
    hint = f"The nearest names are {', '.join(near[:3])}. " if near else ""
    return f"{hint}`python ingest.py list` shows what it has."


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
