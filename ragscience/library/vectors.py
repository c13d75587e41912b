"""The vectors of the passages: unit rows, float32, one a passage."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ragscience.core.errors import RagScienceError
from ragscience.core.records import EmbedderIdentity
from ragscience.library.snapshots import Change, Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NORM_TOLERANCE", "Vectors", "check_vectors", "text_hash"]

NORM_TOLERANCE = 1e-3


def text_hash(text: str) -> bytes:
    """The cache key of a vector: BLAKE2b, 16 bytes, of the embedded text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def check_vectors(vectors: NDArray[np.float32], count: int, dimension: int) -> None:
    """Raise RagScienceError unless these are `count` finite unit rows of `dimension`, float32."""
    import numpy as np

    if vectors.dtype != np.float32 or vectors.shape != (count, dimension):
        raise RagScienceError(
            f"The embedder gave {vectors.dtype} vectors of shape {vectors.shape} where float32 of shape "
            f"({count}, {dimension}) belong.",
            "Check the embedding model, or rebuild all vectors with `python ingest.py rebuild --embeddings`.",
        )
    if not np.isfinite(vectors).all():
        raise RagScienceError("The embedder gave vectors with values that are not numbers.", "Check the model.")
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    worst = float(np.abs(norms - 1).max(initial=0))
    if worst > NORM_TOLERANCE:
        raise RagScienceError(
            f"The embedder gave vectors that are not of length 1 (off by {worst:.3g}).", "Check the embedding model."
        )


class Vectors:
    """The vectors of a library; thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, ids: Sequence[int] | None = None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(ids, ascending, int64; vectors, shape (n, dimension), float32) of all passages, or of those of `ids`."""
        import numpy as np

        with self._database.now() as at:
            return at.vectors(ids) if at is not None else (np.empty(0, np.int64), np.empty((0, 0), np.float32))

    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors, shape (dimension,), of those of the texts that are embedded already and intact."""
        with self._database.now() as at:
            return at.by_hash(list(dict.fromkeys(hashes))) if at is not None and hashes else {}

    def replace(
        self,
        embedder: EmbedderIdentity,
        batches: Iterable[
            tuple[Sequence[int] | NDArray[np.int64], NDArray[np.float32], Mapping[bytes, NDArray[np.uint8]]]
        ],
    ) -> None:
        """Replace the vectors of all passages with those of another embedder, in one transaction.

        `batches` are (ids, unit rows of shape (len(ids), embedder.dimension), float32, token vectors by the
        hash of their text) and are read one by one. Raises RagScienceError unless each passage gets one.
        """

        def act(change: Change) -> None:
            listing, done = change.before.listing, set[int]()
            change.begin_vectors(embedder.dimension)
            for ids, vectors, tokens in batches:
                check_vectors(vectors, len(ids), embedder.dimension)
                numbers = [int(one) for one in ids]
                if any(listing.paper_of(one) is None for one in numbers):
                    raise RagScienceError(
                        "A vector came for a passage that the library does not have.", "Run it again."
                    )
                change.put_vectors(numbers, vectors, tokens)
                done.update(numbers)
            total = change.state.chunks
            if len(done) != total:
                raise RagScienceError(f"{total - len(done)} of {total} passages got no new vector.", "Run it again.")
            change.note(embedder=embedder, version=change.state.version + 1)

        self._database.changed(act)
