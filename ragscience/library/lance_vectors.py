"""Vectors and token vectors of a library in LanceDB made again, and libraries of an earlier format written anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ragscience.core.errors import RagScienceError
from ragscience.core.records import EmbedderIdentity
from ragscience.library.changes import Change
from ragscience.library.generations import FORMAT, Snapshot
from ragscience.library.lance_contents import kept_codes
from ragscience.library.lance_database import LanceDatabase
from ragscience.library.lance_tables import columns_of, in_list
from ragscience.library.vectors import check_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["bring_up_to_date", "put_tokens", "replace_vectors"]

_PAPERS_AT_ONCE = 100


def replace_vectors(
    change: Change,
    embedder: EmbedderIdentity,
    batches: Iterable[tuple[Sequence[int] | NDArray[np.int64], NDArray[np.float32], Mapping[bytes, NDArray[np.uint8]]]],
) -> None:
    """Write the vectors of all passages into a new table. Raises RagScienceError unless each gets exactly one."""
    before = {
        row["chunk_id"]: (row["paper_id"], row["text_hash"])
        for row in change.before.rows("vectors", ["chunk_id", "paper_id", "text_hash"])
    }
    change.new_table("vectors", f"vectors_{uuid4().hex}", embedder.dimension)
    change.note(embedder=asdict(embedder))
    done: set[int] = set()
    for ids, vectors, tokens in batches:
        check_vectors(vectors, len(ids), embedder.dimension)
        numbers = [int(chunk_id) for chunk_id in ids]
        if not before.keys() >= set(numbers):
            raise RagScienceError("A vector came for a passage that the library does not have.", "Run it again.")
        change.append("vectors", [(one, *before[one], row) for one, row in zip(numbers, vectors, strict=True)])
        if tokens:
            _put(change, {one: before[one] for one in numbers}, tokens)
        done.update(numbers)
    if len(done) != len(before):
        text = f"{len(before) - len(done)} of {len(before)} passages got no new vector."
        raise RagScienceError(text, "Run it again.")
    change.bump("vectors_epoch", "generation")


def put_tokens(change: Change, tokens: Mapping[bytes, NDArray[np.uint8]]) -> None:
    """Keep token vectors for each passage whose text has that hash, in place of those that it had."""
    rows = change.before.rows("vectors", ["chunk_id", "paper_id", "text_hash"], in_list("text_hash", tokens))
    _put(change, {row["chunk_id"]: (row["paper_id"], row["text_hash"]) for row in rows}, tokens)


def bring_up_to_date(database: LanceDatabase) -> None:
    """Write the rows of an earlier format anew, with checksums and token vectors as codes, in one change."""
    with database.reading() as at:
        is_older = at is not None and not at.state.has_checksums
    if is_older:
        with database.writing() as change:
            _write_anew(change)


def _write_anew(change: Change) -> None:
    before = change.before
    papers = list(before.papers())
    tables = {role: name for role, (name, _) in before.state.tables.items()}
    for role in tables:
        change.new_table(role, f"{role}_{uuid4().hex}", before.state.dimension)
    change.note(format=FORMAT, token_bytes=0)
    change.append("sources", _rows(before, "sources", ""))
    for first in range(0, len(papers), _PAPERS_AT_ONCE):
        where = in_list("paper_id", papers[first : first + _PAPERS_AT_ONCE])
        for role in tables.keys() - {"sources", "tokens"}:
            change.append(role, _rows(before, role, where))
        rows = []
        for chunk_id, paper_id, _, tokens in _rows(before, "tokens", where):
            content = kept_codes(tokens, is_int8=before.state.has_int8_tokens).tobytes()
            rows.append((chunk_id, paper_id, len(content), content))
        change.append("tokens", rows)
        change.note(token_bytes=change.state.token_bytes + sum(size for _, _, size, _ in rows))


def _rows(before: Snapshot, role: str, where: str) -> list[list[Any]]:
    """The rows that a condition fits, their values in the order of the columns."""
    import numpy as np

    names = columns_of(role)
    rows = [[row[name] for name in names] for row in before.rows(role, names, where)]
    if role == "vectors":
        rows = [[*row[:-1], np.asarray(row[-1], np.float32)] for row in rows]
    return rows


def _put(change: Change, passages: Mapping[int, tuple[int, bytes]], tokens: Mapping[bytes, NDArray[np.uint8]]) -> None:
    where = in_list("chunk_id", passages)
    sizes = change.before.arrow("tokens", ["bytes"], where)["bytes"].to_pylist()
    change.delete("tokens", where)
    rows = [
        (chunk_id, paper_id, tokens[key].nbytes, tokens[key].tobytes())
        for chunk_id, (paper_id, key) in passages.items()
        if key in tokens
    ]
    change.append("tokens", rows)
    change.note(token_bytes=change.state.token_bytes - sum(sizes) + sum(size for _, _, size, _ in rows))
