"""The loop over scripted models and failing servers: budgets hold, nothing is raised but what must be."""

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragscience.agent.agent_state import MOST_QUERIES
from ragscience.agent.answer_drafts import merged
from ragscience.agent.tools import ToolResult, ToolsUsed
from ragscience.ask.answers import REFUSAL
from ragscience.core.errors import LibraryUnavailable, ModelProblem, NothingFound, RagScienceError
from ragscience.core.records import Answer, Found, Hit, StoredChunk
from tests.agent.agent_runs import ANSWERED, LIMITS, PASSAGES, TWO_PARTS, UNANSWERED, Library, ScriptedLLM, run
from tests.ask.asking import LLAMA, open_llm

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


def test_sub_query_that_fails_costs_a_warning():
    library = Library(fails={2: NothingFound("No paper fits.", "Try another.")})
    answer = run(TWO_PARTS, library)
    assert not answer.refused
    assert "A sub-query could not be searched for: No paper fits. Try another." in answer.warnings
    assert any("No paper fits." in note for step in answer.trace for note in step.notes)


LLM_SAID = "Training of the big Transformer took 3.5 days on 8 P100 GPUs (attention.pdf, p.7)."
WRONG = "The Transformer was trained for 90 weeks on 12 laptops (attention.pdf, p.7)."


class Model:
    """What the served model says to each kind of request; a list is said item by item, the last one from then on."""

    def __init__(self, *, split=(), grade=1.0, draft=LLM_SAID):
        self.said = {"split": split, "grade": grade, "draft": draft}

    def __call__(self, body):
        step = self.step_of(body)
        said = self.said[step]
        if isinstance(said, list):
            said = said.pop(0) if len(said) > 1 else said[0]
        if isinstance(said, str):
            return said
        if step == "split":
            return json.dumps({"question": ANSWERED, "queries": list(said) or ["days of training"]})
        return json.dumps({"score": said, "missing": [], "unsupported": []})

    @staticmethod
    def step_of(body):
        if not body.get("format"):
            return "draft"
        return "split" if "queries" in body["format"]["properties"] else "grade"


@pytest.fixture
def llm(server):
    with open_llm(server.url, num_ctx=8192, num_predict=256, is_known=True) as opened:
        yield opened


def calls(server):
    return [Model.step_of(body) for body in server.of("/api/chat")]


def test_llm_splits_drafts_and_grades(server, llm):
    server.default_reply = Model(split=("training of the big Transformer", "P100 GPUs"), grade=0.9)
    library = Library()
    answer = run(ANSWERED, library, llm=llm)
    assert [query for query, _ in library.asked] == [ANSWERED, "training of the big Transformer", "P100 GPUs"]
    assert (answer.text, answer.mode, answer.models["llm"]) == (LLM_SAID, "llm", LLAMA)
    assert calls(server) == ["split", "draft", "grade"]
    assert [step.by for step in answer.trace] == ["llm", "rules", "llm", "llm", "llm"]
    assert sum(step.llm_calls for step in answer.trace) == 3
    assert sum(step.tokens for step in answer.trace) == answer.tokens["prompt"] + answer.tokens["answer"] > 0
    assert "llm_ms" in answer.timings_ms


def test_model_that_always_grades_1_does_not_pass_what_no_page_holds(server, llm):
    server.default_reply = Model(grade=1.0, draft=WRONG)
    answer = run(ANSWERED, Library(), llm=llm)
    assert (answer.text, answer.refused, answer.citations) == (REFUSAL, True, ())
    assert any("hold no sentence of the draft" in warning for warning in answer.warnings)
    assert max(step.score or 0 for step in answer.trace) < LIMITS.enough


@pytest.mark.parametrize("said", ["I am not able to do that.", "", '{"queries": "one"}', "[]", '{"queries": []}'])
def test_model_without_valid_json_is_replaced_by_rules(server, llm, said):
    server.default_reply = Model(split=said, grade=said)
    answer = run(ANSWERED, Library(), llm=llm)
    assert answer.text == LLM_SAID
    assert calls(server) == ["split", "split", "draft", "grade", "grade"]
    assert [step.by for step in answer.trace if step.node != "reason"][:3] == ["rules", "rules", "rules"]
    assert sum("so rules did" in warning for warning in answer.warnings) == 2


def test_draft_without_an_end_is_left_and_not_believed(server, llm):
    server.script(json.dumps({"question": "", "queries": ["days"]}))
    server.script(pieces=["The Moon is made of cheese. "], endless=True)
    server.default_reply = Model()
    answer = run(ANSWERED, Library(), llm=llm, limits=replace(LIMITS, iterations=1))
    assert "Moon" not in answer.text
    assert (answer.mode, answer.refused) == ("extractive", False)
    assert {(citation.file, citation.page) for citation in answer.citations} >= {("attention.pdf", 7)}
    assert {sentence.verdict for sentence in answer.sentences} == {"quote"}
    assert any("repeat itself" in warning for warning in answer.warnings)


def hit(rank, chunk_id, score=0.0):
    chunk = StoredChunk(chunk_id, 1, "a.pdf", "/a.pdf", 0, "text", 0, 4, 1, 1, "", "text", ((0, 1),))
    return Hit(rank, chunk, score, {"fused": score}, ("dense",))


def found(*ids, score=0.0):
    return Found("q", "rrf", tuple(hit(rank, chunk_id, score) for rank, chunk_id in enumerate(ids, start=1)))


def ids(hits):
    return [each.chunk.chunk_id for each in hits]


LISTS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), max_size=8)


@given(LISTS, st.integers(0, 16), st.integers(1, 8))
def test_promises_of_any_merge(lists, limit, first):
    searches = [found(*each) for each in lists]
    hits = merged(searches, limit, first=first)
    everything = {chunk_id for each in lists for chunk_id in each}
    assert len(set(ids(hits))) == len(hits) <= limit
    assert set(ids(hits)) <= everything
    early = lists[:first]
    if limit >= len(early) and len(lists) <= first:
        assert {each[0] for each in early if each} <= set(ids(hits))
        assert len(hits) == min(limit, len(everything))
