"""A library as a LangChain vector store, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.core.errors import LibraryUnavailable
from ragscience.core.records import Filters
from ragscience.library.home import Home
from ragscience.library.library import Library

if TYPE_CHECKING:
    from langchain_community.vectorstores import FAISS
    from langchain_core.embeddings import Embeddings

__all__ = ["as_vector_store"]


def as_vector_store(home: Home, embeddings: Embeddings) -> FAISS:
    """A `langchain_community.vectorstores.FAISS` with the passages and vectors of the library as it is now.

    `embeddings` must be of the model that made the library; it embeds one word here, to compare dimensions. Documents
    carry `source` (full path), `file`, `page`, `page_end`, `section`, `kind`, `header` and `chunk_id`; references are
    left out. The store is a copy in memory: what changes it does not change the library. Raises LibraryUnavailable for
    an embedder of another dimension or an empty library.
    """
    from langchain_community.vectorstores import FAISS
    from langchain_community.vectorstores.utils import DistanceStrategy

    with Library.open(home) as library, library.snapshot():
        made_by = library.about.embedder
        dimension = len(embeddings.embed_query("dimension"))
        if made_by is None or made_by.dimension != dimension or not library.about.chunks:
            kept = made_by.dimension if made_by else 0
            raise LibraryUnavailable(
                f"The library's vectors have {kept} dimensions, these embeddings {dimension}.",
                f"Use the embeddings of {made_by.model}." if made_by else "Ingest something first: `python ingest.py`.",
            )
        allowed = library.select(Filters())
        ids, vectors = library.vectors.of(None if allowed is None else allowed.tolist())
        chunks = library.chunks(ids.tolist())
    fields = {"source": "path", "page": "page_start"} | {
        name: name for name in ("file", "page_end", "section", "kind", "header", "chunk_id")
    }
    return FAISS.from_embeddings(
        [(chunk.text, vector.tolist()) for chunk, vector in zip(chunks, vectors, strict=True)],
        embeddings,
        metadatas=[{name: getattr(chunk, field) for name, field in fields.items()} for chunk in chunks],
        ids=[str(chunk.chunk_id) for chunk in chunks],
        distance_strategy=DistanceStrategy.MAX_INNER_PRODUCT,
        relevance_score_fn=lambda cosine: min(1.0, max(0.0, (1.0 + cosine) / 2.0)),
    )
