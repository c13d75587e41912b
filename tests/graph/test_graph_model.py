from dataclasses import replace

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.graph.entity_merging import merge
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import Entity, Relation, matched

from .making import apart_names, passages, say


def graph_of(kept, apart=frozenset()):
    merged = merge(kept, apart)
    return merged, KnowledgeGraph.of(merged.entities, merged.relations)


def without_odd_blanks(entity):
    return replace(entity, names=tuple(name.replace("\x1f", " ") for name in entity.names))


@given(passages, apart_names, st.randoms())
def test_records_come_back_in_order(kept, apart, chance):
    merged, graph = graph_of(kept, apart)
    shuffled = list(merged.entities), list(merged.relations)
    for each in shuffled:
        chance.shuffle(each)
    for one in (graph, KnowledgeGraph.of(*shuffled)):
        assert list(one.entities()) == [without_odd_blanks(entity) for entity in merged.entities]
        assert list(one.relations()) == list(merged.relations)
        assert (len(one), one.relation_count) == (len(merged.entities), len(merged.relations))


@given(passages)
def test_networkx_knows_the_same_neighbours(kept):
    _, graph = graph_of(kept)
    oracle = graph.networkx
    assert isinstance(oracle, networkx.MultiDiGraph)
    assert list(oracle) == [entity.key for entity in graph.entities()]
    assert sorted(oracle.edges(keys=True)) == sorted(
        (one.source, one.target, one.relation) for one in graph.relations()
    )
    assert graph.degrees().tolist() == [oracle.degree(entity.key) for entity in graph.entities()]
    for number, entity in enumerate(graph.entities()):
        edges = graph.edges_of(number)
        assert graph.degree(number) == len(edges) == len(set(edges.tolist()))
        ends = [graph.entity(int(end)).key for end in graph.other_ends(number, edges)]
        assert sorted(ends) == sorted(
            [source for source, _ in oracle.in_edges(entity.key)]
            + [target for _, target in oracle.out_edges(entity.key)]
        )
        assert oracle.nodes[entity.key] == {
            "label": entity.label,
            "node_type": entity.entity_type,
            "mentions": entity.mentions,
            "confidence": entity.confidence,
        }
    for number, one in enumerate(graph.relations()):
        assert oracle.edges[one.source, one.target, one.relation] == {"count": one.count, "confidence": one.confidence}
        assert graph.kind(number) == one.relation
        assert graph.evidence_of(number).tolist() == list(one.chunk_ids)


@given(passages, apart_names)
def test_every_name_leads_to_its_entities(kept, apart):
    merged, graph = graph_of(kept, apart)
    for number, entity in enumerate(merged.entities):
        assert graph.number_of(entity.key) == number
        assert graph.label(number) == entity.label and graph.entity_type(number) == entity.entity_type
        assert graph.chunks_of(number).tolist() == list(entity.chunk_ids)
        assert all(number in graph.by_name(name) for name in entity.names)
    for name, numbers in graph.names.items():
        assert list(numbers) == sorted(set(numbers))
        for number in numbers:
            entity = merged.entities[number]
            assert name in {matched(each) for each in (*entity.names, entity.key.partition(":")[2])}
    assert graph.by_name("nobody knows this") == () == graph.by_name("")
    assert graph.number_of("METHOD:nobody") is None


@given(passages, st.data())
def test_one_step_from_many_is_that_from_each(kept, data):
    _, graph = graph_of(kept)
    numbers = data.draw(st.lists(st.integers(0, len(graph) - 1), max_size=6)) if len(graph) else []
    expected = [
        (number, edge, end)
        for number in numbers
        for edge, end in zip(
            graph.edges_of(number).tolist(), graph.other_ends(number, graph.edges_of(number)).tolist(), strict=True
        )
    ]
    assert list(zip(*(each.tolist() for each in graph.around(np.array(numbers, np.int64))), strict=True)) == expected


def test_an_expansion_that_only_an_alias_states_is_found():
    _, graph = graph_of([(1, say(1, ("LSTM", "METHOD"), aliases=[("LSTM", "long short-term memory")]))])
    assert graph.by_name("Long Short-Term Memories") == (0,) == graph.by_name("lstms")


def test_a_name_of_several_types_leads_to_all():
    _, graph = graph_of([(1, say(1, ("BLEU", "METRIC"))), (2, say(2, ("bleu", "METHOD")))])
    assert [graph.entity_type(number) for number in graph.by_name("BLEU")] == ["METHOD", "METRIC"]


def test_a_relation_without_its_entity_is_refused():
    with pytest.raises(KeyError):
        KnowledgeGraph.of((), (Relation("METHOD:a", "METHOD:b", "USES", 1, 0.5, (1,)),))


def test_an_empty_graph():
    graph = KnowledgeGraph.of((), ())
    assert (len(graph), graph.relation_count, list(graph.entities()), list(graph.relations())) == (0, 0, [], [])
    assert graph.degrees().tolist() == [] and graph.names == {}


EXAMPLE = KnowledgeGraph.of(
    (
        Entity("METHOD:a", "A", "METHOD", ("A", "as"), 3, 0.333333, (1, 2)),
        Entity("METRIC:数", "数", "METRIC", ("数",), 1, 1.0, (2**40,)),
    ),
    (Relation("METHOD:a", "METRIC:数", "USES", 2, 0.123457, (1, 2**40)),),
)


def test_saved_and_loaded(tmp_path):
    path = tmp_path / "graph.npz"
    path.write_bytes(EXAMPLE.saved("3:x"))
    loaded = KnowledgeGraph.load(path, "3:x")
    assert list(loaded.entities()) == list(EXAMPLE.entities())
    assert list(loaded.relations()) == list(EXAMPLE.relations())
    assert loaded.sources.dtype == loaded.targets.dtype == np.int32
    assert KnowledgeGraph.load(path, "4:x") is None
    assert KnowledgeGraph.load(tmp_path / "none.npz", "3:x") is None
    assert KnowledgeGraph.load(tmp_path, "3:x") is None
    with np.load(path, allow_pickle=False) as plain:  # other programs can read it
        assert plain["mentions"].tolist() == [3, 1]


@given(st.data())
def test_a_damaged_file_is_none(tmp_path_factory, data):
    whole = EXAMPLE.saved("3:x")
    at = data.draw(st.integers(0, len(whole) - 1))
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])
    assert KnowledgeGraph.load(path, "3:x") is None
    path.write_bytes(whole[:at])
    assert KnowledgeGraph.load(path, "3:x") is None
