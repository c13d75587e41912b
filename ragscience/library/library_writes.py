"""Changes to the database, each inside a transaction of the library."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import LibraryDamaged, RagScienceError
from ragscience.core.records import Chunk, Document, EmbedderIdentity, Page
from ragscience.core.serialization import storable
from ragscience.library import row_records as rows
from ragscience.library.content_checks import mark_unkept
from ragscience.library.element_rows import pack_elements, pack_sketch
from ragscience.library.library_damage import LIST_DAMAGED, are_whole_numbers
from ragscience.library.page_geometry import pack_lines
from ragscience.library.paper_paths import full_path, stored_path
from ragscience.library.row_checksums import add_to_sums, mark_papers, seal
from ragscience.library.similarity import Fingerprint, fingerprint_of
from ragscience.library.vectors import text_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "NewPaper",
    "bump",
    "chunk_rows",
    "hashes_of",
    "inherit_aside",
    "insert_paper",
    "page_rows",
    "paper_columns",
    "remove_papers",
    "rename_papers",
    "set_aside",
    "set_identity",
]

_PUBLICATION = ("kind", "volume", "number", "pages")


@dataclass(frozen=True, slots=True)
class NewPaper:
    """A paper to add."""

    path: str
    md5: str
    size_bytes: int
    modified_ns: int
    document: Document
    chunks: Sequence[Chunk]
    vectors: NDArray[np.float32]
    """Unit rows, shape (len(chunks), dimension), float32."""
    hashes: Sequence[bytes] = ()
    """`text_hash` of the text of each vector; empty: of each chunk's search text."""
    tokens: Mapping[bytes, NDArray[np.uint8]] | None = None
    """Token vectors to store, by the hash of their text."""
    replaces: Sequence[int] = ()
    """Ids of the papers that it replaces."""
    added_at: str = ""
    """When it came into a library, ISO 8601, UTC; empty: now."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint for duplicate detection."""
        return fingerprint_of(self.path, self.document.text, self.document.metadata, self.modified_ns)


def bump(db: sqlite3.Connection, key: str = "generation") -> None:
    """Increment the generation, so that caches know that they are behind."""
    db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = ?", (key,))


def set_identity(db: sqlite3.Connection, embedder: EmbedderIdentity, chunker: str | None) -> None:
    """Record the embedder of the vectors and, if given, the chunker of the chunks."""
    rows = [("embedder", json.dumps(asdict(embedder)))] + ([("chunker", chunker)] if chunker is not None else [])
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def set_aside(db: sqlite3.Connection, newer: Mapping[str, str]) -> None:
    """Record the MD5s of suppressed files, each with that of its newer version, in addition to those recorded."""
    noted = json.dumps({**rows.set_aside(db), **newer})
    db.execute("INSERT OR REPLACE INTO meta VALUES ('aside', ?)", (noted,))


def inherit_aside(db: sqlite3.Connection, older: Collection[str], md5: str) -> None:
    """Reassign the files suppressed in favour of the papers `older`, by MD5, to what replaced them."""
    if older:
        set_aside(db, {file: md5 for file, newer in rows.set_aside(db).items() if newer in older and file != md5})


def insert_paper(db: sqlite3.Connection, new: NewPaper, fingerprint: Fingerprint) -> int:
    """Add the paper with its pages, chunks and vectors; its id. Raises RagScienceError for a taken path or MD5."""
    path = stored_path(db, new.path)
    taken = db.execute("SELECT path FROM papers WHERE md5 = ? OR path = ?", (new.md5, path)).fetchone()
    if taken:
        raise RagScienceError(
            f"The library has {full_path(db, taken[0])} already: the same file, or the same bytes.",
            "`python ingest.py sync` updates the library.",
        )
    (first,) = db.execute("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'next_chunk'").fetchone()
    count = len(new.chunks)
    paper_id = _insert_row(db, new, fingerprint, first)
    db.executemany(
        'INSERT INTO pages (paper_id, number, start, "end", warning, text, lines, furniture)'
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        page_rows(new.document, paper_id),
    )
    db.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", chunk_rows(new, paper_id, first)
    )
    hashes = hashes_of(new)
    blobs = new.vectors.astype("<f4", copy=False)
    db.executemany(
        "INSERT INTO vectors VALUES (?, ?, ?, 0)",
        ((first + row, hashes[row], blobs[row].tobytes()) for row in range(count)),
    )
    db.execute("UPDATE meta SET value = ? WHERE key = 'next_chunk'", (str(first + count),))
    _seal_paper(db, paper_id, (first, first + count - 1))
    return paper_id


def chunk_rows(new: NewPaper, paper_id: int, first: int) -> Iterator[tuple[Any, ...]]:
    """The columns of each chunk but its checksum, in the order of the table; the chunks get the ids from `first` on."""
    for row, chunk in enumerate(new.chunks):
        yield (
            first + row,
            paper_id,
            chunk.ordinal,
            storable(chunk.text),
            chunk.start,
            chunk.end,
            chunk.page_start,
            chunk.page_end,
            storable(chunk.section),
            chunk.kind,
            json.dumps(page_breaks(chunk, new.document.pages), separators=(",", ":")),
            storable(chunk.header),
        )


def hashes_of(new: NewPaper) -> Sequence[bytes]:
    """`text_hash` of the text of each vector."""
    return new.hashes or [text_hash(chunk.searched) for chunk in new.chunks]


def _seal_paper(db: sqlite3.Connection, paper_id: int, span: tuple[int, int]) -> None:
    """Write the checksums of all rows of a new paper."""
    mark_papers(db, "paper_id = ?", (paper_id,))
    add_to_sums(db, paper_id, 1)
    mark_unkept(db, "chunk_id BETWEEN ? AND ?", span)
    for table in ("papers", "pages"):
        seal(db, table, "paper_id = ?", (paper_id,))
    for table in ("chunks", "vectors"):
        seal(db, table, "chunk_id BETWEEN ? AND ?", span)


