"""Rows of a library in LanceDB by the ids of their passages, without a search for the rows.

Rows are appended in the order of the ids, and no change moves them: where a table has a row for each passage, the n-th
passage of the library is its n-th row. A condition on the ids would be planned, looked up in an index and evaluated,
which takes as long as reading all columns does. What is not found in its place is looked up by a condition.

Of a row only the columns are read that the papers do not tell. Its checksum, of all columns, shows that it is whole and
in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ragscience.library.generations import Snapshot
from ragscience.library.lance_tables import checked_columns, in_list, lance_errors, vector_rows
from ragscience.library.passage_spans import chunk_ids, papers_of
from ragscience.library.row_checksums import row_checksum

__all__ = ["AT_ONCE", "rows_by_id"]

AT_ONCE = 2000
"""Up to this many ids are named in a condition, or looked for in their places; of more the whole column is read."""
_KEPT = 2000
"""Rows of a table that stay in memory: a search needs some of them more than once."""
_TOLD = {"chunk_id", "paper_id", "bytes"}
"""Columns that the papers and the row's content tell."""


def rows_by_id(at: Snapshot, role: str, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """The rows of "passages", "vectors" or "tokens" by id, of those of `ids` that are there and what was written.

    Damaged ones are noted. A vector is its bytes, float32. The rows are kept for the next search: do not change them.
    """
    wanted = list(dict.fromkeys(map(int, ids)))
    kept = at.kept_rows(role)
    found = {one: row for one in wanted if (row := kept.get(one)) is not None}
    missing = sorted(one for one in wanted if one not in found)
    for first in range(0, len(missing), AT_ONCE):
        batch = missing[first : first + AT_ONCE]
        new = _in_their_places(at, role, batch)
        if others := [one for one in batch if one not in new]:
            new |= _by_condition(at, role, others)
        at.keep_rows(role, new, _KEPT)
        found |= new
    return found


def _in_their_places(at: Snapshot, role: str, ids: list[int]) -> dict[int, dict[str, Any]]:
    """Those of the rows of `ids` (ascending) that stand where they are expected and are what was written."""
    import numpy as np

    from ragscience.library.top_scores import places

    table = at.table(role)
    if table is None or not at.state.has_checksums or role in at.out_of_place:
        return {}
    place, inside = places(chunk_ids(at), np.array(ids, np.int64))
    names = [name for name in checked_columns(role) if name not in _TOLD]
    with lance_errors(at.uri):
        # Ascending, as the places are; those behind the end are left out.
        table = table.take_offsets(place.tolist()).select([*names, "checksum"]).to_arrow() if place.size else None
        rows = list(_as_rows(table, at.state.dimension)) if table is not None else []
    ids = np.array(ids, np.int64)[inside].tolist()
    found = {}
    for one, paper_id, row in zip(ids, papers_of(at, ids), rows, strict=False):
        whole = {"chunk_id": one, "paper_id": paper_id, **row}
        if role == "tokens":
            whole["bytes"] = len(row["tokens"])
        if row_checksum(*map(whole.__getitem__, checked_columns(role))) == whole.pop("checksum"):
            found[one] = whole
    if len(found) < len(rows) / 2:  # token vectors that are kept for some passages, or came later
        at.out_of_place.add(role)
    return found


def _by_condition(at: Snapshot, role: str, ids: list[int]) -> dict[int, dict[str, Any]]:
    """The rows of `ids` that are what was written, wherever they stand."""
    where = in_list("chunk_id", ids)
    if role == "vectors":
        names = [*checked_columns(role), *(["checksum"] if at.state.has_checksums else [])]
        rows = at.intact(role, _as_rows(at.arrow(role, names, where), at.state.dimension))
    else:
        rows = at.checked_rows(role, where)
    return {row["chunk_id"]: row for row in rows}


def _as_rows(table: Any, dimension: int) -> Iterator[dict[str, Any]]:
    """The rows of an Arrow table; a vector as its bytes."""
    if "vector" not in table.column_names:
        yield from table.to_pylist()
        return
    vectors = vector_rows(table, dimension)
    for row, vector in zip(table.drop_columns(["vector"]).to_pylist(), vectors, strict=True):
        yield {**row, "vector": vector.tobytes()}
