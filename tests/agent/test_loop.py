"""The agentic loop without an LLM: the stand-ins do every step, and the limits hold."""

from ragscience.core.errors import NothingFound
from tests.agent.agent_runs import TWO_PARTS, Library, run


def test_sub_query_that_fails_costs_a_warning():
    library = Library(fails={2: NothingFound("No paper fits.", "Try another.")})
    answer = run(TWO_PARTS, library)
    assert not answer.refused
    assert "A sub-query could not be searched for: No paper fits. Try another." in answer.warnings
    assert any("No paper fits." in note for step in answer.trace for note in step.notes)
