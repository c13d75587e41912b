"""A library as a LangChain VectorStore, for notebooks: read-only, over the same index and database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ragscience.core.errors import LibraryUnavailable, UsageError
from ragscience.core.records import Filters, StoredChunk
from ragscience.library.home import Home
from ragscience.library.library import Library

if TYPE_CHECKING:
    import numpy as np
    from langchain_community.vectorstores import FAISS
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from numpy.typing import NDArray

__all__ = ["as_vector_store"]


def as_vector_store(home: Home, embeddings: Embeddings) -> FAISS:
    """A `langchain_community.vectorstores.FAISS` over the library of `home`.

    `embeddings` must be of the model that made the library; it embeds one word here, to compare dimensions. Documents
    carry `source` (full path), `file`, `page`, `page_end`, `section`, `kind`, `header` and `chunk_id`; references are
    excluded. What would change the store or write it elsewhere raises UsageError: `ingest.py` changes the library, and
    its home is what is kept. Raises LibraryUnavailable for an embedder of another dimension or an empty library.
    """
    from langchain_community.docstore.base import Docstore
    from langchain_community.vectorstores import FAISS
    from langchain_community.vectorstores.utils import DistanceStrategy
    from langchain_core.documents import Document

    library = Library.open(home)
    made_by = library.about.embedder
    dimension = len(embeddings.embed_query("dimension"))
    if made_by is None or made_by.dimension != dimension:
        library.close()
        kept = made_by.dimension if made_by else 0
        raise LibraryUnavailable(
            f"The library's vectors have {kept} dimensions, these embeddings {dimension}.",
            f"Use the embeddings of {made_by.model}." if made_by else "Ingest something first: `python ingest.py`.",
        )

    class LibraryDocstore(Docstore):  # type: ignore[misc]  # langchain_community has no types
        """A docstore that reads passages from the library's database."""

        def search(self, search: str) -> str | Document:
            """The passage with the chunk id `search`, or an error string, as the interface requires."""
            found = library.chunks([int(search)]) if search.isdecimal() else []
            return Document(**_fields(found[0])) if found else f"ID {search} not found."

    class LibraryStore(FAISS):  # type: ignore[misc]  # for the same reason
        """The store, for reading alone."""

        def _refuse(self, *_: Any, **__: Any) -> NoReturn:
            """Whatever the arguments are."""
            raise UsageError(
                "This store reads the library and is not one of its own: it cannot be changed, saved or merged.",
                f"`python ingest.py` adds and removes papers; to keep a copy, copy the home, {home.root}.",
            )

        save_local = serialize_to_bytes = merge_from = delete = _refuse
        add_texts = add_documents = add_embeddings = _refuse
        aadd_texts = aadd_documents = adelete = _refuse

    return LibraryStore(
        embedding_function=embeddings,
        index=_LibraryIndex(library, dimension),
        docstore=LibraryDocstore(),
        index_to_docstore_id=_ChunkIds(library),
        distance_strategy=DistanceStrategy.MAX_INNER_PRODUCT,
        relevance_score_fn=_relevance,
    )


class _LibraryIndex:
    """The FAISS index interface that LangChain uses, backed by the library, so that both find the same passages."""

    def __init__(self, library: Library, dimension: int) -> None:
        self._library = library
        self.d = dimension

    @property
    def ntotal(self) -> int:
        """Number of vectors."""
        return self._library.about.chunks

    def search(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """(inner products, chunk ids), shape (len(queries), k); -1 where there are fewer, as in FAISS."""
        import numpy as np

        scores = np.full((len(queries), k), -np.inf, np.float32)
        ids = np.full((len(queries), k), -1, np.int64)
        allowed = self._library.select(Filters())
        for row, query in enumerate(queries):
            found, inner = self._library.dense.search(query, k, allowed)
            ids[row, : found.size] = found
            scores[row, : found.size] = inner
        return scores, ids

    def reconstruct(self, chunk_id: int) -> NDArray[np.float32]:
        """The vector of a passage, shape (d,)."""
        vector: NDArray[np.float32] = self._library.vectors.of([chunk_id])[1][0]
        return vector


class _ChunkIds(Mapping[int, str]):
    """Chunk id to docstore id for every chunk, without a table."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def __getitem__(self, chunk_id: int) -> str:
        return str(int(chunk_id))

    def __iter__(self) -> Iterator[int]:
        for ids, _ in self._library.texts(1000):
            yield from ids

    def __len__(self) -> int:
        return self._library.about.chunks


def _fields(chunk: StoredChunk) -> dict[str, Any]:
    return {
        "id": str(chunk.chunk_id),
        "page_content": chunk.text,
        "metadata": {
            "source": chunk.path,
            "file": chunk.file,
            "page": chunk.page_start,
            "page_end": chunk.page_end,
            "section": chunk.section,
            "kind": chunk.kind,
            "header": chunk.header,
            "chunk_id": chunk.chunk_id,
        },
    }


def _relevance(score: float) -> float:
    """A cosine as a number from 0 to 1, higher is better."""
    return min(1.0, max(0.0, (1.0 + score) / 2.0))
