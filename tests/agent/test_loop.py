"""The agentic loop without an LLM: the stand-ins do every step, and the limits hold."""

from ragscience.core.errors import NothingFound
from tests.agent.agent_runs import ANSWERED, TWO_PARTS, Library, nodes_of, run

ONE_PASS = ["decompose_query", "retrieve", "reason", "reflect", "generate_answer"]


def test_answered_question_takes_one_pass():
    library = Library()
    answer = run(ANSWERED, library)
    assert nodes_of(answer) == ONE_PASS
    assert "3.5 days" in answer.text
    assert not answer.refused
    assert {(citation.file, citation.page) for citation in answer.citations} >= {("attention.pdf", 7)}
    assert (answer.question, answer.mode, answer.tokens) == (ANSWERED, "extractive", {})
    assert library.asked[0] == (ANSWERED, ())


def test_sub_query_that_fails_costs_a_warning():
    library = Library(fails={4: NothingFound("No paper fits.", "Try another.")})
    answer = run(TWO_PARTS, library)
    assert not answer.refused
    assert "A sub-query could not be searched for: No paper fits. Try another." in answer.warnings
    assert any("No paper fits." in note for step in answer.trace for note in step.notes)