def paper_columns(new: NewPaper, fingerprint: Fingerprint, path: bytes, first_chunk: int) -> dict[str, Any]:
    """The columns of a paper but its id and its checksums; `path` as it is kept."""
    document, metadata = new.document, new.document.metadata
    return {
        "path": path,
        "name": os.path.basename(path),  # noqa: PTH119  # bytes, which pathlib does not take
        "md5": new.md5,
        "size_bytes": new.size_bytes,
        "modified_ns": new.modified_ns,
        "title": storable(document.title),
        "added_at": new.added_at or datetime.now(UTC).isoformat(timespec="seconds"),
        "warnings": json.dumps([storable(warning) for warning in document.warnings]),
        "pages": len(document.pages),
        "first_chunk": first_chunk,
        "chunks": len(new.chunks),
        "stated_title": storable(metadata.title),
        "authors": json.dumps([storable(author) for author in metadata.authors], ensure_ascii=False),
        "year": metadata.year,
        "venue": storable(metadata.venue),
        "doi": storable(metadata.doi),
        "arxiv_id": storable(metadata.arxiv_id),
        "confidence": json.dumps(dict(metadata.confidence)),
        "publication": json.dumps({name: storable(text) for name in _PUBLICATION if (text := getattr(metadata, name))}),
        "sketch": pack_sketch(fingerprint.shingles, fingerprint.sketch),
        "elements": pack_elements([replace(one, section=storable(one.section)) for one in document.elements]),
    }


def _insert_row(db: sqlite3.Connection, new: NewPaper, fingerprint: Fingerprint, first_chunk: int) -> int:
    """The paper's own row; its id."""
    columns = paper_columns(new, fingerprint, stored_path(db, new.path), first_chunk)
    places = ", ".join(f":{name}" for name in columns)
    query = f"INSERT INTO papers ({', '.join(columns)}) VALUES ({places})"  # noqa: S608  # names of ours, bound values
    return int(db.execute(query, columns).lastrowid or 0)


def page_rows(document: Document, paper_id: int) -> Iterator[tuple[Any, ...]]:
    """The columns of each page but its checksum, in the order of the table."""
    for page in document.pages:
        yield (
            paper_id,
            page.number,
            page.start,
            page.end,
            storable(page.warning),
            storable(document.text[page.start : page.end]),
            pack_lines(page.lines, page.start),
            storable(page.furniture),
        )


def page_breaks(chunk: Chunk, pages: Sequence[Page]) -> list[tuple[int, int]]:
    """(offset in the chunk's text, page number) of each page with characters in the chunk; the first offset is 0."""
    later = [
        (page.start - chunk.start, page.number)
        for page in pages
        if chunk.page_start < page.number <= chunk.page_end and chunk.start < page.start < min(page.end, chunk.end)
    ]
    return [(0, chunk.page_start), *later]


def remove_papers(db: sqlite3.Connection, paper_ids: Sequence[int]) -> int:
    """Remove papers with all their rows; returns how many there were."""
    removed = 0
    for paper_id in paper_ids:
        query = "SELECT first_chunk, chunks, references_mark, filters_mark FROM papers WHERE paper_id = ?"
        row = db.execute(query, (int(paper_id),)).fetchone()
        if row is None:
            continue
        if not are_whole_numbers(row):
            raise LibraryDamaged(*LIST_DAMAGED)
        add_to_sums(db, int(paper_id), -1)
        span = (row[0], row[0] + row[1] - 1)
        db.execute("DELETE FROM vectors WHERE chunk_id BETWEEN ? AND ?", span)
        if db.execute("DELETE FROM graph_passages WHERE chunk_id BETWEEN ? AND ?", span).rowcount:
            bump(db, "graph_generation")
        db.execute("DELETE FROM chunks WHERE chunk_id BETWEEN ? AND ?", span)
        db.execute("DELETE FROM pages WHERE paper_id = ?", (int(paper_id),))
        db.execute("DELETE FROM papers WHERE paper_id = ?", (int(paper_id),))
        removed += 1
    return removed


def rename_papers(db: sqlite3.Connection, moves: Sequence[tuple[int, str, int]]) -> None:
    """Give each (paper id, new path, mtime in ns) its path, all at once so that two files may have changed places.

    A paper that is not moved but whose path another one takes is removed: its bytes are no longer there.
    """
    moved = [int(paper_id) for paper_id, _, _ in moves]
    targets = {stored_path(db, path) for _, path, _ in moves}
    displaced = [
        paper_id
        for paper_id, path in db.execute("SELECT paper_id, path FROM papers").fetchall()
        if path in targets and paper_id not in moved
    ]
    remove_papers(db, displaced)
    for paper_id in moved:
        db.execute("UPDATE papers SET path = ? WHERE paper_id = ?", (b"\0moving %d" % paper_id, paper_id))
    for paper_id, path, modified_ns in moves:
        kept = stored_path(db, path)
        name = os.path.basename(kept)  # noqa: PTH119  # bytes, which pathlib does not take
        cursor = db.execute(
            "UPDATE papers SET path = ?, name = ?, modified_ns = ? WHERE paper_id = ?",
            (kept, name, modified_ns, int(paper_id)),
        )
        seal(db, "papers", "paper_id = ?", (int(paper_id),))
        if cursor.rowcount == 0:
            raise RagScienceError(f"The library has no paper with the id {paper_id}.", "Run `python ingest.py sync`.")
