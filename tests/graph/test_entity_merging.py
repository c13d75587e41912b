from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from ragscience.graph.graph_model import load_graph, merge
from ragscience.graph.graph_records import Entity, EntityMention, Extracted, Relation, Triple
from ragscience.library.store import Home, Library

from .making import PASSAGES, fill, passages, put, say

LONG = "long short-term memory"


def by_key(merged):
    return {entity.key: entity for entity in merged.entities()}


def contents(merged):
    return list(merged.entities()), list(merged.relations())


@given(passages, st.randoms())
def test_the_order_of_the_passages_does_not_matter(kept, chance):
    shuffled = list(kept)
    chance.shuffle(shuffled)
    assert contents(merge(shuffled)) == contents(merge(kept))


@given(passages)
def test_types_never_mix_and_every_mention_is_in_one_entity(kept):
    merged = merge(kept)
    said = defaultdict(int)
    for _, found in kept:
        for each in found.mentions:
            place = (found.chunk_id, each.name, each.entity_type)
            said[place] = max(said[place], each.count)
    assert sum(entity.mentions for entity in merged.entities()) == sum(said.values())
    for entity in merged.entities():
        assert entity.key.startswith(f"{entity.entity_type}:")
        assert entity.label in entity.names
        of_it = {chunk for chunk, name, kind in said if kind == entity.entity_type and name in entity.names}
        assert set(entity.chunk_ids) <= of_it
    there = by_key(merged)
    for edge in merged.relations():
        assert edge.source in there and edge.target in there and edge.source != edge.target
        assert edge.count == len(edge.chunk_ids) > 0


def test_an_acronym_is_its_expansion_within_its_paper():
    first = (1, say(1, ("LSTM", "METHOD", 3), (LONG, "METHOD"), aliases=[("LSTM", LONG)]))
    (entity,) = merge([first]).entities()
    assert entity == Entity("METHOD:long short term memory", "LSTM", "METHOD", ("LSTM", LONG), 4, 0.8, (1,))


def test_relations_add_up_over_passages():
    """Noisy or: 1 - (1 - 0.5)(1 - 0.8) = 0.9; the same passage twice, by two extractors, counts once and the surer."""
    pair = [EntityMention("A", "METHOD", 1, 0.5), EntityMention("B", "METRIC", 2, 0.25)]
    triple = [Triple("A", "METHOD", "USES", "B", "METRIC", sure) for sure in (0.5, 0.4, 0.8)]
    found = [
        (1, Extracted(1, tuple(pair), (triple[0],))),
        (1, Extracted(1, tuple(pair), (triple[1],))),
        (2, Extracted(2, (), (triple[2],))),
    ]
    merged = merge(found)
    assert list(merged.relations()) == [Relation("METHOD:a", "METRIC:b", "USES", 2, 0.9, (1, 2))]
    assert by_key(merged)["METRIC:b"].mentions == 2


@settings(max_examples=15)
@given(passages)
def test_a_paper_that_leaves_takes_what_only_it_said(tmp_path_factory, kept):
    with Library.open_for_writing(Home(tmp_path_factory.mktemp("home"))) as library:
        papers = fill(library)
        last = {found.chunk_id: (paper, found) for paper, found in kept}
        moved = {
            at: (paper, Extracted(papers[paper][at % PASSAGES], found.mentions, found.triples, found.aliases))
            for at, (paper, found) in last.items()
        }
        put(library, *(found for _, found in moved.values()))
        library.remove_papers([library.papers()[0].paper_id])
        rest = merge([(paper, found) for paper, found in moved.values() if paper != 0])
        assert contents(load_graph(library)) == contents(rest)
