"""`query.py eval` as a person runs it."""

import json
import shutil

import pytest

from tests.commands.papers import fill
from tests.conftest import NOBODY, Commands
from tests.output_schemas import check_output
from tests.pdf_factory import make_pdf


def known(text, file, page, must, **more):
    return {
        "question": text, "must_contain": must, "evidence": [{"file": file, "page": page}], "type": "number"
    } | more  # fmt: skip


MACHINE = "Kelvin-7 is a tide-predicting machine of brass that sums ten harmonic constituents."
QUESTIONS = [
    known("What is the mean flight speed of bees in fog?", "bees.pdf", 2, ["3.7"], id="speed"),
    known("At how many degrees does the glaze of porcelain mature?", "kilns.pdf", 1, ["1280"], id="glaze"),
    known("How large was the largest error at Dover?", "tides.pdf", 2, ["12 centimetres"], id="dover", type="fact"),
    {"id": "none", "question": "Who conducts the Vienna orchestra?", "answerable": False, "type": "unanswerable"},
]


@pytest.fixture(scope="module")
def read_once(tmp_path_factory, model_cache):
    """A library of the three papers; the tests get copies of it."""
    made = Commands(tmp_path_factory.mktemp("eval"))
    fill(made.home / "papers")
    make_pdf(made.home / "papers" / "machines.pdf", [f"Machines\n\n{MACHINE}"])
    nowhere = {"RAG_OLLAMA_URL": NOBODY, "RAG_CACHE_FOLDER": str(model_cache), "RAG_EMBEDDER": "embedded"}
    assert made.ingest("add", "-q", **nowhere).code == 0
    (made.home / "set.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n", encoding="utf-8")
    return made.home


@pytest.fixture
def home(read_once, tmp_path):
    shutil.copytree(read_once, tmp_path / "copy")
    return Commands(tmp_path / "copy")


def test_the_measures_as_json(home):
    ran = home.query("eval", "set.jsonl", "--json", RAG_EMBEDDER="embedded")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    check_output(told, "eval")
    assert told["questions"] == 4
    assert told["measures"]["answer"]["mean"] == 1
    assert told["measures"]["passages"]["mean"] == 1
    assert told["measures"]["cited"]["mean"] == 1
    assert told["measures"]["rightly refused"] == {"mean": 1, "low": 1, "high": 1, "questions": 1}
    assert told["conditions"]["papers"] == "4"
    assert [outcome["id"] for outcome in told["outcomes"]] == ["speed", "glaze", "dover", "none"]
    assert not (home.home / "vectorstore" / "history.sqlite").exists()


def test_what_cannot_be_measured(commands):
    (commands.home / "empty.jsonl").write_text("\n", encoding="utf-8")
    ran = commands.query("eval", "empty.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert "has no question" in ran.err
    assert "nowhere.jsonl cannot be read" in commands.query("eval", "nowhere.jsonl").err


def test_two_ways_of_asking_are_compared_question_by_question(home):
    args = ("eval", "set.jsonl", "--against", "agent", "--json", "-q")
    ran = home.query(*args, RAG_EMBEDDER="embedded")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    check_output(told, "eval")
    assert (told["conditions"]["mode"], told["conditions"]["profile"]) == ("ask", "default")
    assert told["against"]["conditions"]["mode"] == "agent"
    found = told["comparison"]["measures"]
    assert found["all evidence"] == {
        "first": 1, "second": 1, "higher": 0, "lower": 0,
        "difference": {"mean": 0, "low": 0, "high": 0, "questions": 3},
    }  # fmt: skip
    assert found["searches"]["first"] == 1 < found["searches"]["second"]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (
            ["set.jsonl", "--mode", "swarm"],
            "'swarm' is no mode. Take one of ask, agent, corrective, graph, or a profile: default",
        )
    ],
)
def test_what_makes_no_sense_is_said_with_the_way_out(commands, args, complaint):
    ran = commands.query("eval", *args)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
