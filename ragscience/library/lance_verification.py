"""Whether the tables of a library in LanceDB are what was written, and agree: each passage with its page."""

from __future__ import annotations

from ragscience.library.generations import Snapshot
from ragscience.library.passage_spans import chunk_ids, note_lost
from ragscience.library.passage_vectors import read_vectors
from ragscience.library.vectors import NORM_TOLERANCE

__all__ = ["verify"]

_PAPERS_AT_ONCE = 50


def verify(at: Snapshot) -> None:
    """Read every row and note those that are damaged or lost. Raises LibraryDamaged, RagScienceError."""
    import numpy as np

    papers = at.papers()
    for role in at.state.tables:  # a library without papers has them too
        at.table(role)
    at.checked_rows("papers", "", "parts_checksum")
    ids, vectors = read_vectors(at, None)
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    usable = ids[np.abs(norms - 1) <= NORM_TOLERANCE]
    note_lost(at, "vector", set(np.setdiff1d(chunk_ids(at), usable).tolist()))
    for role in ("graph", "sources"):
        at.checked_rows(role)
    numbers = list(papers)
    for first in range(0, len(numbers), _PAPERS_AT_ONCE):
        _verify_papers(at, numbers[first : first + _PAPERS_AT_ONCE])


def _verify_papers(at: Snapshot, numbers: list[int]) -> None:
    """Hold the pages, passages and token vectors of some papers against each other and what was written."""
    where = f"paper_id BETWEEN {numbers[0]} AND {numbers[-1]}"
    pages: dict[int, dict[int, dict[str, object]]] = {number: {} for number in numbers}
    for row in at.checked_rows("pages", where):
        pages.get(row["paper_id"], {})[row["number"]] = row
    for paper_id, found in pages.items():
        lost = set(range(1, at.papers()[paper_id]["pages"] + 1)) - found.keys()
        if lost:
            at.note("page", paper_id, lost)
    passages = at.checked_rows("passages", where)
    note_lost(at, "passage", set(chunk_ids(at, numbers).tolist()) - {row["chunk_id"] for row in passages})
    for row in passages:
        if not _is_on_its_pages(row, pages.get(row["paper_id"], {})):
            at.note("passage", row["paper_id"], [row["chunk_id"]])
    at.checked_rows("tokens", where)


def _is_on_its_pages(row: dict[str, object], pages: dict[int, dict[str, object]]) -> bool:
    """Whether the passage's text is that of its pages, where these have it."""
    start, text = int(str(row["start"])), str(row["text"])
    for number in range(int(str(row["page_start"])), int(str(row["page_end"])) + 1):
        page = pages.get(number)
        if page is None:  # which is noted by itself
            continue
        first = int(str(page["start"]))
        low, high = max(start, first), min(int(str(row["end"])), int(str(page["end"])))
        if low < high and text[low - start : high - start] != str(page["text"])[low - first : high - first]:
            return False
    return True
