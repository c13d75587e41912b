"""The benchmark of language models: a varied sample, results that outlive a stop, and pairs that are pairs."""

import json

import pytest

from benchmarks.language_model import UNANSWERABLE, WAYS, answered, sample, tables
from ragscience.core.errors import ModelProblem
from ragscience.evaluation.question_file import KnownQuestion
from tests.openai_server import OpenAIServer, Raw

SAYS = "Bees fly at 3.7 m/s in fog (bees.pdf, p.2)."
NEVER, AT_ONCE = float("inf"), 0.0


def question(number, kind="fact", *, text="How fast do bees fly in fog?"):
    answerable = kind != "unanswerable"
    return KnownQuestion(
        f"q{number:02}",
        text,
        answerable,
        ("3.7",) if answerable else (),
        (frozenset({("bees.pdf", 2)}),) if answerable else (),
        kind,
    )


QUESTIONS = [question(1), question(2, text="How fast do bees fly?")]


@pytest.fixture
def server(monkeypatch):
    with OpenAIServer() as running:
        running.default = SAYS
        monkeypatch.setenv("RAG_LLM_URL", running.url)
        yield running


def test_each_round_has_every_kind_and_more_that_have_no_answer():
    pool = [question(n, ("fact", "table", "unanswerable")[n % 3]) for n in range(30)]
    taken = sample(pool, 2)
    first = [each.kind for each in taken[: 2 + UNANSWERABLE]]
    assert sorted(first) == ["fact", "table", *["unanswerable"] * UNANSWERABLE]
    assert len({each.question_id for each in taken}) == len(taken) == 2 * (2 + UNANSWERABLE)
    assert sample(list(reversed(pool)), 2) == taken


def test_a_later_run_asks_only_what_is_missing(server, library, tmp_path):
    made = answered(library, "llm", QUESTIONS[:1], tmp_path, NEVER)
    asked = len(server.of("/v1/chat/completions"))
    both = answered(library, "llm", QUESTIONS, tmp_path, NEVER)
    assert asked == 1
    assert len(server.of("/v1/chat/completions")) == 2
    assert both[0] == made[0]
    assert [each["question"] for each in both] == ["q01", "q02"]
    assert both[0]["values"]["answer"] == both[0]["values"]["cited"] == 1.0
    assert answered(library, "llm", QUESTIONS, tmp_path, AT_ONCE) == both


def test_a_line_that_was_cut_by_a_kill_is_asked_again(server, library, tmp_path):
    answered(library, "llm", QUESTIONS, tmp_path, NEVER)
    file = tmp_path / "llm.jsonl"
    whole = file.read_text()
    file.write_text(whole[:-40])
    again = answered(library, "llm", QUESTIONS, tmp_path, NEVER)
    assert [each["question"] for each in again] == ["q01", "q02"]
    assert len(server.of("/v1/chat/completions")) == 3
    assert answered(library, "llm", QUESTIONS, tmp_path, AT_ONCE) == again


@pytest.mark.parametrize(
    ("name", "value"), [("RAG_ANSWER_RULES", "Answer briefly, or: {refusal}"), ("RAG_ANSWER_PASSAGES", "3")]
)
def test_other_prompts_and_settings_are_other_results(server, library, tmp_path, monkeypatch, name, value):
    answered(library, "llm", QUESTIONS[:1], tmp_path, NEVER)
    monkeypatch.setenv(name, value)
    assert answered(library, "llm", QUESTIONS[:1], tmp_path, AT_ONCE) == []
    monkeypatch.delenv(name)
    assert len(answered(library, "llm", QUESTIONS[:1], tmp_path, AT_ONCE)) == 1


def test_the_same_model_at_another_address_is_the_same_model(server, library, tmp_path, monkeypatch):
    made = answered(library, "llm", QUESTIONS[:1], tmp_path, NEVER)
    with OpenAIServer() as other:
        monkeypatch.setenv("RAG_LLM_URL", other.url)
        assert answered(library, "llm", QUESTIONS[:1], tmp_path, NEVER) == made
        assert other.of("/v1/chat/completions") == []


def test_an_answer_that_the_model_did_not_give_is_not_kept(server, library, tmp_path):
    server.raw(*[Raw(b"{}", 500, kind="application/json")] * 4)
    with pytest.raises(RuntimeError, match="the model said nothing"):
        answered(library, "llm", QUESTIONS[:1], tmp_path, NEVER)
    assert not (tmp_path / "llm.jsonl").exists()


def test_a_reranker_that_is_not_there_is_no_result(library, tmp_path, monkeypatch):
    monkeypatch.setenv("RAG_LLM_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ModelProblem, match="No server answers"):
        answered(library, "llm reranker", QUESTIONS[:1], tmp_path, NEVER)


def test_the_calls_of_a_reranker_are_counted(server, library, tmp_path):
    for _ in range(2):
        server.script(json.dumps({str(n): 5 for n in range(1, 11)}), counts=(700, 20))
    (made,) = answered(library, "llm reranker", QUESTIONS[:1], tmp_path, NEVER)
    assert (made["mode"], made["models"]["reranker"]) == ("extractive", "qwen")
    assert made["values"]["LLM calls"] == 2


def test_quotes_need_no_model(library, tmp_path):
    (made,) = answered(library, "extractive", QUESTIONS[:1], tmp_path, NEVER)
    assert made["mode"] == "extractive"
    assert made["values"]["LLM calls"] == 0
    assert json.loads((tmp_path / "extractive.jsonl").read_text()) == made


def result(name, number, **values):
    return {"question": f"q{number}", "values": values, "models": {"llm": "m"}, "load": 1.0, "way": name}


def test_ways_are_paired_on_the_questions_that_both_have():
    results = {
        "extractive": [result("extractive", n, answer=1.0, seconds=1.0) for n in range(3)],
        "llm": [result("llm", n, answer=0.0, seconds=9.0, **{"first token": 4.0}) for n in (1, 2)],
        "agent": [],
    }
    alone, paired = tables(results)
    assert [row[:2] for row in alone.rows] == [["extractive", "3"], ["llm", "2"]]
    costs = dict(zip(alone.columns, alone.rows[1], strict=True))
    assert (costs["first token"], costs["seconds"]) == ("4.0", "9.0")
    (row,) = paired.rows
    cells = dict(zip(paired.columns, row, strict=True))
    assert cells["questions"] == "2"
    assert cells["answer"].startswith("-1.000")
    assert cells["cited"] == "–"


def test_a_way_is_compared_with_one_that_exists():
    assert {way.against for way in WAYS.values()} <= {"", *WAYS}
