"""`query.py eval` as a person runs it."""

import json

import pytest
from jsonschema import validate

from ragscience.terminal.json_output import SCHEMAS
from tests.doors.papers import fill


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


@pytest.fixture
def home(doors):
    fill(doors.home / "papers")
    assert doors.ingest("add", "-q", RAG_EMBEDDER="embedded").code == 0
    path = doors.home / "set.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n", encoding="utf-8")
    return doors


def test_the_measures_as_json(home):
    ran = home.query("eval", "set.jsonl", "--json", RAG_EMBEDDER="embedded", RAG_ANSWERABLE_THRESHOLD="0")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    validate(told, SCHEMAS["eval"])
    assert told["questions"] == 4
    assert told["measures"]["answer"]["mean"] == 1
    assert told["measures"]["passages"]["mean"] == 1
    assert told["measures"]["cited"]["mean"] == 1
    assert told["measures"]["rightly refused"] == {"mean": 0, "low": 0, "high": 0, "questions": 1}
    assert told["conditions"]["papers"] == "3"
    assert [outcome["id"] for outcome in told["outcomes"]] == ["speed", "glaze", "dover", "none"]
    assert not (home.home / "vectorstore" / "history.sqlite").exists()


def test_the_measures_as_a_table_and_a_page(home):
    with (home.home / "set.jsonl").open("a", encoding="utf-8") as file:
        file.write("{no json}\n")
    ran = home.query("eval", "set.jsonl", "--md", "out.md", "-k", "2", RAG_EMBEDDER="embedded")
    assert ran.code == 3
    assert "set.jsonl, line 5, is left out: it is not JSON" in ran.err
    assert "rightly refused" in ran.out
    assert "passages for an answer 2" in ran.out
    page = (home.home / "out.md").read_text(encoding="utf-8")
    assert page.startswith("# set.jsonl\n")
    assert "- line 5: it is not JSON" in page


def test_a_pattern_limits_the_papers_and_one_that_fits_none_fails_each_question(home):
    ran = home.query("eval", "set.jsonl", "--json", "-q", "--paper", "bees", RAG_EMBEDDER="embedded")
    told = json.loads(ran.out)
    assert told["types"]["fact"]["passages"]["mean"] == 0
    ran = home.query("eval", "set.jsonl", "--json", "-q", "--paper", "wasps", RAG_EMBEDDER="embedded")
    assert ran.code == 3
    told = json.loads(ran.out)
    validate(told, SCHEMAS["eval"])
    assert all("wasps" in outcome["error"] for outcome in told["outcomes"])


def test_the_filters_of_a_search_keep_an_evaluation_to_what_they_name(home):
    given = ("--kind", "table", "--section", "no such heading", "--year", "1066", "--author", "nobody")
    ran = home.query("eval", "set.jsonl", "--json", "-q", *given, RAG_EMBEDDER="embedded")
    told = json.loads(ran.out)
    validate(told, SCHEMAS["eval"])
    assert told["conditions"]["filters"] == "section='no such heading' kind=table author=nobody year=1066"
    assert not any(outcome["values"].get("any@4") for outcome in told["outcomes"])
    assert home.query("eval", "set.jsonl", "--kind", "tables").code == 2


def test_what_cannot_be_measured(doors):
    (doors.home / "empty.jsonl").write_text("\n", encoding="utf-8")
    ran = doors.query("eval", "empty.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert "has no question" in ran.err
    assert "nowhere.jsonl cannot be read" in doors.query("eval", "nowhere.jsonl").err
    (doors.home / "set.jsonl").write_text(json.dumps(QUESTIONS[0]), encoding="utf-8")
    ran = doors.query("eval", "set.jsonl", "--md", "nowhere/out.md")
    assert (ran.code, "nowhere is no folder" in ran.err) == (2, True)
