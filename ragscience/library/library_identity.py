"""Which embedder and which chunker made a library: what would mix two of them is refused."""

from __future__ import annotations

from ragscience.core.errors import LibraryUnavailable
from ragscience.core.records import EmbedderIdentity

__all__ = ["check_identity", "other_embedder"]


def check_identity(
    made_by: EmbedderIdentity | None, cut_by: str | None, embedder: EmbedderIdentity, chunker: str | None
) -> None:
    """Raise LibraryUnavailable, naming the command that fixes it, unless `embedder` and `chunker` made the library.

    What is None is not compared.
    """
    if made_by not in (None, embedder):
        raise other_embedder(made_by, embedder)
    if None not in (chunker, cut_by) and chunker != cut_by:
        raise LibraryUnavailable(
            f"The library's passages were made with {cut_by}, not {chunker}.",
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
