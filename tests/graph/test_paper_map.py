"""Which papers are alike: the graph guide's worked example, and the neighbours against brute force."""

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.records import Chunk, Document, EmbedderIdentity, Page
from ragscience.graph.paper_map import nearest, paper_map, similarity_edges
from ragscience.library.store import Home, Library, NewPaper

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
    found = {(edge.source + 1, edge.target + 1): round(edge.weight, 4) for edge in edges}
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


def add(library, name, vectors):
    text = "\n".join(f"passage {index} of {name}" for index in range(len(vectors)))
    lines = text.split("\n") if len(vectors) else []
    starts = [sum(len(line) + 1 for line in lines[:index]) for index in range(len(lines))]
    chunks = [
        Chunk(at, line, start, start + len(line), 1, 1)
        for at, (line, start) in enumerate(zip(lines, starts, strict=True))
    ]
    library.add_paper(
        NewPaper(
            path=f"/{name}.pdf",
            md5=hashlib.md5(name.encode()).hexdigest(),
            size_bytes=1,
            modified_ns=1,
            document=Document(text, (Page(1, 0, len(text)),)),
            chunks=chunks,
            vectors=vectors,
        )
    )


def test_a_paper_stands_where_the_mean_of_its_passages_is(tmp_path):
    a, b = unit(np.array([[1, 0, 0], [0, 1, 0]])), unit(np.array([[1, 1, 0], [0, 0, 1], [1, 0, 0]]))
    with Library.open_for_writing(Home(tmp_path)) as library:
        library.set_identity(EmbedderIdentity("embedded", "test", "0" * 64, 3), "whole")
        add(library, "a", a)
        add(library, "empty", np.empty((0, 3), np.float32))
        add(library, "z", b)
        known = paper_map(library)
        assert [paper.file for paper in known.papers] == ["a.pdf", "z.pdf"]
        assert np.allclose(known.means, unit(np.stack([a.mean(0), b.mean(0)])), atol=1e-6)
        ((other, cosine),) = known.related(0, 5)
        assert other.file == "z.pdf"
        assert np.isclose(cosine, known.means[0] @ known.means[1], atol=1e-6)
        first, second = known.closest_passages(0, 1)
        texts = [chunk.text for chunk in library.chunks([first, second])]
        assert texts == ["passage 0 of a", "passage 2 of z"]
