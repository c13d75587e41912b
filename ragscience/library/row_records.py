"""Turns database rows into records. The functions only read; none begins or ends a transaction."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import LibraryDamaged
from ragscience.core.records import EmbedderIdentity, Metadata, Page, Paper, StoredChunk, searched_text
from ragscience.library.library_damage import (
    LIST_DAMAGED,
    Database,
    lost_passages,
    note,
    note_passages,
    paper_sums,
    read_meta,
)
from ragscience.library.paper_paths import full_path
from ragscience.library.row_checksums import CHECKED_COLUMNS, is_intact
from ragscience.library.sources_table import from_outside

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "State",
    "chunk_ids",
    "chunks",
    "counts",
    "file_names",
    "identity",
    "known_files",
    "metadata_of",
    "pages",
    "paper_chunk_ids",
    "paper_stamps",
    "papers",
    "papers_of",
    "read_state",
    "set_aside",
    "short_names",
    "texts",
]

_LINE_ENDS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def _columns(table: str, alias: str) -> str:
    """All columns of a table that its checksum is of, and the checksum."""
    return ", ".join(f'{alias}."{name}"' for name in (*CHECKED_COLUMNS[table]["checksum"], "checksum"))


_PAPER = f"{_columns('papers', 'papers')}, {_columns('sources', 's')}"
PaperStamp = tuple[bytes, object, object]
"""The name of a paper's file, which gives its short name with those of other papers; marks of its row and source."""
_PLACE = {name: place for place, name in enumerate(CHECKED_COLUMNS["papers"]["checksum"])}
_OF_PAPER = len(CHECKED_COLUMNS["papers"]["checksum"]) + 1
_PAGE = _columns("pages", "pages")
_CHUNK = _columns("chunks", "chunks")


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
    """As of the current transaction. Raises LibraryDamaged."""
    meta = read_meta(db)
    embedder = json.loads(meta["embedder"]) if "embedder" in meta else {}
    return State(
        meta["library_id"], int(meta["generation"]), int(meta["vectors_epoch"]), int(embedder.get("dimension", 0))
    )


def identity(db: sqlite3.Connection) -> tuple[EmbedderIdentity | None, str | None]:
    """The embedder and the chunker that made the library; None before they are set."""
    meta = read_meta(db)
    embedder = EmbedderIdentity(**json.loads(meta["embedder"])) if "embedder" in meta else None
    return embedder, meta.get("chunker")


def set_aside(db: sqlite3.Connection) -> dict[str, str]:
    """The MD5 of each suppressed file, with that of the paper that is its newer version."""
    return dict(json.loads(read_meta(db).get("aside", "{}")))


def counts(db: sqlite3.Connection) -> tuple[int, int]:
    """How many papers and passages there are; kept with the connection as `papers` is: every search asks."""
    query = "SELECT COUNT(*), COALESCE(SUM(chunks), 0) FROM papers"
    if not isinstance(db, Database) or db.is_changing:
        return tuple(db.execute(query).fetchone())
    (version,) = db.execute("PRAGMA data_version").fetchone()
    if db.counted is None or db.counted[0] != version:
        db.counted = version, tuple(db.execute(query).fetchone())
    return db.counted[1]


def papers(db: sqlite3.Connection, where: str = "", parameters: Sequence[object] = ()) -> list[Paper]:
    """The papers that match an SQL condition (a constant of this package), ordered by their short names.

    A paper whose row is damaged is noted and left out. All papers are kept with the connection until the database
    changes. Raises LibraryDamaged where all are asked for and rows are lost.
    """
    if where or not isinstance(db, Database) or db.is_changing:
        return _papers(db, where, parameters)
    (version,) = db.execute("PRAGMA data_version").fetchone()
    if db.listed is None or db.listed[0] != version:
        db.listed = version, _papers(db, "", ())
    return [*db.listed[1]]


def _papers(db: sqlite3.Connection, where: str, parameters: Sequence[object]) -> list[Paper]:
    names = _Names(db)
    query = f"SELECT {_PAPER} FROM papers LEFT JOIN sources AS s USING (md5) {where}"  # noqa: S608  # constants of ours
    present = db.execute(query, parameters).fetchall()
    if not where:
        _require_all(db, present)
    rows = [row for row in present if _is_intact_paper(db, row)]
    if not where:
        names.know(row[1] for row in rows)
    found = [
        Paper(
            paper_id,
            names.short(path, name),
            full_path(db, path),
            md5,
            size_bytes,
            modified_ns,
            page_count,
            chunk_count,
            title,
            added_at,
            tuple(json.loads(warnings)),
            metadata_of(stated, _of_source(db, paper_id, source)),
        )
        for (
            (
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
                _,
                chunk_count,
                *stated,
                _,
                _,
                _,
            ),
            source,
        ) in ((row[:_OF_PAPER], row[_OF_PAPER:]) for row in rows)
    ]
    return sorted(found, key=lambda paper: (paper.file, paper.paper_id))


