"""The contents of a library's papers: pages, elements, passages and their vectors, and fingerprints."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.core.errors import LibraryDamaged, NothingFound
from ragscience.core.records import LOST_PAGE, REPAIRED_FILE, Box, Element, Page, StoredChunk
from ragscience.library import row_records as rows
from ragscience.library import vectors as stored_vectors
from ragscience.library.element_rows import unpack_elements, unpack_sketch
from ragscience.library.library_damage import READ_ALL_AGAIN, note, rebuilds
from ragscience.library.page_geometry import boxes_between, read_page
from ragscience.library.row_checksums import CHECKED_COLUMNS, is_intact
from ragscience.library.similarity import Fingerprint, fingerprint_of, sharing_text
from ragscience.library.token_vectors import Tokens
from ragscience.library.transactions import Transactions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PaperContents"]


class PaperContents:
    """The contents of a library's papers."""

    def __init__(self, transactions: Transactions, tokens: Tokens) -> None:
        self._reading = transactions.reading
        self._tokens = tokens

    def pages(self, paper_id: int) -> list[Page]:
        """The pages of a paper in order, without their lines: see `page`."""
        with self._reading() as db:
            return rows.pages(db, paper_id) if db else []

    def whole_pages(self, paper_id: int) -> list[tuple[Page, str]]:
        """The pages of a paper in order, with their lines, and the text of each. Raises LibraryDamaged."""
        with self._reading():
            return [self._page(paper_id, page.number) for page in self.pages(paper_id)]

    def page_text(self, paper_id: int, number: int) -> str:
        """A page of a paper. Raises NothingFound if there is no such page, LibraryDamaged for a damaged one."""
        return self._page(paper_id, number)[1]

    def page(self, paper_id: int, number: int) -> Page:
        """A page with its lines, headers and footers. Raises as `page_text`."""
        return self._page(paper_id, number)[0]

    def boxes(self, paper_id: int, number: int, start: int, end: int) -> tuple[Box, ...]:
        """The boxes of characters `start` to `end` of the document on one of its pages, one per line.

        Empty if not known. Raises as `page_text`.
        """
        page, text = self._page(paper_id, number)
        return boxes_between(page, text, start, end)

    def _page(self, paper_id: int, number: int) -> tuple[Page, str]:
        with self._reading() as db:
            found = read_page(db, paper_id, number) if db else None
            if found == "damaged" and db is not None:
                note(db, "page", paper_id, [number])
                file = rows.file_names(db, [paper_id]).get(paper_id, "")
                raise LibraryDamaged(
                    f"Page {number} of {file or 'that paper'} is damaged in the library.",
                    rebuilds(file) if file else READ_ALL_AGAIN,
                )
        if found is None or found == "damaged":
            raise NothingFound(f"There is no page {number} of that paper in the library.", "Pages are numbered from 1.")
        return found

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """The passages in the order of `ids`; missing ones are left out."""
        with self._reading() as db:
            return rows.chunks(db, ids) if db else []

    def paper_chunks(self, paper_id: int) -> list[StoredChunk]:
        """The passages of a paper, in order."""
        with self._reading() as db:
            return rows.chunks(db, rows.paper_chunk_ids(db, paper_id)) if db else []

    def texts(self, batch: int) -> Iterator[tuple[list[int], list[str]]]:
        """(ids, search texts) of all passages, ascending, `batch` at a time.

        Not a snapshot unless it runs inside one.
        """
        with self._reading() as db:
            ids: list[int] = rows.chunk_ids(db).tolist() if db else []
        for first in range(0, len(ids), batch):
            with self._reading() as db:
                found = dict(rows.texts(db, ids[first : first + batch])) if db else {}
            if found:
                yield list(found), list(found.values())

    def elements(self, paper_id: int) -> tuple[Element, ...]:
        """The elements of a paper, in the order of its text; empty for an unknown paper, and for damaged ones."""
        with self._reading() as db:
            if db is not None:
                for _, _, elements in _parts(db, "WHERE paper_id = ?", (paper_id,)):
                    return unpack_elements(elements)
        return ()

    def fingerprints(self, ids: Sequence[int] | None = None) -> list[Fingerprint]:
        """The fingerprint of each paper, or of those of `ids`, by file; `Fingerprint.paper` is `Paper.file`."""
        with self._reading() as db:
            papers = (rows.papers(db) if ids is None else rows.papers_of(db, ids)) if db else []
            which = json.dumps([paper.paper_id for paper in papers])
            where = "WHERE paper_id IN (SELECT value FROM json_each(?))"
            sketches = {paper_id: sketch for paper_id, sketch, _ in _parts(db, where, (which,))} if db else {}
        found = []
        for paper in papers:
            shingles, sketch = unpack_sketch(sketches.get(paper.paper_id, b""))
            known = fingerprint_of(paper.file, "", paper.metadata, paper.modified_ns)
            pages = self.pages(paper.paper_id) if paper.warnings else []  # without one, it lacks nothing
            empty = sum(page.start == page.end for page in pages)
            is_damaged = REPAIRED_FILE in paper.warnings or any(page.warning.startswith(LOST_PAGE) for page in pages)
            found.append(replace(known, shingles=shingles, sketch=sketch, is_damaged=is_damaged, empty_pages=empty))
        return found

    def papers_sharing_text(self, with_: Sequence[Fingerprint]) -> list[int]:
        """Ids of the papers whose text may be that of one of these."""
        with self._reading() as db:
            return list(sharing_text(db.execute("SELECT paper_id, sketch FROM papers"), with_)) if db else []

    def vectors(self, ids: Sequence[int] | None = None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(ids, ascending, int64; vectors, shape (n, dimension), float32) of all passages, or of those of `ids`."""
        with self._reading() as db:
            if db is not None:
                return stored_vectors.read_vectors(db, rows.read_state(db).dimension, ids)
        import numpy as np

        return np.empty(0, np.int64), np.empty((0, 0), np.float32)

    def vectors_by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors, shape (dimension,), of those of the texts that are embedded already."""
        with self._reading() as db:
            return stored_vectors.vectors_by_hash(db, rows.read_state(db).dimension, hashes) if db else {}

    def token_vectors(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint8]]:
        """Codes of the token vectors (token_codes.py), shape (tokens, 28), of the passages that have any."""
        with self._reading() as db:
            return self._tokens.of_chunks(db, ids) if db else {}

    def token_bytes(self) -> int:
        """The size of the token vectors on disk in bytes, waste included."""
        with self._reading() as db:
            return self._tokens.size_bytes(db) if db else 0

    def passages_not_kept(self) -> int:
        """Of how many passages no token vectors are kept."""
        with self._reading() as db:
            return self._tokens.unkept(db) if db else 0

    def passages_without_tokens(self) -> tuple[list[int], list[int]]:
        """The passages whose token vectors are lost or damaged, and those of which none are kept; reads all of them."""
        with self._reading() as db:
            return self._tokens.missing(db, rows.chunk_ids(db).tolist()) if db else ([], [])


def _parts(
    db: sqlite3.Connection, where: str = "", values: tuple[object, ...] = ()
) -> Iterator[tuple[int, bytes, bytes]]:
    """(paper id, sketch, elements) of the papers that fit; damaged ones are noted and left out."""
    columns = ", ".join(CHECKED_COLUMNS["papers"]["parts_checksum"])
    for row in db.execute(f"SELECT {columns}, parts_checksum FROM papers {where}", values):  # noqa: S608  # ours
        if is_intact(row):
            yield row[:-1]
        else:
            note(db, "part", row[0], [0])
