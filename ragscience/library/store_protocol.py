# ruff: noqa: D102  (the docstrings are those of the classes)
"""What the program asks of a library, wherever it is kept; `Library` keeps it in a home's own folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from ragscience.core.errors import LibraryUnavailable
from ragscience.core.records import EmbedderIdentity, Filters, Metadata, Paper, StoredChunk
from ragscience.library.home import Home
from ragscience.library.keyword_scores import Frequencies
from ragscience.library.library_writes import NewPaper
from ragscience.library.paper_contents import PaperContents
from ragscience.library.similarity import Fingerprint
from ragscience.library.sources_table import FileSource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "About",
    "DenseSearch",
    "GraphRows",
    "KeywordSearch",
    "SourceRows",
    "Store",
    "TokenRows",
    "VectorRows",
    "known_files",
    "other_embedder",
    "require_identity",
]


@dataclass(frozen=True, slots=True)
class About:
    """What a library is, and how large; all empty where there is none yet."""

    library_id: str = ""
    """A random id from its creation."""
    version: int = 0
    """Grows with each change of papers or vectors."""
    embedder: EmbedderIdentity | None = None
    """The embedder of the vectors."""
    chunker: str | None = None
    """The chunker of the passages."""
    papers: int = 0
    chunks: int = 0


class Store(Protocol):
    """A library, opened for reading or for writing; thread-safe. `Library` says what each method does and raises."""

    home: Home
    """What belongs to the person: the papers' folder, the ledger, conversations, logs and caches."""

    @property
    def dense(self) -> DenseSearch: ...
    @property
    def keywords(self) -> KeywordSearch: ...
    @property
    def vectors(self) -> VectorRows: ...
    @property
    def tokens(self) -> TokenRows: ...
    @property
    def graph(self) -> GraphRows: ...
    @property
    def sources(self) -> SourceRows: ...

    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def snapshot(self) -> AbstractContextManager[None]: ...

    @property
    def about(self) -> About: ...
    def set_identity(self, embedder: EmbedderIdentity, chunker: str) -> None: ...

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]: ...
    def paper(self, *, md5: str = "", path: str = "") -> Paper | None: ...
    def add_paper(self, new: NewPaper) -> Paper: ...
    def remove_papers(self, ids: Sequence[int]) -> None: ...
    def rename_papers(self, moves: Sequence[tuple[int, str, int]]) -> None: ...
    def fingerprints(self, ids: Sequence[int] | None = None) -> list[Fingerprint]: ...
    def papers_sharing_text(self, with_: Sequence[Fingerprint]) -> list[int]: ...

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]: ...
    def paper_chunks(self, paper_id: int) -> list[StoredChunk]: ...
    def texts(self, batch: int) -> Iterator[tuple[list[int], list[str]]]: ...
    def contents(self, paper_id: int) -> PaperContents: ...
    def select(self, filters: Filters) -> NDArray[np.int64] | None: ...
    def section_names(self) -> list[str]: ...

    def noted(self, kind: str) -> dict[str, str]: ...
    def note(self, kind: str, texts: Mapping[str, str | None]) -> None: ...

    def refresh_indexes(self) -> None: ...
    def rebuild_indexes(self) -> None: ...
    def damage(self) -> tuple[str, ...]: ...
    def verify(self) -> list[tuple[str, str]]: ...


class DenseSearch(Protocol):
    """Searches by vectors; `Dense` says what each method does."""

    def search(
        self, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
    def scores(self, vector: NDArray[np.float32], ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]: ...


class KeywordSearch(Protocol):
    """Searches by words; `Keywords` says what each method does."""

    def search(
        self, text: str, k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
    def having(self, terms: Sequence[str], allowed: NDArray[np.int64] | None) -> NDArray[np.int64]: ...
    def frequencies(self, terms: Iterable[str]) -> Frequencies: ...


class VectorRows(Protocol):
    """The vectors of the passages; `Vectors` says what each method does."""

    def of(self, ids: Sequence[int] | None = None) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]: ...
    def replace(
        self,
        embedder: EmbedderIdentity,
        batches: Iterable[
            tuple[Sequence[int] | NDArray[np.int64], NDArray[np.float32], Mapping[bytes, NDArray[np.uint8]]]
        ],
    ) -> None: ...


class TokenRows(Protocol):
    """The token vectors of the passages; `Tokens` says what each method does."""

    def of(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint8]]: ...
    def put(self, tokens: Mapping[bytes, NDArray[np.uint8]]) -> None: ...
    def size_bytes(self) -> int: ...
    def not_kept(self) -> int: ...
    def missing(self) -> tuple[list[int], list[int]]: ...
    def compact(self) -> int: ...


class GraphRows(Protocol):
    """What extractors read from the passages for the graph; `GraphTable` says what each method does."""

    def state(self) -> str: ...
    def pending(self, extractor: str, version: str) -> list[int]: ...
    def put(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None: ...
    def replace(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None: ...
    def clear(self, extractor: str | None = None) -> int: ...
    def rows(self) -> list[tuple[int, int, str, str]]: ...
    def counts(self) -> dict[tuple[str, str], int]: ...
    def read_passages(self) -> dict[int, tuple[int, int]]: ...
    def stable_ids(self) -> dict[int, str]: ...


class SourceRows(Protocol):
    """The sources of fetched files; `SourcesTable` says what each method does."""

    def put(self, md5: str, metadata: Metadata) -> None: ...
    def of(self, md5: str) -> FileSource | None: ...
    def all(self) -> list[FileSource]: ...


def known_files(library: Store) -> dict[str, tuple[int, int, str, int]]:
    """Full path of each paper's file: (size in bytes, mtime in ns, MD5, paper id)."""
    return {one.path: (one.size_bytes, one.modified_ns, one.md5, one.paper_id) for one in library.papers()}


def require_identity(library: Store, embedder: EmbedderIdentity, chunker: str | None = None) -> None:
    """Raise LibraryUnavailable, naming the command that fixes it, unless these made the library.

    What is None, here or there, is not compared.
    """
    about = library.about
    if about.embedder not in (None, embedder):
        raise other_embedder(about.embedder, embedder)
    if None not in (chunker, about.chunker) and chunker != about.chunker:
        raise LibraryUnavailable(
            f"The library's passages were made with {about.chunker}, not {chunker}.",
            "`python ingest.py rebuild` makes new chunks; or restore the chunk settings.",
        )


def other_embedder(present: EmbedderIdentity | None, wanted: EmbedderIdentity) -> LibraryUnavailable:
    """The error for vectors of another embedder than `wanted`."""
    return LibraryUnavailable(
        f"The library's vectors were made by {_called(present)}, not {_called(wanted)}.",
        "`python ingest.py rebuild --embeddings` rebuilds them; or restore the embedder setting.",
    )


def _called(embedder: EmbedderIdentity | None) -> str:
    if embedder is None:
        return "nothing"
    return f"{embedder.provider} {embedder.model} ({embedder.digest[:12]}, {embedder.dimension} dimensions)"
