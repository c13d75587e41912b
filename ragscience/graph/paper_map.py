"""Similar papers: the mean of each paper's passage vectors, and its nearest neighbours by cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragscience.core.records import Filters, Paper

if TYPE_CHECKING:
    from ragscience.library.store import Store


NEIGHBOURS, LEAST_COSINE = 3, 0.3
"""Most similar papers that each paper is joined to, and their least cosine (the graph guide)."""


@dataclass(frozen=True, slots=True)
class PaperEdge:
    """Two similar papers; `source` and `target` are indices into `PaperMap.papers`, `source` the smaller one."""

    source: int
    target: int
    weight: float
    """Cosine of their means, -1 to 1."""


@dataclass(frozen=True)
class PaperMap:
    """Papers and their mean vectors."""

    papers: tuple[Paper, ...]
    """Those with passages, by file."""
    means: NDArray[np.float32]
    """The mean of each paper's passage vectors, of length 1: shape (papers, dimension), float32."""
    ids: NDArray[np.int64]
    """Ids of the passages, ascending, shape (passages,), int64."""
    vectors: NDArray[np.float32]
    """Vectors of the passages, unit rows, shape (passages, dimension), float32."""
    owners: NDArray[np.int64]
    """The index of each passage's paper in `papers`, shape (passages,), int64."""
    is_prose: NDArray[np.bool_]
    """Whether each passage is no list of references, shape (passages,)."""

    def related(self, place: int, count: int) -> list[tuple[Paper, float]]:
        """The nearest other papers of the one at index `place`, each with its cosine, the nearest first."""
        return [(self.papers[other], cosine) for other, cosine in nearest(self.means, count, [place])[0]]

    def closest_passages(self, first: int, second: int) -> tuple[int, int]:
        """Ids of the two passages, one of each of two papers, whose vectors are nearest to each other.

        Lists of references only where a paper has nothing else.
        """
        mine, theirs = self._passages(first), self._passages(second)
        cosines = self.vectors[mine] @ self.vectors[theirs].T
        row, column = np.unravel_index(int(cosines.argmax()), cosines.shape)
        return int(self.ids[mine[row]]), int(self.ids[theirs[column]])

    def _passages(self, place: int) -> NDArray[np.int64]:
        its = self.owners == place
        return np.flatnonzero(its & self.is_prose if (its & self.is_prose).any() else its)


def paper_map(library: Store) -> PaperMap:
    """The papers of a library with their means, from one generation."""
    with library.snapshot():
        papers = library.papers()
        ids, vectors = library.vectors.of()
        owner_of = papers_of_passages(library)
        prose = library.select(Filters())
    place = {paper.paper_id: index for index, paper in enumerate(papers)}
    owners = np.fromiter((place.get(owner_of.get(number, -1), -1) for number in ids.tolist()), np.int64, len(ids))
    if (owners < 0).any():  # of damaged papers
        known = owners >= 0
        ids, vectors, owners = ids[known], vectors[known], owners[known]
    present = np.unique(owners)
    sums = np.zeros((len(papers), vectors.shape[1]), np.float64)
    np.add.at(sums, owners, vectors)
    lengths = np.linalg.norm(sums[present], axis=1, keepdims=True)
    means = np.ascontiguousarray(sums[present] / np.where(lengths > 0, lengths, 1), np.float32)
    kept = tuple(papers[index] for index in present.tolist())
    is_prose = np.ones(len(ids), np.bool_) if prose is None else np.isin(ids, prose)
    return PaperMap(kept, means, ids, vectors, np.searchsorted(present, owners).astype(np.int64), is_prose)


def papers_of_passages(library: Store) -> dict[int, int]:
    """The paper id of each passage, by the passage's id; those of damaged papers are left out."""
    papers = {paper.md5[:12]: paper.paper_id for paper in library.papers()}
    named = ((chunk, name.partition("#")[0]) for chunk, name in library.graph.stable_ids().items())
    return {chunk: papers[name] for chunk, name in named if name in papers}


def nearest(means: NDArray[np.float32], count: int, rows: Sequence[int]) -> list[list[tuple[int, float]]]:
    """For each of `rows` of `means` its `count` nearest other rows with their cosines, nearest first.

    Exact, by FAISS; `means` are float32 unit rows of shape (n, dimension).
    """
    if not len(rows):
        return []
    import faiss

    index = faiss.IndexFlatIP(means.shape[1])
    index.add(means)
    cosines, places = index.search(means[list(rows)], min(count + 1, len(means)))
    both = zip(rows, places.tolist(), np.clip(cosines, -1, 1).tolist(), strict=True)
    return [[pair for pair in zip(near, values, strict=True) if pair[0] != row][:count] for row, near, values in both]


def similarity_edges(means: NDArray[np.float32]) -> list[PaperEdge]:
    """Each paper with its NEIGHBOURS nearest, if their cosine is above LEAST_COSINE, each pair once, in order."""
    weights = {
        (min(place, other), max(place, other)): cosine
        for place, near in enumerate(nearest(means, NEIGHBOURS, range(len(means))))
        for other, cosine in near
        if cosine > LEAST_COSINE
    }
    return [PaperEdge(*pair, weight) for pair, weight in sorted(weights.items())]
