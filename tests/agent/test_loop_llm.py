"""The loop with an LLM, good and bad: the real client against a real server that says what the test wants."""

import json
from dataclasses import replace

import pytest

from ragscience.ask.answers import REFUSAL
from tests.agent.agent_runs import ANSWERED, LIMITS, Library, run
from tests.ask.asking import LLAMA, open_llm
from tests.ollama_server import OllamaServer

SAID = "Training of the big Transformer took 3.5 days on 8 P100 GPUs (attention.pdf, p.7)."
WRONG = "The Transformer was trained for 90 weeks on 12 laptops (attention.pdf, p.7)."


class Model:
    """What the served model says to each kind of request; a list is said item by item, the last one from then on."""

    def __init__(self, *, split=(), grade=1.0, draft=SAID):
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
def server():
    with OllamaServer(models=[LLAMA]) as server:
        yield server


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
    assert (answer.text, answer.mode, answer.models["llm"]) == (SAID, "llm", LLAMA)
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
    assert answer.text == SAID
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
