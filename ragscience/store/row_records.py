"""Turns database rows into records. The functions only read; none begins or ends a transaction."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ragscience.records import EmbedderIdentity, Metadata, Page, Paper, StoredChunk, searched_text
from ragscience.store.sources_table import from_outside

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "State",
    "chunk_ids",
    "chunks",
    "identity",
    "known_files",
    "pages",
    "paper_chunk_ids",
    "papers",
    "papers_of",
    "read_state",
    "set_aside",
    "short_names",
    "texts",
]

_LINE_ENDS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")

_PAPER = (
    "paper_id, path, name, md5, size_bytes, modified_ns, title, added_at, warnings, pages, chunks,"
    " stated_title, authors, year, venue, doi, arxiv_id, confidence,"
    " (SELECT metadata FROM sources WHERE sources.md5 = papers.md5)"
)
_CHUNK = (
    'chunk_id, c.paper_id, p.path, p.name, ordinal, text, start, "end", page_start, page_end, section, kind,'
    " page_breaks, header"
)


@dataclass(frozen=True, slots=True)
class State:
    """What a cache must have been built from to be valid."""

    library_id: str
    """A random id from the library's creation: another library's caches never match."""
    generation: int
    """Grows with each change."""
    vectors_epoch: int
    """Grows when the vectors of existing chunks are replaced."""
    dimension: int
    """0 while no embedder is set."""


def read_state(db: sqlite3.Connection) -> State:
    """As of the current transaction."""
    meta = dict(db.execute("SELECT key, value FROM meta"))
    embedder = json.loads(meta["embedder"]) if "embedder" in meta else {}
    return State(
        meta["library_id"], int(meta["generation"]), int(meta["vectors_epoch"]), int(embedder.get("dimension", 0))
    )


def identity(db: sqlite3.Connection) -> tuple[EmbedderIdentity | None, str | None]:
    """The embedder and the chunker that made the library; None before they are set."""
    meta = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('embedder', 'chunker')"))
    embedder = EmbedderIdentity(**json.loads(meta["embedder"])) if "embedder" in meta else None
    return embedder, meta.get("chunker")


def set_aside(db: sqlite3.Connection) -> dict[str, str]:
    """The MD5 of each suppressed file, with that of the paper that is its newer version."""
    row = db.execute("SELECT value FROM meta WHERE key = 'aside'").fetchone()
    return dict(json.loads(row[0])) if row else {}


def papers(db: sqlite3.Connection, where: str = "", parameters: Sequence[object] = ()) -> list[Paper]:
    """The papers that match an SQL condition (a constant of this package), ordered by their short names."""
    names = _Names(db)
    if not where:
        names.read_all()
    query = f"SELECT {_PAPER} FROM papers {where}"  # noqa: S608  # `where` is written in this package, values are bound
    found = [
        Paper(
            paper_id,
            names.short(path, name),
            os.fsdecode(path),
            md5,
            size_bytes,
            modified_ns,
            page_count,
            chunk_count,
            title,
            added_at,
            tuple(json.loads(warnings)),
            _metadata(stated),
        )
        for (
            paper_id,
            path,
            name,
            md5,
            size_bytes,
            modified_ns,
            title,
            added_at,
            warnings,
            page_count,
            chunk_count,
            *stated,
        ) in db.execute(query, parameters).fetchall()
    ]
    return sorted(found, key=lambda paper: (paper.file, paper.paper_id))


def papers_of(db: sqlite3.Connection, ids: Iterable[int]) -> list[Paper]:
    """The papers of these ids, ordered by their short names; unknown ids are left out."""
    return papers(db, "WHERE paper_id IN (SELECT value FROM json_each(?))", (json.dumps([int(one) for one in ids]),))


def _metadata(row: Sequence[Any]) -> Metadata:
    title, authors, year, venue, doi, arxiv_id, confidence, outside = row
    stated = Metadata(title, tuple(json.loads(authors)), year, venue, doi, arxiv_id, json.loads(confidence))
    return from_outside(stated, outside)


class _Names:
    """Short names of papers, chosen to be unique among papers with the same file name."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._names: dict[str, str] = {}

    def read_all(self) -> None:
        paths = self._db.execute("SELECT path FROM papers").fetchall()
        self._names = short_names(os.fsdecode(path) for (path,) in paths)

    def short(self, path: bytes, name: bytes) -> str:
        full = os.fsdecode(path)
        if full not in self._names:
            alike = self._db.execute("SELECT path FROM papers WHERE name = ?", (name,)).fetchall()
            self._names |= short_names(os.fsdecode(other) for (other,) in alike)
        return self._names[full]


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """For each path its shortest unique suffix, cut at a folder: `a.pdf`, or `2017/a.pdf`; "␤" for a line's end."""
    names: dict[str, str] = {}
    by_end: dict[str, list[str]] = {"": list(paths)}
    depth = 0
    while by_end:
        depth += 1
        crowded: dict[str, list[str]] = defaultdict(list)
        for alike in by_end.values():
            longer: dict[str, list[str]] = defaultdict(list)
            for path in alike:
                longer[_end(path, depth)].append(path)
            for end, group in longer.items():
                if len(group) == 1 or all(_end(path, depth) == path for path in group):
                    names.update((path, end) for path in group)
                else:
                    crowded[end] += group
        by_end = crowded
    return {path: _LINE_ENDS.sub("␤", end) for path, end in names.items()}


