"""`query.py table`: a literature matrix, from a YAML file of questions to CSV, Markdown and JSON; and resumed."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT
from tests.output_schemas import check_output
from tests.warm_processes import WarmProcess

QUESTIONS = """
bees: How many bees were tracked?
speed in fog:
  question: What was the mean flight speed in fog?
  type: number
tracking:
  question: "Were bees tracked with radar?"
  type: yes/no
temperature:
  question: At what temperature does the glaze mature?
  type: number
"""


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.yaml"
    path.write_text(QUESTIONS)
    return path


def cells(ran, file):
    (row,) = (row for row in json.loads(ran.out)["rows"] if row["file"] == file)
    return row["cells"]


def test_each_value_has_its_quote_and_page(own, questions):
    ran = own.query("table", questions, "--json")
    assert ran.code == 0, ran.err
    check_output(json.loads(ran.out), "table")
    bees = cells(ran, "bees.pdf")
    assert bees["speed in fog"]["value"] == "3.7 metres"
    (speed,) = bees["speed in fog"]["values"]
    assert (speed["page"], speed["number"]) == (2, 3.7)
    assert "3.7 metres per second" in speed["quote"]
    assert cells(ran, "kilns.pdf")["temperature"]["values"][0]["number"] == 1280
    for file in ("kilns.pdf", "tides.pdf"):
        assert cells(ran, file)["speed in fog"]["value"] == "not stated"
    for row in json.loads(ran.out)["rows"]:
        for cell in row["cells"].values():
            assert all(value["quote"] and value["page"] for value in cell["values"])


def test_a_second_run_asks_only_what_is_new_or_changed(own, questions):
    assert json.loads(own.query("table", questions, "--json").out)["asked"] == 12
    again = json.loads(own.query("table", questions, "--json").out)
    assert again["asked"] == 0
    assert cells(own.query("table", questions, "--json"), "bees.pdf")["speed in fog"]["value"] == "3.7 metres"
    questions.write_text(QUESTIONS.replace("At what", "At which") + "new: What flies?\n")
    assert json.loads(own.query("table", questions, "--json").out)["asked"] == 6
    assert json.loads(own.query("table", questions, "--json", "--paper", "bees", "--fresh").out)["asked"] == 5
    for kept in (own.home / "vectorstore" / "cells").glob("*.json"):
        kept.write_bytes(kept.read_bytes()[:-9])
    assert json.loads(own.query("table", questions, "--json").out)["asked"] == 15
    assert not (own.home / "vectorstore" / "history.sqlite").exists()


@pytest.mark.kill
def test_a_killed_run_goes_on_without_asking_a_finished_cell_again(own, questions):
    names = [f"q{number}: How fast do bees fly in fog, number {number}?\n" for number in range(12)]
    questions.write_text("".join(names))
    folder = own.home / "vectorstore" / "cells"
    kept = lambda: sum(len(json.loads(file.read_text())["content"]) for file in folder.glob("*.json"))  # noqa: E731
    process = WarmProcess(
        [sys.executable, str(ROOT / "query.py"), "table", str(questions), "--json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RAG_HOME": str(own.home)},
    )
    with process:
        until = time.monotonic() + 60
        while kept() < 3 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    done = kept()
    assert 3 <= done < 36
    assert json.loads(own.query("table", questions, "--json").out)["asked"] == 36 - done


def test_csv_and_markdown_have_the_quotes(own, questions, tmp_path):
    ran = own.query("table", questions, "--csv", tmp_path / "t.csv", "--md", tmp_path / "t.md")
    assert "bees.pdf" in ran.out
    (bees,) = (row for row in rows_of(tmp_path / "t.csv") if row["paper"] == "bees.pdf")
    assert (bees["speed in fog"], bees["speed in fog: page"]) == ("3.7 metres", "2")
    assert "3.7 metres per second" in bees["speed in fog: quote"]
    text = (tmp_path / "t.md").read_text()
    assert "| 3.7 metres (p.2) |" in text
    assert "- **bees.pdf, speed in fog** (p.2): “" in text


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("", "has no columns.", "Write `name: question`"),
        ("- a\n- b\n", "has no names of columns.", "Write `name: question`"),
        ("a: {question: What is it?, type: text}", "line 1: expected ',' or '}', but got '?'.", "into quotes"),
        ("a: What?\nb: What?\na: Why?\n", "line 3: 'a' is there twice.", "a name of its own"),
        ("a:\n  question: What?\n  typ: list\n", "unknown key 'typ'. Did you mean 'type'?", "question, type, unit"),
        ("a:\n  question: What?\n  type: nummer\n", "unknown type 'nummer'. Did you mean 'number'?", "yes/no"),
        ("a:\n  type: list\n", "the column 'a' has no question.", "Write `name: question`"),
        ("a:\n  question: What?\n  unit: GB\n", "has the unit 'GB' and is no number.", "type: number"),
        ("2020: What?\n", "YAML reads the name 2020 as no text.", "quotes"),
        ("a:\n  question: What?\n  agree: 3\n", "`agree` of 'a' is 3.", "true or false"),
    ],
)
def test_what_is_wrong_with_the_file_is_one_line(commands, questions, text, message, fix):
    questions.write_text(text)
    ran = commands.query("table", questions)
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 2, ran.err
    assert message in ran.err
    assert fix in ran.err


def test_a_paper_that_is_not_there_and_a_file_that_is_not(own, questions, tmp_path):
    ran = own.query("table", questions, "--paper", "wasps")
    assert (ran.code, len(ran.err.splitlines())) == (4, 2)
    assert "wasps" in ran.err
    assert own.query("table", tmp_path / "none.yaml").code == 2
