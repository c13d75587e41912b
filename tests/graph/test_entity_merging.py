from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragscience.graph.graph_model import load_graph, merge
from ragscience.graph.graph_records import (
    Entity,
    EntityMention,
    Extracted,
    Relation,
    Triple,
    canonical,
    decoded,
    encoded,
    folded,
    matched,
)
from ragscience.graph.graph_search import link
from ragscience.library.store import Home, Library
from tests.graph.drawn import ATTENTION, TESLA, TESLA_QUESTION, drawn
from tests.graph.making import PASSAGES, fill, found, passages, put, say

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
    for _, gave in kept:
        for each in gave.mentions:
            place = (gave.chunk_id, each.name, each.entity_type)
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


SAME = [
    ("LSTM", "LSTMs"),
    ("GPT‑3", "GPT3"),
    ("co-occurrence", "Co occurrence"),
    ("GPUs", "gpu"),
    ("word embeddings", "Word Embedding"),
    ("losses", "loss"),
    ("patches", "patch"),
    ("attention matrices", "attention matrix"),
    ("“attention”", "attention"),
    ("ﬁne-tuning", "fine tuning"),
]
DIFFERENT = [
    ("C", "C++"),
    ("GPT-2", "GPT-3"),
    ("BERT", "RoBERTa"),
    ("F1", "F2"),
    ("networks of queues", "network of queue models"),
    ("top-5 accuracy", "top 1 accuracy"),
]


def test_which_names_are_the_same():
    assert [(one, other) for one, other in SAME if canonical(one) != canonical(other) or not canonical(one)] == []
    assert [(one, other) for one, other in DIFFERENT if canonical(one) == canonical(other)] == []


@given(st.text(max_size=30))
def test_a_name_is_its_own_canonical_name(text):
    once = canonical(text)
    assert canonical(once) == once
    assert folded(folded(text)) == folded(text)
    assert bool(matched(text)) == bool(folded(text))
    assert '"' not in once


@given(found(7))
def test_what_was_found_comes_back_from_its_row(one):
    assert decoded(7, encoded(one)) == one


def named(question, graph):
    found = link(question, graph, types=frozenset())
    return {graph.label(key): round(weight, 2) for key, weight in found.items()}


def test_the_questions_of_the_documents_name_what_stands_in_them():
    assert named(TESLA_QUESTION, drawn(*TESLA)) == {"Tesla": 1.0, "Rivian": 1.0}
    assert named("How does self-attention work?", drawn(*ATTENTION)) == {"self-attention": 1.0, "attention": 0.5}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Are LSTMs slow?", {"LSTM": 1.0}),
        ("Is a long-short term memory slow?", {}),
        ("Does the salstmx help?", {}),
        ("Is GPT 3 better than GPT3?", {"GPT-3": 1.0}),
        ("What is C++ for?", {"C++": 1.0}),
        ("", {}),
        ("the of and?!", {}),
    ],
)
def test_names_stand_on_word_borders_and_are_compared_as_everywhere(question, expected):
    graph = drawn(("LSTM", "USES", "GPT-3"), ("C++", "USES", "C"))
    assert named(question, graph) == expected


def test_a_name_that_is_nearly_the_same_is_found_but_not_one_of_another_number():
    graph = drawn(("transformer", "USES", "GPT-3 model"))
    assert named("Why are transfomers fast?", graph) == {"transformer": round(2 * 10 / 21, 2)}
    assert named("What is the GPT-2 model?", graph) == {}
