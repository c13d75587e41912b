"""The vectors of a library in LanceDB, held against their checksums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragscience.library.generations import Snapshot
from ragscience.library.lance_tables import checked_columns, vector_rows
from ragscience.library.row_checksums import row_checksum
from ragscience.library.rows_by_id import AT_ONCE, rows_by_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["read_vectors", "vectors_by_hash"]


def read_vectors(at: Snapshot, ids: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(ids, ascending, int64; vectors, shape (n, dimension), float32) of all passages, or of those of `ids`.

    Those that are not what was written are noted and left out.
    """
    import numpy as np

    if ids is None or ids.size > AT_ONCE:
        found = _intact(at, at.arrow("vectors", _columns(at)))
        keys = found["chunk_id"].to_numpy()
        rows = vector_rows(found, at.state.dimension)
        order = np.argsort(keys)
        if ids is not None:
            order = order[np.isin(keys[order], ids)]
        return keys[order], rows[order]
    by_id = rows_by_id(at, "vectors", ids.tolist())
    keys = np.array(sorted(by_id), np.int64)
    flat = b"".join(by_id[one]["vector"] for one in keys.tolist())
    return keys, np.frombuffer(flat, np.float32).reshape(-1, at.state.dimension)


def vectors_by_hash(at: Snapshot, where: str) -> dict[bytes, NDArray[np.float32]]:
    """The vectors, shape (dimension,), of the rows that a condition fits, by the hash of their texts."""
    import numpy as np

    found = _intact(at, at.arrow("vectors", _columns(at), where))
    rows = vector_rows(found, at.state.dimension)
    return {key: np.array(row) for key, row in zip(found["text_hash"].to_pylist(), rows, strict=True)}


def _columns(at: Snapshot) -> list[str]:
    """The columns of a row of vectors, with its checksum where it has one."""
    return [*checked_columns("vectors"), *(["checksum"] if at.state.has_checksums else [])]


def _intact(at: Snapshot, found: Any) -> Any:
    """The rows of an Arrow table with `_columns` that are what was written; the others are noted."""
    found = found.combine_chunks()
    if not at.state.has_checksums:
        return found
    vectors = vector_rows(found, at.state.dimension)
    names = ("chunk_id", "paper_id", "text_hash", "checksum")
    columns = zip(*(found[name].to_pylist() for name in names), strict=True)
    good = []
    for (chunk_id, paper_id, key, written), vector in zip(columns, vectors, strict=True):
        good.append(row_checksum(chunk_id, paper_id, key, vector.tobytes()) == written)
        if not good[-1]:
            at.note("vector", paper_id, [chunk_id])
    return found if all(good) else found.filter(good)
