"""Which relations are drawn where there are too many, and which words of a passage are shown for them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.records import Chunk, Document, EmbedderIdentity, Metadata, Page
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import CO_OCCURS, Entity, Relation
from ragscience.graph.paper_map import (
    EDGES_PER_NODE,
    PAPER_RADIUS,
    SNIPPET_CHARS,
    map_drawing,
    nearest,
    positions,
    similarity_edges,
)
from ragscience.library.store import Home, Library, NewPaper

FILLER = "Nothing of note is said in these words. " * 20
TEXTS = [
    f"{FILLER}We train the alpha\nnet on a tide gauge. {FILLER}",
    f"The alpha-net comes first. {FILLER}{FILLER}And the beta net comes last.",
    "No name stands here.",
]
TEXT = "\n".join(TEXTS)
BREAK = TEXT.index("Nothing", 900)
"""Where the second page begins: behind the first mention."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    starts = [TEXT.index(text) for text in TEXTS]
    chunks = [
        Chunk(at, text, start, start + len(text), 1 if start < BREAK else 2, 1 if start + len(text) <= BREAK else 2)
        for at, (text, start) in enumerate(zip(TEXTS, starts, strict=True))
    ]
    with Library.open_for_writing(Home(tmp_path_factory.mktemp("drawn"))) as library:
        library.set_identity(EmbedderIdentity("embedded", "test", "0" * 64, 3), "whole")
        metadata = Metadata(title="Nets", authors=("A. One", "B. Two", "C. Three"), year=2020)
        document = Document(TEXT, (Page(1, 0, BREAK), Page(2, BREAK, len(TEXT))), metadata=metadata)
        library.add_paper(NewPaper("/nets.pdf", "0" * 32, 1, 1, document, chunks, np.eye(3, dtype=np.float32)))
        yield library


def ids(library):
    return [chunk.chunk_id for chunk in library.paper_chunks(library.papers()[0].paper_id)]


def entity(name, chunks):
    return Entity(f"METHOD:{name}", name, "METHOD", (name,), len(chunks), 0.9, tuple(chunks))


def drawn(library, entities=(), relations=(), title_of=lambda paper: paper.title):
    """The map of this paper and these entities: (the paper, the entities, the drawing)."""
    graph = KnowledgeGraph(entities, relations)
    drawing = map_drawing(library, graph, title_of=title_of)
    return drawing.nodes[0], drawing.nodes[1:], drawing


def test_a_quote_is_of_the_words_around_the_name_and_of_their_page(library):
    first, second, third = ids(library)
    alpha, beta = entity("alpha net", [first, second, third]), entity("beta net", [second])
    said = Relation(alpha.key, beta.key, "USES", 1, 0.9, (second, 10_000))
    _, (first_node, _), drawing = drawn(library, [alpha, beta], [said])
    one, two, three = first_node.evidence
    assert "We train the alpha net on a tide gauge." in one.text
    assert one.text.startswith("… ") and one.text.endswith(" …")
    assert len(one.text) <= SNIPPET_CHARS + 30
    assert (one.file, one.page) == ("nets.pdf", 1)
    assert two.text.startswith("The alpha-net comes first.") and two.page == 2
    assert three.text == "No name stands here."
    # The two names are too far apart for one quote: it is of the first of them.
    (proof,) = drawing.edges[0].evidence
    assert proof.text.startswith("The alpha-net comes first.")
    assert first_node.fact == "named 3 times in 1 paper"


def test_of_too_many_relations_what_says_most_is_drawn_and_no_entity_is_left_alone(library):
    chunk = ids(library)[0]
    nodes = [entity(f"net {letter}", [chunk]) for letter in "abcdefghijklmn"]
    weak = [Relation(a.key, b.key, CO_OCCURS, 1, 0.5, (chunk,)) for a in nodes for b in nodes if a.key < b.key]
    told = [Relation(a.key, b.key, "USES", 1, 0.9, (chunk,)) for a, b in pairwise(nodes[:6])]
    _, _, drawing = drawn(library, nodes, [*weak, *told])
    assert len(drawing.edges) == EDGES_PER_NODE * len(nodes)
    assert sum(edge.kind == "USES" for edge in drawing.edges) == len(told)
    assert {end for edge in drawing.edges for end in (edge.source, edge.target)} == set(range(1, 1 + len(nodes)))
    assert drawing.left_out == "Drawn are 56 of 96 relations, stated ones first."


def test_entities_are_around_their_papers_and_no_two_marks_overlap():
    owners = [{at % 3: 1} for at in range(90)] + [{0: 1, 1: 1}, {}]
    radii = [12.0 - at / 10 for at in range(90)] + [5.0, 5.0]
    places = positions(3, [(0, 1, 0.5), (1, 2, 0.4)], owners, radii)
    again = positions(3, [(0, 1, 0.5), (1, 2, 0.4)], owners, radii)
    assert places.shape == (95, 2) and np.isfinite(places).all() and (places == again).all()
    nearest = np.linalg.norm(places[3:93, None] - places[None, :3], axis=2).argmin(1)
    assert (nearest == np.arange(90) % 3).mean() > 0.9
    sizes = np.array([PAPER_RADIUS] * 3 + radii)
    distance = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(95)
    assert (distance >= 0.8 * (sizes[:, None] + sizes[None])).all()


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
