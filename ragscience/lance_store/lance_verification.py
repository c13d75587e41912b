"""Whether the tables of a library in LanceDB agree: each passage with its page, each vector with its passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragscience.lance_store.generations import Snapshot
from ragscience.lance_store.lance_contents import chunk_ids, read_vectors
from ragscience.records import Paper
from ragscience.store.vectors import NORM_TOLERANCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["verify"]

_COLUMNS = ["chunk_id", "start", "end", "page_start", "page_end", "text"]


def verify(at: Snapshot, papers: Sequence[Paper]) -> list[tuple[str, str]]:
    """(what is damaged, what repairs it), a line for each paper; reads all but the token vectors."""
    import numpy as np

    ids, vectors = read_vectors(at, None)
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    good = np.abs(norms - 1) <= NORM_TOLERANCE
    return [found for paper in papers if (found := _of_paper(at, paper, ids[good]))]


def _of_paper(at: Snapshot, paper: Paper, usable: NDArray[np.int64]) -> tuple[str, str] | None:
    import numpy as np

    wanted = chunk_ids(at, [paper.paper_id])
    where = f"paper_id = {paper.paper_id}"
    pages = {row["number"]: row for row in at.rows("pages", ["number", "start", "end", "text"], where)}
    passages = at.rows("passages", _COLUMNS, where)
    faults = []
    if len(pages) != paper.pages:
        faults.append(f"{paper.pages - len(pages)} of its pages are missing")
    lost = np.setdiff1d(wanted, [row["chunk_id"] for row in passages]).size
    if lost:
        faults.append(f"{lost} of its passages are missing")
    unlike = sum(not _is_on_its_pages(row, pages) for row in passages)
    if unlike:
        faults.append(f"{unlike} of its passages are not what its pages say")
    unusable = np.setdiff1d(wanted, usable).size
    if unusable:
        faults.append(f"{unusable} of its vectors are missing or not of length 1")
    if not faults:
        return None
    return f"{paper.file} is damaged: {', '.join(faults)}.", f"`python ingest.py rebuild {paper.file}` reads it again."


def _is_on_its_pages(row: dict[str, object], pages: dict[int, dict[str, object]]) -> bool:
    """Whether the passage's text is that of its pages, where these have it."""
    start, text = int(str(row["start"])), str(row["text"])
    for number in range(int(str(row["page_start"])), int(str(row["page_end"])) + 1):
        page = pages.get(number)
        if page is None:
            return False
        first = int(str(page["start"]))
        low, high = max(start, first), min(int(str(row["end"])), int(str(page["end"])))
        if low < high and text[low - start : high - start] != str(page["text"])[low - first : high - first]:
            return False
    return True
