"""What a thread reads of a library at one version, and what a change does to it, wherever it is kept."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ragscience.core.records import Metadata, Paper, StoredChunk, searched_text
from ragscience.library.paper_contents import NewPaper
from ragscience.library.paper_rows import Listing, Outline, PaperRow
from ragscience.library.sealed_rows import CommonState, Damage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.library.paper_rows import FileSource


T = TypeVar("T")
_BATCH = 4096


class Snapshot(ABC):
    """A library at one version. What is damaged is noted and left out."""

    state: CommonState
    damage: Damage

    @property
    @abstractmethod
    def listing(self) -> Listing:
        """The papers. Raises LibraryDamaged where some are lost."""

    @abstractmethod
    def rows_of(self, ids: Sequence[int]) -> Iterator[tuple[int, str | bytes]]:
        """(id, its fields as JSON) of the passages, ascending, as far as they are intact."""

    @abstractmethod
    def parts(self, part: str, paper_ids: Collection[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """(paper, its "contents", "outline" or "sketch" as packed) of the papers, or of all."""

    @abstractmethod
    def vectors_of(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(ids, ascending; vectors, one row each) of the passages, as far as they are intact."""

    @abstractmethod
    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The intact vectors of texts, by their hashes."""

    @abstractmethod
    def notes(self, kind: str) -> dict[str, str]:
        """The small texts of a kind, by their keys."""

    @abstractmethod
    def sources(self, md5s: Collection[str] | None = None) -> list[FileSource]:
        """The sources of these files, or of all, by MD5."""

    @abstractmethod
    def graph_made(self) -> Iterator[tuple[int, str, str]]:
        """(passage, extractor, its version) of each row of the graph."""

    @abstractmethod
    def graph_rows(self) -> Iterator[tuple[int, str, str]]:
        """(passage, extractor, its JSON) of each row of the graph, by passage and extractor."""

    @property
    def version(self) -> int:
        """Grows with each change of papers or vectors."""
        return self.state.version

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]:
        """All papers, or those of these ids, ordered by file."""

        def known(md5s: list[str] | None) -> Mapping[str, Metadata]:
            return {one.md5: one.metadata for one in self.sources(md5s)}

        return self.listing.papers(ids, known)

    def outlines(self, paper_ids: Collection[int]) -> Iterator[tuple[int, Outline]]:
        """(first passage, outline) of each of the papers, in the order of their passages."""
        found = dict(self.parts("outline", paper_ids))
        for row in self.listing.rows.values():
            if row.paper_id in found:
                yield row.first_chunk, Outline.unpack(found[row.paper_id])

    def read_passages(self, ids: Sequence[int]) -> Iterator[tuple[int, PaperRow, list[Any]]]:
        """(id, paper, the fields) of the passages, ascending."""
        wanted = {int(one): row for one in ids if (row := self.listing.paper_of(int(one))) is not None}
        for chunk_id, content in self.rows_of(sorted(wanted)):
            yield chunk_id, wanted.pop(chunk_id), json.loads(content)
        for row in wanted.values():
            self.damage.note("paper", row.paper_id)

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """The passages in the order of `ids`."""
        return self.listing.chunks(ids, self.read_passages(ids))

    def texts(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        """(id, searched text) of the passages, ascending."""
        for chunk_id, _, fields in self.read_passages(ids):
            yield chunk_id, searched_text(fields[-1], fields[1])

    def vectors(
        self, ids: Sequence[int] | NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(ids, ascending, int64; vectors, shape (n, dimension), float32) of the passages, or of all.

        Raises RagScienceError where a vector has another dimension.
        """
        import numpy as np

        from ragscience.library.top_scores import marked, shared

        wanted = self.listing.chunk_ids
        if ids is not None:
            wanted = shared(wanted, np.unique(np.asarray(ids, np.int64)))
        found = np.empty(wanted.size, np.int64)
        vectors = np.empty((wanted.size, self.state.dimension), np.float32)
        row = 0
        for first in range(0, wanted.size, _BATCH):
            numbers, rows = self.vectors_of(wanted[first : first + _BATCH])
            found[row : row + numbers.size] = numbers
            vectors[row : row + numbers.size] = rows
            row += numbers.size
        for chunk_id in wanted[~marked(wanted, found[:row])].tolist() if row < wanted.size else ():
            if (paper := self.listing.paper_of(chunk_id)) is not None:
                self.damage.note("paper", paper.paper_id)
        return found[:row], vectors[:row]


class Change(ABC):
    """Changes of a library that are committed together, or not at all."""

    before: Snapshot
    """The library as it was."""
    state: Any
    """What the library says of itself from then on: of the class that `before.state` has."""

    def note(self, **fields: Any) -> None:
        """Change fields of the state."""
        self.state = replace(self.state, **fields)

    @abstractmethod
    def insert(self, new: NewPaper) -> int:
        """Add a paper with its passages, vectors and terms; its id."""

    @abstractmethod
    def remove(self, paper_ids: Collection[int]) -> int:
        """Remove papers with all their rows; how many there were."""

    @abstractmethod
    def rename(self, rows: Sequence[PaperRow]) -> None:
        """Replace the rows of papers, of which two may have changed paths."""

    @abstractmethod
    def begin_vectors(self, dimension: int) -> None:
        """All passages get new vectors of that dimension."""

    @abstractmethod
    def put_vectors(
        self, ids: Sequence[int], vectors: NDArray[np.float32], tokens: Mapping[bytes, NDArray[np.uint8]]
    ) -> None:
        """Replace the vectors of passages; token vectors are by the hash of their text."""

    @abstractmethod
    def put_notes(self, kind: str, texts: Mapping[str, str | None]) -> None:
        """Keep small texts of a kind by their keys; None forgets one."""

    @abstractmethod
    def put_source(self, md5: str, content: str) -> None:
        """Keep the source of a file."""

    @abstractmethod
    def put_graph(self, extractor: str, version: str, texts: Mapping[int, str]) -> None:
        """Keep what an extractor read from passages, replacing its earlier rows of them."""

    @abstractmethod
    def delete_graph(self, extractor: str | None) -> int:
        """Delete the rows of an extractor, or all; how many there were."""


class Database(Protocol):
    """What holds a library."""

    root: str
    """The full path of the home."""
    damage: Damage

    @property
    def may_write(self) -> bool:
        """Whether this process holds the lock."""

    def now(self) -> AbstractContextManager[Snapshot | None]:
        """The library at one version for this thread; None if there is no library (yet). May be nested."""

    def changed(self, act: Callable[[Any], T]) -> T:
        """What `act` gives for a `Change`, which is committed after it."""

    def close(self) -> None:
        """Release the files and the lock."""
