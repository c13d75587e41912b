"""Which papers are alike: the graph guide's worked example, and the neighbours against brute force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragscience.graph.paper_map import nearest, similarity_edges

GUIDE = np.array(
    [
        [1.0, 0.85, 0.72, 0.68, 0.55],
        [0.85, 1.0, 0.78, 0.71, 0.62],
        [0.72, 0.78, 1.0, 0.81, 0.70],
        [0.68, 0.71, 0.81, 1.0, 0.75],
        [0.55, 0.62, 0.70, 0.75, 1.0],
    ]
)
"""The similarities of the guide's five papers; rows of its Cholesky factor are unit vectors that have them."""


def unit(rows):
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


GUIDE_EDGES = {
    (1, 2): 0.85, (1, 3): 0.72, (1, 4): 0.68, (2, 3): 0.78, (2, 4): 0.71, (3, 4): 0.81, (3, 5): 0.70, (4, 5): 0.75,
}  # fmt: skip
FORGOTTEN = {(2, 5): 0.62}
"""The third neighbour of its Paper5, which the guide lists as such, above its threshold, and then leaves out."""


def test_five_papers_of_the_guide_have_its_eight_edges_and_the_one_it_forgot():
    edges = similarity_edges(np.ascontiguousarray(np.linalg.cholesky(GUIDE), np.float32))
    found = {(one + 1, other + 1): round(cosine, 4) for one, other, cosine in edges}
    assert found == GUIDE_EDGES | FORGOTTEN
    assert list(found) == sorted(found)
    assert len(found) == len(edges)


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 10_000))
def test_neighbours_are_those_of_brute_force(count, wanted, seed):
    means = unit(np.random.default_rng(seed).normal(size=(count, 6)))
    matrix = means @ means.T
    np.fill_diagonal(matrix, -2)
    for row, near in enumerate(nearest(means, wanted, range(count))):
        found, values = [place for place, _ in near], [cosine for _, cosine in near]
        assert row not in found
        best = np.sort(matrix[row])[::-1][: min(wanted, count - 1)]
        assert np.allclose(values, best, atol=1e-5)
        assert np.allclose(matrix[row, found], values, atol=1e-5)
