"""Which passages the papers of a library in LanceDB have: each paper those of one range of ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from ragscience.library.generations import Snapshot
from ragscience.library.library_damage import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["chunk_ids", "note_lost", "paper_spans", "papers_of"]


def chunk_ids(at: Snapshot, paper_ids: Iterable[int] | None = None) -> NDArray[np.int64]:
    """The ids of all passages, or of those of some papers, ascending, int64; computed from the papers' ranges."""
    import numpy as np

    if paper_ids is None:
        return at.once("passages", lambda: _within(*paper_spans(at)[:2]))
    papers = at.papers()
    rows = sorted((papers[one]["first_chunk"], papers[one]["chunks"]) for one in set(paper_ids) if one in papers)
    return _within(*np.array(rows, np.int64).reshape(-1, 2).T)


def _within(firsts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of these ranges, one after the other; do not change them."""
    import numpy as np

    found: NDArray[np.int64] = np.repeat(firsts - (np.cumsum(sizes) - sizes), sizes)
    found += np.arange(found.size)
    found.flags.writeable = False
    return found


def paper_spans(at: Snapshot) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(first passage, number of passages, id) of each paper, by first passage; shape (papers,), int64."""
    return at.once("spans", lambda: _spans(at))


def _spans(at: Snapshot) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    import numpy as np

    rows = [(row["first_chunk"], row["chunks"], paper_id) for paper_id, row in at.papers().items()]
    firsts, sizes, papers = np.array(sorted(rows), np.int64).reshape(-1, 3).T
    return firsts, sizes, papers


def papers_of(at: Snapshot, ids: Sequence[int]) -> list[int]:
    """The paper of each of these passages, which the library has."""
    import numpy as np

    firsts, _, papers = paper_spans(at)
    found: list[int] = papers[np.searchsorted(firsts, np.array(ids, np.int64), side="right") - 1].tolist()
    return found


def note_lost(at: Snapshot, kind: Kind, ids: Collection[int]) -> None:
    """Note that a paper of the library claims these passages, whose rows are damaged or lost."""
    if ids:
        for paper_id, row in at.papers().items():
            first = row["first_chunk"]
            if lost := {one for one in ids if first <= one < first + row["chunks"]}:
                at.note(kind, paper_id, lost)
