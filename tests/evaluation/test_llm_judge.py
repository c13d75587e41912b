"""A model judges answers through ragas: what it said is read, and what cannot be read is missing."""

import json
import sys
from importlib.util import find_spec

import pytest

from ragscience.core.errors import ModelProblem, RagScienceError
from ragscience.core.records import Answer, Found
from ragscience.evaluation.llm_judge import RagasJudge
from tests.ask.passages import hit

needs_ragas = pytest.mark.skipif(find_spec("ragas") is None, reason="ragas is not installed: requirements-judge.txt")
HITS = (hit("The glaze matures at 1280 degrees."), hit("Bees fly.", rank=2))


class Model:
    """Says what `say` gives for a prompt."""

    name = "llama3.1:8b"

    def __init__(self, say):
        self.say = say
        self.prompts = []

    def reply(self, messages, *, max_tokens):
        assert max_tokens == 77
        ((role, prompt),) = messages
        assert role == "user"
        self.prompts.append(prompt)
        yield from self.say(prompt)


class Embedder:
    """Every question is like every other."""

    def embed_documents(self, texts):
        import numpy as np

        return np.ones((len(texts), 4), np.float32) / 2


def answer(*hits):
    return Answer("a1", "?", "It matures at 1280 degrees.", "llm", False, (), Found("?", "default", hits), {})


def judgements(statements=("It matures.",), verdicts=(1,), noncommittal=0, useful=lambda prompt: 1):
    """What a model says that obeys."""

    def say(prompt):
        if "Break down each sentence" in prompt:
            return [json.dumps({"statements": list(statements)})]
        if "judge the faithfulness" in prompt:
            told = [{"statement": "…", "reason": "…", "verdict": verdict} for verdict in verdicts]
            return ["```json\n", json.dumps({"statements": told}), "\n```"]
        if "Generate a question" in prompt:
            return [json.dumps({"question": "How hot?", "noncommittal": noncommittal})]
        return [json.dumps({"reason": "…", "verdict": useful(prompt)})]

    return say


def judge(say, warnings):
    return RagasJudge(Model(say), Embedder(), max_tokens=77, warning=warnings.append)


def test_without_the_package_it_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ragas", None)
    with pytest.raises(RagScienceError, match=r"ragas.*requirements-judge\.txt"):
        judge(judgements(), [])


@needs_ragas
def test_each_measure_comes_from_what_the_model_said():
    warnings = []
    values = judge(judgements(("a", "b", "c"), (1, 0, 1)), warnings)("How hot is it?", answer(*HITS))
    assert values == pytest.approx({"faithfulness": 2 / 3, "answer relevance": 1, "context precision": 1})
    last = lambda prompt: int("Bees fly." in prompt.rpartition("following input")[2])  # noqa: E731
    values = judge(judgements(noncommittal=1, useful=last), warnings)("How hot is it?", answer(*HITS))
    # Average precision of a ranking whose second passage alone is of use: 1/2.
    assert values == pytest.approx({"faithfulness": 1, "answer relevance": 0, "context precision": 0.5})
    assert warnings == []


@needs_ragas
def test_what_is_no_json_is_said_once_a_measure():
    warnings = []
    assert judge(lambda prompt: ["I would rather not."], warnings)("?", answer(*HITS)) == {}
    assert [warning.partition(":")[0] for warning in warnings] == [
        "The judge gave no faithfulness",
        "The judge gave no answer relevance",
        "The judge gave no context precision",
    ]


@needs_ragas
def test_a_model_that_is_gone_is_not_asked_again():
    def gone(prompt):
        raise ModelProblem("llama3.1:8b does not answer.", "Start Ollama.")

    warnings = []
    asked = Model(gone)
    fails = RagasJudge(asked, Embedder(), max_tokens=77, warning=warnings.append)
    assert fails("?", answer(*HITS)) == {}
    assert fails("?", answer(*HITS)) == {}
    assert len(asked.prompts) == 1
    assert warnings == ["Nothing is judged from here on. llama3.1:8b does not answer. Start Ollama."]