def paper_stamps(db: sqlite3.Connection) -> dict[int, PaperStamp]:
    """What changes when what is listed of a paper does, by its id; damaged papers have one, too."""
    query = "SELECT paper_id, papers.name, papers.checksum, s.checksum FROM papers LEFT JOIN sources AS s USING (md5)"
    return {paper_id: (name, row, source) for paper_id, name, row, source in db.execute(query)}


def papers_of(db: sqlite3.Connection, ids: Iterable[int]) -> list[Paper]:
    """The papers of these ids, ordered by their short names; unknown ids are left out."""
    return papers(db, "WHERE paper_id IN (SELECT value FROM json_each(?))", (json.dumps([int(one) for one in ids]),))


def _require_all(db: sqlite3.Connection, present: Sequence[tuple[Any, ...]]) -> None:
    """Raise LibraryDamaged unless these are as many as the library has papers."""
    if len(present) != paper_sums(read_meta(db))[0]:
        raise LibraryDamaged(*LIST_DAMAGED)


def _is_intact_paper(db: sqlite3.Connection, row: tuple[Any, ...]) -> bool:
    if is_intact(row[:_OF_PAPER]):
        return True
    note(db, "paper", None, [int(row[0])])
    return False


def _of_source(db: sqlite3.Connection, paper_id: int, row: tuple[Any, ...]) -> str | None:
    """The metadata of a row of `sources`; None without one, or where it is damaged."""
    if row[0] is None and row[-1] is None:
        return None
    if is_intact(row):
        return str(row[3])
    note(db, "source", paper_id, [0])
    return None


def metadata_of(row: Sequence[Any], outside: str | None) -> Metadata:
    """The metadata of the columns from `stated_title` to `publication`, and what its source alone has (JSON)."""
    title, authors, year, venue, doi, arxiv_id, confidence, publication = row
    names = tuple(json.loads(authors))
    sure = dict(_common(confidence))
    stated = Metadata(title, names, year, venue, doi, arxiv_id, sure, **_common(publication))
    return from_outside(stated, outside)


@lru_cache(maxsize=1024)
def _common(text: str) -> Mapping[str, Any]:
    """A JSON object that many papers have, read once: most are empty."""
    found: Mapping[str, Any] = json.loads(text)
    return found


class _Names:
    """Short names of papers, chosen to be unique among papers with the same file name."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._names: dict[str, str] = {}

    def know(self, paths: Iterable[bytes]) -> None:
        """Take these for the paths of all papers."""
        self._names = short_names(full_path(self._db, path) for path in paths)

    def short(self, path: bytes, name: bytes) -> str:
        full = full_path(self._db, path)
        if full not in self._names:
            query = f"SELECT {_columns('papers', 'papers')} FROM papers WHERE name = ?"  # noqa: S608  # ours
            alike = {row[1] for row in self._db.execute(query, (name,)).fetchall() if is_intact(row)}
            self._names |= short_names(full_path(self._db, other) for other in {path, *alike})
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
    return "/".join(path.rsplit("/", depth)[-depth:])


def known_files(db: sqlite3.Connection) -> dict[str, tuple[int, int, str, int]]:
    """Full path of each paper's file: (size in bytes, mtime in ns, MD5, paper id); damaged ones are left out."""
    present = db.execute(f"SELECT {_columns('papers', 'papers')} FROM papers").fetchall()  # noqa: S608  # ours
    _require_all(db, present)
    rows = [row for row in present if _is_intact_paper(db, row)]
    return {full_path(db, path): (size, modified, md5, paper_id) for paper_id, path, _, md5, size, modified, *_ in rows}


