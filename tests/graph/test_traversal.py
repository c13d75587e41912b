"""Walks over the graph, held against the documents' examples and NetworkX."""

import networkx
from hypothesis import given
from hypothesis import strategies as st

from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import CO_OCCURS, Entity, Relation
from ragscience.graph.traversal import shortest_path, walk

from .drawn import drawn, labels, number

ALL = frozenset()


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda ends: ends[0] != ends[1]), max_size=25)


@given(edges, st.integers(0, 9), st.integers(1, 3))
def test_depths_are_those_of_networkx_also_on_cycles(pairs, seed, hops):
    graph = numbered(10, pairs)
    found = walk(graph, {key_of(seed): 1.0}, hops=hops, types=ALL)
    plain = networkx.Graph(pairs)
    plain.add_node(seed)
    expected = networkx.single_source_shortest_path_length(plain, seed, cutoff=hops)
    assert found.depths == {key_of(at): far for at, far in expected.items()}
    assert all(0 < share <= 1 for share in found.strengths.values())


@given(edges, st.integers(0, 9), st.integers(0, 9))
def test_paths_are_as_short_as_those_of_networkx(pairs, start, end):
    found = shortest_path(numbered(10, pairs), key_of(start), key_of(end))
    plain = networkx.Graph(pairs)
    plain.add_nodes_from([start, end])
    if not networkx.has_path(plain, start, end):
        assert found is None
        return
    assert len(found.relations) == networkx.shortest_path_length(plain, start, end)
    assert (found.keys[0], found.keys[-1]) == (f"T:{start:06}", f"T:{end:06}")
    for relation, *ends in zip(found.relations, found.keys, found.keys[1:], strict=False):
        assert {relation.source, relation.target} == set(ends)


def test_paths_and_walks_over_stated_relations_alone_or_over_all():
    graph = drawn(("Adam", "USES", "Nesterov", 1), ("Adam", CO_OCCURS, "SGD", 3), ("SGD", "IMPROVES", "PageRank", 4))
    ends = number(graph, "Adam"), number(graph, "PageRank")
    assert shortest_path(graph, *ends) is None
    path = shortest_path(graph, *ends, together=True)
    assert [relation.relation for relation in path.relations] == [CO_OCCURS, "IMPROVES"]
    seeds = {ends[0]: 1.0}
    assert labels(graph, walk(graph, seeds, hops=2, types=ALL, stated_only=True).depths) == {"Adam", "Nesterov"}
    assert labels(graph, walk(graph, seeds, hops=2, types=ALL).depths) == {"Adam", "Nesterov", "PageRank", "SGD"}


def key_of(at):
    return f"T:{at:06}"


def entity(at):
    return Entity(f"T:{at:06}", f"e{at}", "T", (f"e{at}",), 1, 0.5, (at,))


def relation(source, target, confidence=0.5):
    return Relation(f"T:{source:06}", f"T:{target:06}", "USES", 1, confidence, (max(source, target),))


def numbered(count, pairs):
    unique = sorted(set(pairs))
    return KnowledgeGraph([entity(at) for at in range(count)], [relation(*pair) for pair in unique])
