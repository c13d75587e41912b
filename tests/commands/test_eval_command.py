"""`query.py eval` as a person runs it."""

import json

from tests.output_schemas import check_output


def known(text, file, page, must, **more):
    return {
        "question": text, "must_contain": must, "evidence": [{"file": file, "page": page}], "type": "number"
    } | more  # fmt: skip


QUESTIONS = [
    known("What is the mean flight speed of bees in fog?", "bees.pdf", 2, ["3.7"], id="speed"),
    known("At how many degrees does the glaze of porcelain mature?", "kilns.pdf", 1, ["1280"], id="glaze"),
    known("How large was the largest error at Dover?", "tides.pdf", 2, ["12 centimetres"], id="dover", type="fact"),
    {"id": "none", "question": "Who conducts the Vienna orchestra?", "answerable": False, "type": "unanswerable"},
]


def test_the_measures_as_json(own):
    (own.home / "set.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n", encoding="utf-8")
    ran = own.query("eval", "set.jsonl", "--json", RAG_EMBEDDER="embedded")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    check_output(told, "eval")
    assert told["questions"] == 4
    assert told["measures"]["answer"]["mean"] == 1
    assert told["measures"]["passages"]["mean"] == 1
    assert told["measures"]["cited"]["mean"] == 1
    assert told["measures"]["rightly refused"] == {"mean": 1, "low": 1, "high": 1, "questions": 1}
    assert told["conditions"]["papers"] == "3"
    assert [outcome["id"] for outcome in told["outcomes"]] == ["speed", "glaze", "dover", "none"]
    assert not (own.home / "vectorstore" / "history.sqlite").exists()


def test_what_cannot_be_measured(commands):
    (commands.home / "empty.jsonl").write_text("\n", encoding="utf-8")
    ran = commands.query("eval", "empty.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert "has no question" in ran.err
    assert "nowhere.jsonl cannot be read" in commands.query("eval", "nowhere.jsonl").err
