"""Papers into and out of the tables of a library in LanceDB, each within a change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ragscience.core.errors import RagScienceError
from ragscience.library.changes import Change
from ragscience.library.lance_tables import columns_of, in_list
from ragscience.library.library_writes import NewPaper, chunk_rows, hashes_of, page_rows
from ragscience.library.passage_spans import chunk_ids

__all__ = ["append_paper", "remove_papers", "rename_papers"]


_NO_PARTS = {"sketch": b"", "elements": b""}
"""Of a paper whose large columns are damaged: they stay so."""


def append_paper(change: Change, new: NewPaper, columns: Mapping[str, Any]) -> None:
    """Append the rows of a paper to the tables of the change."""
    state, paper_id, first = change.state, columns["paper_id"], columns["first_chunk"]
    names = columns_of("papers")
    change.append("papers", [[columns[name] for name in names]])
    change.append("pages", page_rows(new.document, paper_id))
    change.append("passages", chunk_rows(new, paper_id, first))
    hashes = hashes_of(new)
    change.append("vectors", [(first + row, paper_id, key, new.vectors[row]) for row, key in enumerate(hashes)])
    kept = new.tokens or {}
    tokens = [
        (first + row, paper_id, kept[key].nbytes, kept[key].tobytes()) for row, key in enumerate(hashes) if key in kept
    ]
    change.append("tokens", tokens)
    change.added_papers.append({name: columns[name] for name in names if name not in ("sketch", "elements")})
    change.note(
        next_paper=paper_id + 1,
        next_chunk=first + len(new.chunks),
        papers=state.papers + 1,
        chunks=state.chunks + len(new.chunks),
        token_bytes=state.token_bytes + sum(size for _, _, size, _ in tokens),
    )


def remove_papers(change: Change, ids: Sequence[int]) -> int:
    """Remove papers with all their rows; returns how many there were."""
    papers = change.before.papers()
    gone = [int(paper_id) for paper_id in ids if int(paper_id) in papers]
    if not gone:
        return 0
    where = in_list("paper_id", gone)
    # Also those whose paper is not what was written, by their own ids.
    spans = [f"chunk_id BETWEEN {row['first_chunk']} AND {row['first_chunk'] + row['chunks'] - 1}" for row in
             map(papers.__getitem__, gone)]  # fmt: skip
    theirs = " OR ".join([where, *spans])
    sizes = change.before.arrow("tokens", ["bytes"], theirs)["bytes"].to_pylist()
    for role in ("papers", "pages"):
        change.delete(role, where)
    for role in ("passages", "vectors", "tokens"):
        change.delete(role, theirs)
    if change.delete("graph", theirs):
        change.bump("graph_generation")
    change.gone_papers.update(gone)
    state = change.state
    change.note(
        papers=state.papers - len(gone),
        chunks=state.chunks - int(chunk_ids(change.before, gone).size),
        token_bytes=state.token_bytes - sum(sizes),
    )
    return len(gone)


def rename_papers(change: Change, moves: Mapping[int, tuple[bytes, int]]) -> None:
    """Give the papers, by id, their (path as kept, mtime in ns); one whose path another takes is removed.

    Raises RagScienceError for an unknown id.
    """
    papers = change.before.papers()
    unknown = moves.keys() - papers.keys()
    if unknown:
        text = f"The library has no paper with the id {min(unknown)}."
        raise RagScienceError(text, "Run `python ingest.py sync`.")
    targets = {path for path, _ in moves.values()}
    remove_papers(change, [one for one, row in papers.items() if row["path"] in targets and one not in moves])
    names = columns_of("papers")
    which = in_list("paper_id", moves)
    large = {row["paper_id"]: row for row in change.before.checked_rows("papers", which, "parts_checksum")}
    rows = [row | large.get(row["paper_id"], _NO_PARTS) for row in change.before.checked_rows("papers", which)]
    change.delete("papers", which)
    for row in rows:
        path, modified = moves[row["paper_id"]]
        name = os.path.basename(path)  # noqa: PTH119  # bytes, which pathlib does not take
        row.update(path=path, name=name, modified_ns=modified)
    change.append("papers", [[row[column] for column in names] for row in rows])
    change.added_papers += rows
