"""Papers into and out of the tables of a library in LanceDB, each within a change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ragscience.errors import RagScienceError
from ragscience.lance_store.generations import Change
from ragscience.lance_store.lance_contents import chunk_ids
from ragscience.lance_store.lance_tables import in_list, schema_of
from ragscience.store.library_writes import NewPaper, chunk_rows, hashes_of, page_rows

__all__ = ["append_paper", "remove_papers", "rename_papers"]


def append_paper(change: Change, new: NewPaper, columns: Mapping[str, Any]) -> None:
    """Append the rows of a paper to the tables of the change."""
    state, paper_id, first = change.state, columns["paper_id"], columns["first_chunk"]
    names = schema_of("papers").names
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
    sizes = change.before.arrow("tokens", ["bytes"], where)["bytes"].to_pylist()
    for role in ("papers", "pages", "passages", "vectors", "tokens"):
        change.delete(role, where)
    if change.delete("graph", where):
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
    names = schema_of("papers").names
    rows = change.before.rows("papers", names, in_list("paper_id", moves))
    change.delete("papers", in_list("paper_id", moves))
    for row in rows:
        path, modified = moves[row["paper_id"]]
        name = os.path.basename(path)  # noqa: PTH119  # bytes, which pathlib does not take
        row.update(path=path, name=name, modified_ns=modified)
    change.append("papers", [[row[column] for column in names] for row in rows])
    change.added_papers += rows
