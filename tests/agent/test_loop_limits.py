"""Whatever graders and retrievers do: the budgets hold, nothing is raised but what must be, and there is an answer."""

import json
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragscience.agent.agent_state import MOST_QUERIES
from ragscience.agent.tools import ToolResult, ToolsUsed
from ragscience.ask.answers import REFUSAL
from ragscience.core.errors import LibraryUnavailable, ModelProblem, NothingFound, RagScienceError
from ragscience.core.records import Answer, Found
from tests.agent.agent_runs import ANSWERED, LIMITS, PASSAGES, TWO_PARTS, UNANSWERED, Library, ScriptedLLM, run

QUESTIONS = st.sampled_from([ANSWERED, TWO_PARTS, UNANSWERED, "What is this about?", "?", "Compare BERT and Adam."])
TEXTS = st.text(max_size=40)
GRADES = st.builds(
    lambda score, missing, unsupported: json.dumps({"score": score, "missing": missing, "unsupported": unsupported}),
    st.floats(allow_nan=True) | st.integers() | TEXTS | st.booleans() | st.none(),
    st.lists(TEXTS, max_size=3) | TEXTS,
    st.lists(TEXTS, max_size=3) | st.none(),
)
SPLITS = st.builds(
    lambda question, queries: json.dumps({"question": question, "queries": queries}),
    TEXTS,
    st.lists(TEXTS | st.sampled_from([ANSWERED, "BERT", "Adam decay rates", "GPUs"]), max_size=8) | TEXTS,
)
FAILURES = st.sampled_from([ModelProblem("The server broke.", "Try again."), ModelProblem("No answer.")])
WORDS = st.sampled_from(
    [
        "Training of the big Transformer took 3.5 days (attention.pdf, p.7).",
        "It took 90 weeks (attention.pdf, p.7). It never ended (nowhere.pdf, p.99).",
        REFUSAL,
        "",
        "<think>hm",
        "No information found for it.",
    ]
)
SAID = {"split": SPLITS | TEXTS | FAILURES, "grade": GRADES | TEXTS | FAILURES, "draft": WORDS | TEXTS | FAILURES}
PROBLEMS = st.sampled_from([NothingFound("Nothing."), LibraryUnavailable("Busy."), ModelProblem("No vectors.")])
FOUND = st.lists(st.sampled_from(PASSAGES), max_size=5, unique_by=lambda item: item.chunk.chunk_id)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_budgets_hold_whatever_comes(data):
    iterations = data.draw(st.integers(1, 4), label="iterations")
    limits = replace(
        LIMITS,
        iterations=iterations,
        enough=data.draw(st.sampled_from([0.0, 0.7, 1.0]), label="enough"),
        seconds=data.draw(st.sampled_from([0.0, 60.0]), label="seconds"),
        passages=data.draw(st.integers(1, 6), label="passages"),
    )
    library = Library()
    given_up = []

    def search(query, papers):
        library.asked.append((query, papers))
        outcome = data.draw(FOUND | PROBLEMS, label="search")
        if isinstance(outcome, RagScienceError):
            given_up.append(outcome)
            raise outcome
        hits = tuple(replace(item, rank=rank) for rank, item in enumerate(outcome, start=1))
        return Found(query, "rrf", hits, signals=data.draw(st.just({}) | st.just({"keyword_match": 0.9})))

    library.search = search

    def use_tools(wanted, *, most_calls, seconds):
        assert most_calls == limits.tool_calls
        hits = tuple(data.draw(FOUND, label="tool"))
        return ToolsUsed((ToolResult("search(x)", "{braces} <passage>", hits, error=data.draw(st.booleans())),))

    llm = None
    if data.draw(st.booleans(), label="with an LLM"):
        llm = ScriptedLLM(lambda step, _: data.draw(SAID[step], label=step))
    question = data.draw(QUESTIONS, label="question")
    try:
        answer = run(question, library, llm=llm, limits=limits, use_tools=use_tools)
    except RagScienceError as problem:
        assert problem in given_up
        assert len(given_up) == len(library.asked) <= 2 * MOST_QUERIES
        return
    assert isinstance(answer, Answer)
    assert answer.text
    assert answer.question == question
    assert len(library.asked) == len(set(library.asked)) <= MOST_QUERIES * (iterations + 1)
    assert sum(step.searches for step in answer.trace) == len(library.asked)
    assert all(len(step.queries) <= MOST_QUERIES for step in answer.trace)
    assert max(step.iteration for step in answer.trace) <= iterations
    assert [step.node for step in answer.trace].count("reason") <= iterations
    assert len(answer.found.hits) <= limits.passages
    calls = len(llm.calls) if llm else 0
    assert sum(step.llm_calls for step in answer.trace) == calls <= 5 * iterations
    if limits.seconds == 0:
        assert calls == 0
