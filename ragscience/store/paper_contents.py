"""The contents of a library's papers: pages, elements, passages and their vectors, and fingerprints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.errors import NothingFound
from ragscience.records import Box, Element, Page, StoredChunk
from ragscience.similarity import Fingerprint, fingerprint_of
from ragscience.store import row_records as rows
from ragscience.store import vectors as stored_vectors
from ragscience.store.element_rows import unpack_elements, unpack_sketch
from ragscience.store.page_geometry import boxes_between, read_page
from ragscience.store.token_vectors import Tokens
from ragscience.store.transactions import Transactions

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

    def page_text(self, paper_id: int, number: int) -> str:
        """A page of a paper. Raises NothingFound if there is no such page."""
        return self._page(paper_id, number)[1]

    def page(self, paper_id: int, number: int) -> Page:
        """A page with its lines, headers and footers. Raises NothingFound if there is no such page."""
        return self._page(paper_id, number)[0]

    def boxes(self, paper_id: int, number: int, start: int, end: int) -> tuple[Box, ...]:
        """The boxes of characters `start` to `end` of the document on one of its pages, one per line.

        Empty if not known. Raises NothingFound if there is no such page.
        """
        page, text = self._page(paper_id, number)
        return boxes_between(page, text, start, end)

    def _page(self, paper_id: int, number: int) -> tuple[Page, str]:
        with self._reading() as db:
            found = read_page(db, paper_id, number) if db else None
        if found is None:
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
        """The elements of a paper, in the order of its text; empty for an unknown paper."""
        with self._reading() as db:
            query = "SELECT elements FROM papers WHERE paper_id = ?"
            row = db.execute(query, (paper_id,)).fetchone() if db else None
        return unpack_elements(row[0]) if row else ()

    def fingerprints(self, ids: Sequence[int] | None = None) -> list[Fingerprint]:
        """The fingerprint of each paper, or of those of `ids`, by file; `Fingerprint.paper` is `Paper.file`."""
        query = "SELECT sketch FROM papers WHERE paper_id = ?"
        with self._reading() as db:
            papers = (rows.papers(db) if ids is None else rows.papers_of(db, ids)) if db else []
            sketches = [db.execute(query, (paper.paper_id,)).fetchone()[0] for paper in papers] if db else []
        found = []
        for paper, packed in zip(papers, sketches, strict=True):
            shingles, sketch = unpack_sketch(packed)
            known = fingerprint_of(paper.file, "", paper.metadata, paper.modified_ns)
            found.append(replace(known, shingles=shingles, sketch=sketch))
        return found

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

    def token_vectors(self, ids: Sequence[int]) -> dict[int, NDArray[np.int8]]:
        """Token vectors, shape (tokens, 64), int8, of the passages that have any."""
        with self._reading() as db:
            return self._tokens.of_chunks(db, ids) if db else {}

    def token_bytes(self) -> int:
        """The size of the token vectors on disk in bytes, waste included."""
        with self._reading() as db:
            return self._tokens.size_bytes(db) if db else 0

    def passages_without_tokens(self) -> int:
        """How many passages have no token vectors."""
        with self._reading() as db:
            return self._tokens.missing(db) if db else 0
