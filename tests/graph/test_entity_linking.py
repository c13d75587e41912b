"""Which entities a question names."""

import pytest

from ragscience.graph.graph_search import link

from .drawn import ATTENTION, TESLA, TESLA_QUESTION, drawn

ALL = frozenset()


def named(question, graph, types=ALL):
    found = link(question, graph, types=types)
    return {graph.label(key): round(weight, 2) for key, weight in found.items()}


def test_the_production_notes_question_names_the_two_companies():
    assert named(TESLA_QUESTION, drawn(*TESLA)) == {"Tesla": 1.0, "Rivian": 1.0}


def test_the_graph_guides_question_names_the_whole_name_and_the_one_inside():
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
