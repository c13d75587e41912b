"""Changes of a library's papers, each inside a transaction."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Chunk, Document
from ragscience.core.serialization import storable
from ragscience.library.keywords import add_terms, remove_terms
from ragscience.library.paper_contents import PaperContents, page_breaks
from ragscience.library.paper_rows import Outline, PaperRow, new_paper_json, path_from, path_within, with_paper
from ragscience.library.sealed_rows import read_state, sealed, write_state
from ragscience.library.similarity import Fingerprint, fingerprint_of
from ragscience.library.snapshots import Snapshot
from ragscience.library.token_vectors import mark_not_kept
from ragscience.library.vectors import insert_vectors, text_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "NewPaper",
    "already_there",
    "insert_paper",
    "parts_of",
    "passage_rows",
    "remove_papers",
    "rename_papers",
    "row_of",
]


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


def insert_paper(db: sqlite3.Connection, new: NewPaper, root: str) -> PaperRow:
    """Add the paper with its passages, vectors and terms. Raises RagScienceError for a taken path or MD5."""
    path = path_within(root, new.path)
    taken = db.execute("SELECT path FROM papers WHERE md5 = ? OR path = ?", (new.md5, path)).fetchone()
    if taken:
        raise already_there(path_from(root, taken[0]))
    state = read_state(db)
    first, count = state.next_chunk, len(new.chunks)
    cursor = db.execute(
        "INSERT INTO papers (path, md5, first_chunk, chunks, reference_lists, row) VALUES (?, ?, ?, ?, '', x'')",
        (path, new.md5, first, count),
    )
    paper = row_of(new, int(cursor.lastrowid or 0), first, root)
    written = _write_row(db, paper)
    parts = parts_of(new)
    db.executemany(
        "INSERT INTO parts VALUES (?, ?, ?)",
        ((part, paper.paper_id, sealed((part, paper.paper_id), content)) for part, content in parts.items()),
    )
    _insert_passages(db, first, new)
    terms = add_terms(db, ((first + place, chunk.searched) for place, chunk in enumerate(new.chunks)))
    state = with_paper(read_state(db), paper, written, 1)
    write_state(db, replace(state, next_chunk=first + count, terms=state.terms + terms))
    return paper


def already_there(path: str) -> RagScienceError:
    """The error for a paper whose path or MD5 another one has."""
    return RagScienceError(
        f"The library has {path} already: the same file, or the same bytes.",
        "`python ingest.py sync` updates the library.",
    )


def row_of(new: NewPaper, paper_id: int, first: int, root: str) -> PaperRow:
    """The row of a paper whose passages begin with the id `first`, in the library of the home `root`."""
    document = new.document
    fields = {
        "size_bytes": new.size_bytes,
        "modified_ns": new.modified_ns,
        "pages": len(document.pages),
        "title": document.title,
        "added_at": new.added_at or datetime.now(UTC).isoformat(timespec="seconds"),
        "warnings": document.warnings,
    }
    lists = json.dumps([*_reference_lists(first, new.chunks)], separators=(",", ":"))
    content = new_paper_json(fields, document.metadata)
    return PaperRow(paper_id, path_within(root, new.path), new.md5, first, len(new.chunks), lists, content)


def _write_row(db: sqlite3.Connection, paper: PaperRow) -> bytes:
    """Write the columns of a paper that depend on each other; the last of them."""
    row = sealed(paper.key, paper.content)
    db.execute(
        "UPDATE papers SET path = ?, reference_lists = ?, row = ? WHERE paper_id = ?",
        (paper.path, paper.reference_lists, row, paper.paper_id),
    )
    return row


def _reference_lists(first: int, chunks: Sequence[Chunk]) -> Iterator[tuple[int, int]]:
    """(first passage, number) of each run of passages that are a reference list."""
    places = [place for place, chunk in enumerate(chunks) if chunk.kind == "reference"]
    for _, group in groupby(enumerate(places), lambda item: item[1] - item[0]):
        run = [place for _, place in group]
        yield first + run[0], len(run)


def parts_of(new: NewPaper) -> dict[str, bytes]:
    """The contents, the outline and the sketch of a paper, packed."""
    chunks = new.chunks
    outline = Outline(
        [chunk.page_start for chunk in chunks],
        [chunk.page_end for chunk in chunks],
        [chunk.kind for chunk in chunks],
        [storable(chunk.section) for chunk in chunks],
    )
    fingerprint = new.fingerprint
    sketch = struct.pack(f"<{len(fingerprint.sketch) + 1}Q", fingerprint.shingles, *sorted(fingerprint.sketch))
    return {"contents": PaperContents.of(new.document).pack(), "outline": outline.pack(), "sketch": sketch}


def _insert_passages(db: sqlite3.Connection, first: int, new: NewPaper) -> None:
    rows = (
        (first + place, sealed(("chunk", first + place), row.encode())) for place, row in enumerate(passage_rows(new))
    )
    db.executemany("INSERT INTO chunks VALUES (?, ?)", rows)
    hashes = new.hashes or [text_hash(chunk.searched) for chunk in new.chunks]
    insert_vectors(db, range(first, first + len(new.chunks)), hashes, new.vectors)
    mark_not_kept(db, hashes)


def passage_rows(new: NewPaper) -> Iterator[str]:
    """The fields of each passage as JSON."""
    for chunk in new.chunks:
        fields = [chunk.ordinal, chunk.text, chunk.start, chunk.end, chunk.page_start, chunk.page_end, chunk.section]
        fields += [chunk.kind, page_breaks(chunk, new.document.pages), chunk.header]
        yield storable(json.dumps(fields, separators=(",", ":"), ensure_ascii=False))


def remove_papers(at: Snapshot, paper_ids: Sequence[int]) -> int:
    """Remove papers with all their rows, of a snapshot that nothing was written in; returns how many there were."""
    db, state, removed = at.db, read_state(at.db), 0
    for paper in (at.listing.rows[one] for one in dict.fromkeys(paper_ids) if one in at.listing.rows):
        (row,) = db.execute("SELECT row FROM papers WHERE paper_id = ?", (paper.paper_id,)).fetchone()
        terms = remove_terms(db, at.texts(range(paper.first_chunk, paper.first_chunk + paper.chunks)))
        for table in ("chunks", "vectors"):
            db.execute(f"DELETE FROM {table} WHERE chunk_id BETWEEN ? AND ?", paper.span)  # noqa: S608  # ours
        if db.execute("DELETE FROM graph_passages WHERE chunk_id BETWEEN ? AND ?", paper.span).rowcount:
            state = replace(state, graph_version=state.graph_version + 1)
        db.execute(
            "DELETE FROM parts WHERE paper_id = ? AND part IN ('contents', 'outline', 'sketch')", (paper.paper_id,)
        )
        db.execute("DELETE FROM papers WHERE paper_id = ?", (paper.paper_id,))
        state = with_paper(replace(state, terms=state.terms - terms), paper, row, -1)
        removed += 1
    write_state(db, state)
    return removed


def rename_papers(at: Snapshot, root: str, moves: Sequence[tuple[int, str, int]]) -> None:
    """Give each (paper id, new path, mtime in ns) its path, all at once so that two files may have changed places.

    A paper that is not moved but whose path another one takes is removed: its bytes are no longer there.
    """
    db, moved = at.db, {int(paper_id) for paper_id, _, _ in moves}
    for paper_id in moved - at.listing.rows.keys():
        raise RagScienceError(f"The library has no paper with the id {paper_id}.", "Run `python ingest.py sync`.")
    targets = {path_within(root, path) for _, path, _ in moves}
    displaced = [row.paper_id for row in at.listing.rows.values() if row.path in targets and row.paper_id not in moved]
    remove_papers(at, displaced)
    state = read_state(db)
    for paper_id in moved:
        (row,) = db.execute("SELECT row FROM papers WHERE paper_id = ?", (paper_id,)).fetchone()
        state = with_paper(state, at.listing.rows[paper_id], row, -1)
        db.execute("UPDATE papers SET path = ? WHERE paper_id = ?", (b"\0moving %d" % paper_id, paper_id))
    for paper_id, path, modified_ns in moves:
        before = at.listing.rows[int(paper_id)]
        fields = {**json.loads(before.content), "modified_ns": modified_ns}
        content = storable(json.dumps(fields, ensure_ascii=False)).encode()
        paper = replace(before, path=path_within(root, path), content=content)
        state = with_paper(state, paper, _write_row(db, paper), 1)
    write_state(db, state)