def chunks(db: sqlite3.Connection, ids: Sequence[int]) -> list[StoredChunk]:
    """The chunks in the order of `ids`; missing ids are left out, and damaged ones, which are noted."""
    wanted = [int(chunk_id) for chunk_id in ids]
    query = f"SELECT {_CHUNK} FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?))"  # noqa: S608  # ours
    rows = db.execute(query, (json.dumps(wanted),)).fetchall()
    intact = {row[0]: row[:-1] for row in rows if is_intact(row)}
    if len(intact) < len(set(wanted)):
        note_passages(db, "passage", lost_passages(db, sorted(set(wanted) - intact.keys())))
    papers = _files(db, {row[1] for row in intact.values()})
    found: dict[int, StoredChunk] = {}
    for chunk_id, (_, paper_id, ordinal, text, start, end, *columns, breaks, header) in intact.items():
        if paper_id in papers:
            file, path, md5 = papers[paper_id]
            page_start, page_end, section, kind = columns
            page_breaks = tuple((offset, page) for offset, page in json.loads(breaks))
            found[chunk_id] = StoredChunk(
                chunk_id,
                paper_id,
                file,
                path,
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
                md5,
            )
    return [found[chunk_id] for chunk_id in wanted if chunk_id in found]


def _files(db: sqlite3.Connection, paper_ids: Iterable[int]) -> dict[int, tuple[str, str, str]]:
    """(short name, full path, MD5) of each of these papers whose row is intact; the others are noted."""
    names = _Names(db)
    query = f"SELECT {_columns('papers', 'papers')} FROM papers WHERE paper_id IN (SELECT value FROM json_each(?))"  # noqa: S608  # ours
    rows = db.execute(query, (json.dumps(sorted(paper_ids)),)).fetchall()
    intact = [row for row in rows if _is_intact_paper(db, row)]
    return {row[0]: (names.short(row[1], row[2]), full_path(db, row[1]), row[3]) for row in intact}


def file_names(db: sqlite3.Connection, paper_ids: Iterable[int]) -> dict[int, str]:
    """The short names of those of the papers whose rows are intact."""
    return {paper_id: file for paper_id, (file, *_) in _files(db, paper_ids).items()}


def paper_chunk_ids(db: sqlite3.Connection, paper_id: int) -> range:
    """Empty for an unknown paper, and for one whose row is damaged, which is noted."""
    query = f"SELECT {_columns('papers', 'papers')} FROM papers WHERE paper_id = ?"  # noqa: S608  # ours
    row = db.execute(query, (paper_id,)).fetchone()
    if row is None or not _is_intact_paper(db, row):
        return range(0)
    first, count = (int(row[_PLACE[name]]) for name in ("first_chunk", "chunks"))
    return range(first, first + count)


def pages(db: sqlite3.Connection, paper_id: int) -> list[Page]:
    """In order, without their texts and lines; damaged and lost ones are noted and left out."""
    query = f"SELECT {_PAGE} FROM pages WHERE paper_id = ? ORDER BY number"  # noqa: S608  # a constant of ours
    rows = db.execute(query, (paper_id,)).fetchall()
    intact = [row for row in rows if is_intact(row)]
    wanted = {number for paper in papers_of(db, [paper_id]) for number in range(1, paper.pages + 1)}
    if lost := wanted - {row[1] for row in intact}:
        note(db, "page", paper_id, lost)
    return [Page(number, start, end, warning) for _, number, start, end, warning, *_ in intact]


def chunk_ids(db: sqlite3.Connection, paper_ids: Iterable[int] | None = None) -> NDArray[np.int64]:
    """The ids of all chunks, or of those of some papers, ascending, int64; computed from the papers' ranges.

    Raises LibraryDamaged unless the ranges add up to what `meta` says.
    """
    import numpy as np

    query = "SELECT paper_id, first_chunk, chunks, references_mark, filters_mark FROM papers ORDER BY first_chunk"
    try:
        table = np.array(db.execute(query).fetchall(), dtype=np.int64).reshape(-1, 5)
    except (TypeError, ValueError, OverflowError) as error:  # of a damaged page, NULL or text is read
        raise LibraryDamaged(*LIST_DAMAGED) from error
    if [len(table), *table[:, 1:].sum(axis=0).tolist()] != paper_sums(read_meta(db)):
        raise LibraryDamaged(*LIST_DAMAGED)
    if paper_ids is not None:
        table = table[np.isin(table[:, 0], list(paper_ids))]
    first, count = table[:, 1], table[:, 2]
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()), dtype=np.int64)


def texts(db: sqlite3.Connection, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
    """(chunk id, search text) of the ids that the library has, ascending; damaged ones are noted and left out."""
    query = f"SELECT {_CHUNK} FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id"  # noqa: S608
    wanted = {int(chunk_id) for chunk_id in ids}
    for row in db.execute(query, (json.dumps(sorted(wanted)),)):
        if is_intact(row):
            wanted.discard(row[0])
            yield row[0], searched_text(row[11], row[3])
    if wanted:
        note_passages(db, "passage", lost_passages(db, sorted(wanted)))
