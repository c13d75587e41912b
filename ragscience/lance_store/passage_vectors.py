"""The vectors of a library in LanceDB, held against their checksums, and which passages its papers have."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from ragscience.lance_store.generations import Snapshot
from ragscience.lance_store.lance_tables import checked_columns, in_list
from ragscience.store.library_damage import Kind
from ragscience.store.row_checksums import row_checksum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "AT_ONCE",
    "checked_vectors",
    "chunk_ids",
    "note_lost",
    "paper_spans",
    "read_vectors",
    "vector_columns",
    "vectors_of",
]

AT_ONCE = 2000
"""Up to this many ids are named in a condition; of more the whole column is read."""


def chunk_ids(at: Snapshot, paper_ids: Iterable[int] | None = None) -> NDArray[np.int64]:
    """The ids of all passages, or of those of some papers, ascending, int64; computed from the papers' ranges."""
    import numpy as np

    papers = at.papers()
    wanted = papers.values() if paper_ids is None else [papers[one] for one in sorted(paper_ids) if one in papers]
    spans = [np.arange(row["first_chunk"], row["first_chunk"] + row["chunks"], dtype=np.int64) for row in wanted]
    found = np.concatenate(spans) if spans else np.empty(0, np.int64)
    found.sort()
    return found


def paper_spans(at: Snapshot) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(first passage, number of passages, id) of each paper, by first passage; shape (papers,), int64."""
    import numpy as np

    rows = [(row["first_chunk"], row["chunks"], paper_id) for paper_id, row in at.papers().items()]
    firsts, sizes, papers = np.array(sorted(rows), np.int64).reshape(-1, 3).T
    return firsts, sizes, papers


def read_vectors(at: Snapshot, ids: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(ids, ascending, int64; vectors, shape (n, dimension), float32) of all passages, or of those of `ids`.

    Those that are not what was written are noted and left out.
    """
    import numpy as np

    where = in_list("chunk_id", np.unique(ids).tolist()) if ids is not None and ids.size <= AT_ONCE else ""
    found = checked_vectors(at, at.arrow("vectors", vector_columns(at), where))
    keys = found["chunk_id"].to_numpy()
    rows = vectors_of(found, at.state.dimension)
    order = np.argsort(keys)
    if ids is not None and not where:
        order = order[np.isin(keys[order], ids)]
    return keys[order], rows[order]


def vector_columns(at: Snapshot) -> list[str]:
    """The columns of a row of vectors, with its checksum where it has one."""
    return [*checked_columns("vectors"), *(["checksum"] if at.state.has_checksums else [])]


def checked_vectors(at: Snapshot, found: Any) -> Any:
    """The rows of an Arrow table with `vector_columns` that are what was written; the others are noted."""
    found = found.combine_chunks()
    if not at.state.has_checksums:
        return found
    vectors = vectors_of(found, at.state.dimension)
    names = ("chunk_id", "paper_id", "text_hash", "checksum")
    columns = zip(*(found[name].to_pylist() for name in names), strict=True)
    good = []
    for (chunk_id, paper_id, key, written), vector in zip(columns, vectors, strict=True):
        good.append(row_checksum(chunk_id, paper_id, key, vector.tobytes()) == written)
        if not good[-1]:
            at.note("vector", paper_id, [chunk_id])
    return found if all(good) else found.filter(good)


def note_lost(at: Snapshot, kind: Kind, ids: Collection[int]) -> None:
    """Note that a paper of the library claims these passages, whose rows are damaged or lost."""
    if ids:
        for paper_id, row in at.papers().items():
            first = row["first_chunk"]
            if lost := {one for one in ids if first <= one < first + row["chunks"]}:
                at.note(kind, paper_id, lost)


def vectors_of(found: Any, dimension: int) -> NDArray[np.float32]:
    """The column of vectors of an Arrow table, shape (rows, dimension), float32."""
    import numpy as np

    column = found["vector"].combine_chunks()
    flat = column.flatten() if found.num_rows else None
    return np.empty((0, dimension), np.float32) if flat is None else flat.to_numpy().reshape(-1, dimension)
