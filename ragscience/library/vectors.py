"""Vectors in and out of the database: float32 rows, little-endian, one blob a chunk."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ragscience.core.errors import RagScienceError
from ragscience.library.library_damage import lost_passages, note_passages
from ragscience.library.row_checksums import row_checksum, seal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "NORM_TOLERANCE",
    "check_vectors",
    "read_vectors",
    "replace_vectors",
    "text_hash",
    "vector_batches",
    "vectors_by_hash",
]

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


def vector_batches(
    db: sqlite3.Connection, dimension: int, ids: Sequence[int] | NDArray[np.int64] | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """(ids ascending, int64; vectors of shape (n, dimension), float32) in batches, of all chunks or those of `ids`.

    Unknown ids are left out, and damaged vectors, which are noted. Raises RagScienceError where a vector has another
    dimension.
    """
    import numpy as np

    where, values = "", []
    if ids is not None:
        where = "WHERE chunk_id IN (SELECT value FROM json_each(?))"
        values.append(json.dumps([int(chunk_id) for chunk_id in ids]))
    query = f"SELECT chunk_id, text_hash, vector, checksum FROM vectors {where} ORDER BY chunk_id"  # noqa: S608  # bound
    cursor = db.execute(query, values)
    count = 0
    while rows := cursor.fetchmany(_BATCH):
        batch = [(row[0], row[2]) for row in rows if row_checksum(*row[:3]) == row[3]]
        if len(batch) < len(rows):
            note_passages(db, "vector", sorted({row[0] for row in rows} - {chunk_id for chunk_id, _ in batch}))
        count += len(rows)
        if not batch:
            continue
        numbers, blobs = zip(*batch, strict=True)
        data = b"".join(blobs)
        if len(data) != 4 * dimension * len(batch):
            raise RagScienceError(f"Some stored vectors are not of dimension {dimension}.", _ANEW)
        vectors = np.frombuffer(data, "<f4").reshape(len(batch), dimension)
        yield np.array(numbers, np.int64), vectors.astype(np.float32, copy=False)
    if ids is not None and count < len(ids):
        _note_lost(db, ids)


def _note_lost(db: sqlite3.Connection, ids: Sequence[int] | NDArray[np.int64]) -> None:
    """Note those of `ids` without a vector that the library has."""
    known = {chunk_id for (chunk_id,) in db.execute("SELECT chunk_id FROM vectors")}
    note_passages(db, "vector", lost_passages(db, (int(chunk_id) for chunk_id in ids if int(chunk_id) not in known)))


def read_vectors(
    db: sqlite3.Connection, dimension: int, ids: Sequence[int] | NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The same as `vector_batches`, in one piece."""
    import numpy as np

    (count,) = db.execute("SELECT COUNT(*) FROM vectors").fetchone() if ids is None else (len(ids),)
    found = np.empty(count, np.int64)
    vectors = np.empty((count, dimension), np.float32)
    row = 0
    for numbers, batch in vector_batches(db, dimension, ids):
        found[row : row + len(numbers)] = numbers
        vectors[row : row + len(numbers)] = batch
        row += len(numbers)
    return found[:row], vectors[:row]


def vectors_by_hash(
    db: sqlite3.Connection, dimension: int, hashes: Sequence[bytes]
) -> dict[bytes, NDArray[np.float32]]:
    """The vectors, shape (dimension,), float32, of the texts among `hashes` that are embedded already and intact."""
    import numpy as np

    found: dict[bytes, NDArray[np.float32]] = {}
    wanted = list(dict.fromkeys(hashes))
    for first in range(0, len(wanted), 500):
        batch = wanted[first : first + 500]
        marks = ",".join("?" * len(batch))
        query = f"SELECT chunk_id, text_hash, vector, checksum FROM vectors WHERE text_hash IN ({marks})"  # noqa: S608
        for chunk_id, key, blob, checksum in db.execute(query, batch):
            if len(blob) == 4 * dimension and row_checksum(chunk_id, key, blob) == checksum:
                found[key] = np.frombuffer(blob, "<f4").astype(np.float32)
    return found


def replace_vectors(
    db: sqlite3.Connection,
    dimension: int,
    batches: Iterable[tuple[Sequence[int] | NDArray[np.int64], NDArray[np.float32]]],
) -> None:
    """Replace the vector of every chunk. Raises RagScienceError unless each chunk gets exactly one."""
    done: set[int] = set()
    for ids, vectors in batches:
        check_vectors(vectors, len(ids), dimension)
        numbers = [int(chunk_id) for chunk_id in ids]
        rows = vectors.astype("<f4", copy=False)
        cursor = db.executemany(
            "UPDATE vectors SET vector = ? WHERE chunk_id = ?",
            ((row.tobytes(), number) for row, number in zip(rows, numbers, strict=True)),
        )
        if cursor.rowcount != len(numbers):
            raise RagScienceError("A vector came for a passage that the library does not have.", "Run it again.")
        done.update(numbers)
    seal(db, "vectors")
    (count,) = db.execute("SELECT COUNT(*) FROM vectors").fetchone()
    if len(done) != count:
        raise RagScienceError(f"{count - len(done)} of {count} passages got no new vector.", "Run it again.")
