"""Vectors in and out of the database: float32 rows, little-endian, one a passage."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.core.errors import RagScienceError
from ragscience.core.records import EmbedderIdentity
from ragscience.library.sealed_rows import opened, read_state, sealed, write_state
from ragscience.library.snapshots import Snapshot, Snapshots

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.library.token_vectors import Tokens

__all__ = ["NORM_TOLERANCE", "Vectors", "check_vectors", "insert_vectors", "read_vectors", "text_hash"]

_BATCH = 4096
NORM_TOLERANCE = 1e-3
_ANEW = "Rebuild them with `python ingest.py rebuild --embeddings`."


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

    def __init__(self, snapshots: Snapshots, tokens: Tokens) -> None:
        self._snapshots = snapshots
        self._tokens = tokens

    def of(self, ids: Sequence[int] | None = None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(ids, ascending, int64; vectors, shape (n, dimension), float32) of all passages, or of those of `ids`."""
        import numpy as np

        with self._snapshots.now() as at:
            if at is None:
                return np.empty(0, np.int64), np.empty((0, 0), np.float32)
            return read_vectors(at, at.listing.chunk_ids if ids is None else ids)

    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors, shape (dimension,), of those of the texts that are embedded already and intact."""
        import numpy as np

        found: dict[bytes, NDArray[np.float32]] = {}
        wanted = list(dict.fromkeys(hashes))
        with self._snapshots.now() as at:
            for first in range(0, len(wanted) if at is not None else 0, _BATCH):
                batch = wanted[first : first + _BATCH]
                query = (
                    f"SELECT chunk_id, text_hash, row FROM vectors WHERE text_hash IN ({','.join('?' * len(batch))})"  # noqa: S608
                )
                for chunk_id, key, row in at.db.execute(query, batch) if at is not None else ():
                    content = opened(("vector", chunk_id, key), row)
                    if content is not None:
                        found[key] = np.frombuffer(content, "<f4").astype(np.float32)
        return found

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
        with self._snapshots.transactions.writing() as db:
            known, done = dict(db.execute("SELECT chunk_id, text_hash FROM vectors")), set[int]()
            for ids, vectors, tokens in batches:
                self._tokens.append(db, tokens)
                check_vectors(vectors, len(ids), embedder.dimension)
                numbers = [int(one) for one in ids]
                if not known.keys() >= set(numbers):
                    raise RagScienceError(
                        "A vector came for a passage that the library does not have.", "Run it again."
                    )
                insert_vectors(db, numbers, [known[one] for one in numbers], vectors)
                done.update(numbers)
            if len(done) != len(known):
                raise RagScienceError(
                    f"{len(known) - len(done)} of {len(known)} passages got no new vector.", "Run it again."
                )
            state = read_state(db)
            state = replace(state, version=state.version + 1, vectors_epoch=state.vectors_epoch + 1)
            write_state(db, replace(state, embedder=embedder))


def insert_vectors(
    db: sqlite3.Connection, ids: Iterable[int], hashes: Iterable[bytes], vectors: NDArray[np.float32]
) -> None:
    """Write the vectors of passages, with the hashes of their texts."""
    rows = zip(ids, hashes, vectors.astype("<f4", copy=False), strict=True)
    db.executemany(
        "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
        ((one, key, sealed(("vector", one, key), row.tobytes())) for one, key, row in rows),
    )


def read_vectors(at: Snapshot, ids: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(ids ascending, int64; vectors of shape (n, dimension), float32) of those of `ids` that the library has.

    Damaged and lost ones are noted and left out. Raises RagScienceError where a vector has another dimension.
    """
    import numpy as np

    dimension = at.state.dimension
    found = np.empty(len(ids), np.int64)
    vectors = np.empty((len(ids), dimension), np.float32)
    row = 0
    for numbers, contents in _batches(at, ids):
        data = b"".join(contents)
        if len(data) != 4 * dimension * len(numbers):
            raise RagScienceError(f"Some stored vectors are not of dimension {dimension}.", _ANEW)
        found[row : row + len(numbers)] = numbers
        vectors[row : row + len(numbers)] = np.frombuffer(data, "<f4").reshape(len(numbers), dimension)
        row += len(numbers)
    return found[:row], vectors[:row]


def _batches(at: Snapshot, ids: Sequence[int] | NDArray[np.int64]) -> Iterator[tuple[list[int], list[bytes]]]:
    """(ids, vectors as they are kept) of the intact ones, ascending."""
    wanted = sorted({int(one) for one in ids})
    query = (
        "SELECT chunk_id, text_hash, row FROM vectors WHERE chunk_id IN (SELECT value FROM json_each(?))"
        " ORDER BY chunk_id"
    )
    for first in range(0, len(wanted), _BATCH):
        batch = wanted[first : first + _BATCH]
        intact = {}
        for chunk_id, key, row in at.db.execute(query, (json.dumps(batch),)):
            content = opened(("vector", chunk_id, key), row)
            if content is not None and at.listing.paper_of(chunk_id) is not None:
                intact[chunk_id] = content
        if len(intact) < len(batch):
            for chunk_id in set(batch) - intact.keys():
                if (paper := at.listing.paper_of(chunk_id)) is not None:
                    at.damage.note("paper", paper.paper_id)
        yield list(intact), list(intact.values())
