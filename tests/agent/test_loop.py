"""The agentic loop without an LLM: the stand-ins do every step, and the limits hold."""

from dataclasses import replace

from ragscience.agent.agent_state import ToolNote, ToolsUsed
from ragscience.ask.answers import REFUSAL
from ragscience.core.errors import NothingFound
from ragscience.core.records import Turn
from tests.agent.agent_runs import ANSWERED, LIMITS, PASSAGES, TWO_PARTS, UNANSWERED, Library, nodes_of, run

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


def test_question_of_two_parts_is_searched_for_whole_and_in_parts():
    library = Library(best=1)
    answer = run(TWO_PARTS, library)
    asked = [query for query, _ in library.asked]
    assert TWO_PARTS in asked
    assert ("how many days did pre-training of the large BERT take?", ("bert.pdf",)) in library.asked
    assert {hit.chunk.chunk_id for hit in answer.found.hits} >= {1, 4}
    assert "3.5 days" in answer.text
    assert "4 days" in answer.text


def test_unanswered_question_is_refused_within_the_passes_and_never_asked_twice():
    library = Library()
    answer = run(UNANSWERED, library)
    assert (answer.text, answer.refused, answer.citations) == (REFUSAL, True, ())
    assert max(step.iteration for step in answer.trace) <= 3
    assert len(library.asked) == len(set(library.asked)) <= LIMITS.searches


def test_trace_adds_up_to_what_was_done():
    library, told = Library(), []
    answer = run(TWO_PARTS, library, on_step=told.append)
    assert tuple(told) == answer.trace
    assert sum(step.searches for step in answer.trace) == len(library.asked)
    assert all(step.llm_calls == step.tokens == 0 and step.by == "rules" for step in answer.trace)
    retrieved = [step for step in answer.trace if step.node == "retrieve"]
    assert sum(step.new_passages for step in retrieved) == retrieved[-1].passages
    assert answer.trace[-1].score is not None


def test_draft_below_the_mark_is_given_with_its_grade():
    answer = run(ANSWERED, Library(), limits=replace(LIMITS, enough=1.0))
    assert not answer.refused
    assert any("is graded 0.78, below 1" in warning for warning in answer.warnings)
    assert nodes_of(answer).count("reflect") >= 1


def test_follow_up_is_made_to_stand_alone():
    library = Library()
    history = (Turn("How large is the hidden size of BERT?", "It is 768 (bert.pdf, p.3)."),)
    reading = "And how many parameters does BERT have?"
    answer = run("And how many parameters does it have?", library, history=history, reading=reading)
    assert answer.question == "And how many parameters does it have?"
    assert answer.found.question == reading
    assert (answer.found.question, ()) in library.asked


def test_sub_query_that_fails_costs_a_warning():
    library = Library(fails={4: NothingFound("No paper fits.", "Try another.")})
    answer = run(TWO_PARTS, library)
    assert not answer.refused
    assert "A sub-query could not be searched for: No paper fits. Try another." in answer.warnings
    assert any("No paper fits." in note for step in answer.trace for note in step.notes)


def test_no_time_still_gives_an_answer_from_one_search():
    library = Library()
    answer = run(TWO_PARTS, library, limits=replace(LIMITS, seconds=1e-9, enough=1.0))
    assert len(library.asked) == 1
    assert not answer.refused
    assert nodes_of(answer) == ONE_PASS
    assert any("budget was spent" in warning for warning in answer.warnings)


def test_tools_give_passages_and_notes():
    page = replace(PASSAGES[4], rank=1)

    def use_tools(question, missing, *, by_llm, most_calls, seconds):
        assert (question, by_llm, most_calls) == (ANSWERED, False, LIMITS.tool_calls)
        calls = (
            ToolNote("read_page(2)", "text", (page,)),
            ToolNote("calculate(2+2)", "2+2 = 4"),
            ToolNote("cite(x)", "Error: no paper x", error=True),
        )
        return ToolsUsed(calls)

    answer = run(ANSWERED, Library(), use_tools=use_tools)
    assert page.chunk in [hit.chunk for hit in answer.found.hits]
    assert answer.text.startswith("calculate(2+2): 2+2 = 4\n\n")
    assert "no paper x" not in answer.text
    retrieved = next(step for step in answer.trace if step.node == "retrieve")
    assert retrieved.tool_calls == 3
    assert retrieved.notes == (
        "read_page(2): 1 passage", "calculate(2+2): 2+2 = 4", "cite(x): Error: no paper x",
    )  # fmt: skip


def test_what_a_tool_says_answers_where_no_passage_does():
    def use_tools(*_, **__):
        return ToolsUsed((ToolNote("calculate(6*7)", "6*7 = 42"),))

    answer = run("What is 6*7?", Library(()), use_tools=use_tools)
    assert (answer.text, answer.refused) == ("calculate(6*7): 6*7 = 42", False)
