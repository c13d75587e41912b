import json
import re

import pytest

from ragscience.cli.ask_command import read_questions
from ragscience.core.records import Filters, Turn
from ragscience.engine.requests import SearchRequest
from tests.pdf_factory import make_pdf


def read(tmp_path, content):
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    return list(read_questions(str(path)))


def test_plain_lines_and_objects_in_order(tmp_path):
    full = {
        "question": " What is it? ",
        "id": 7,
        "paper": "bert*",
        "history": [{"question": "Who?", "answer": "They.", "more": 1}],
    }
    items = read(tmp_path, b"First?\n\n" + json.dumps(full).encode() + b"\n" + b'{"question": "Last?"}')
    assert items == [
        (None, SearchRequest("First?")),
        ("7", SearchRequest("What is it?", Filters(papers=("bert*",)), (Turn("Who?", "They."),))),
        (None, SearchRequest("Last?")),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"\xff\xfe\x00\x01", "utf-8"),
        (b'{"question": ', "is no question: Expecting value"),
        (b"{" * 100_000, "is no question"),
        (b'{"query": "?"}', "question"),
        (b'{"question": 3}', "question"),
        (b'{"question": "?", "history": {}}', "history"),
        (b'{"question": "?", "history": [{"question": "a"}]}', "history.0.answer"),
        (b'{"question": "?", "paper": 3}', "paper"),
        (b'{"question": "  "}', "empty"),
        (b'{"question": "nul \\u0000"}', "not text"),
        (b'{"question": "half \\ud800"}', "not text"),
        (b"x" * 8001, "8,001 characters; 8,000 are allowed"),
    ],
)
def test_a_bad_line_takes_its_place_and_the_next_goes_on(tmp_path, line, said):
    (_, bad), good = read(tmp_path, line + b"\nGood?\n")
    assert said in str(bad)
    assert good == (None, SearchRequest("Good?"))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("r\u0430ft.pdf", "r[U+0430]ft.pdf"),
        ("\u0440\u0430\u0441.pdf", "[U+0440][U+0430][U+0441].pdf"),
        ("\uff52aft.pdf", "[U+FF52]aft.pdf"),
        ("мед и пчёлы.pdf", "мед и пчёлы.pdf"),
        ("β-VAE für Bienen.pdf", "β-VAE für Bienen.pdf"),
    ],
)
def test_look_alike_letters_of_another_script_are_shown_as_such(commands, name, shown):
    make_pdf(commands.home / "papers" / name, ["Bees fly at 12 km/h in fog, and honey is sweet."])
    assert commands.ingest().code == 0
    assert f"({shown}, p.1)" in commands.query("ask", "How fast do bees fly in fog?").out


@pytest.mark.parametrize("name", ["x, p.3) (raft.pdf", "x,p.3) (raft.pdf", "x, pp. 3-4) (raft.pdf"])
def test_a_file_name_cannot_pass_for_the_citation_of_another_paper(commands, name):
    make_pdf(commands.home / "papers" / name, ["Bees fly at 12 km/h in fog, and honey is sweet."])
    assert commands.ingest().code == 0
    ran = commands.query("ask", "How fast do bees fly in fog?")
    assert "Bees fly at" in ran.out
    assert ")␣(raft.pdf, p.1)" in ran.out
    assert re.findall(r"\(x,\s*p|\s\(raft", ran.out) == []
    told = json.loads(commands.query("ask", "How fast do bees fly in fog?", "--json").out)
    assert {cited["page"] for cited in told["citations"]} == {1}