def _end(path: str, depth: int) -> str:
    parts = PurePath(path).parts
    return str(PurePath(*parts[-depth:])) if depth < len(parts) else path


def known_files(db: sqlite3.Connection) -> dict[str, tuple[int, int, str, int]]:
    """Full path of each paper's file: (size in bytes, mtime in ns, MD5, paper id)."""
    rows = db.execute("SELECT path, size_bytes, modified_ns, md5, paper_id FROM papers")
    return {os.fsdecode(path): (size, modified, md5, paper_id) for path, size, modified, md5, paper_id in rows}


def chunks(db: sqlite3.Connection, ids: Sequence[int]) -> list[StoredChunk]:
    """The chunks in the order of `ids`; missing ids are left out."""
    wanted = [int(chunk_id) for chunk_id in ids]
    query = (
        f"SELECT {_CHUNK} FROM chunks c JOIN papers p USING (paper_id)"  # noqa: S608  # a constant of ours
        " WHERE chunk_id IN (SELECT value FROM json_each(?))"
    )
    names = _Names(db)
    found: dict[int, StoredChunk] = {}
    for chunk_id, paper_id, path, name, *columns, breaks, header in db.execute(query, (json.dumps(wanted),)).fetchall():
        file, full = names.short(path, name), os.fsdecode(path)
        page_breaks = tuple((offset, page) for offset, page in json.loads(breaks))
        ordinal, text, start, end, page_start, page_end, section, kind = columns
        found[chunk_id] = StoredChunk(
            chunk_id,
            paper_id,
            file,
            full,
            ordinal,
            text,
            start,
            end,
            page_start,
            page_end,
            section,
            kind,
            page_breaks,
            header,
        )
    return [found[chunk_id] for chunk_id in wanted if chunk_id in found]


def paper_chunk_ids(db: sqlite3.Connection, paper_id: int) -> range:
    """Empty for an unknown paper."""
    row = db.execute("SELECT first_chunk, chunks FROM papers WHERE paper_id = ?", (paper_id,)).fetchone()
    return range(row[0], row[0] + row[1]) if row else range(0)


def pages(db: sqlite3.Connection, paper_id: int) -> list[Page]:
    """In order; without their texts and lines."""
    query = 'SELECT number, start, "end", warning FROM pages WHERE paper_id = ? ORDER BY number'
    return [Page(*row) for row in db.execute(query, (paper_id,))]


def chunk_ids(db: sqlite3.Connection, paper_ids: Iterable[int] | None = None) -> NDArray[np.int64]:
    """The ids of all chunks, or of those of some papers, ascending, int64; computed from the papers' ranges."""
    import numpy as np

    rows = db.execute("SELECT paper_id, first_chunk, chunks FROM papers ORDER BY first_chunk").fetchall()
    if paper_ids is not None:
        wanted = set(paper_ids)
        rows = [row for row in rows if row[0] in wanted]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    first, count = table[:, 1], table[:, 2]
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()), dtype=np.int64)


def texts(db: sqlite3.Connection, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
    """(chunk id, search text) of the ids that the library has, ascending."""
    query = (
        "SELECT chunk_id, header, text FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id"
    )
    for chunk_id, header, text in db.execute(query, (json.dumps([int(chunk_id) for chunk_id in ids]),)):
        yield chunk_id, searched_text(header, text)
