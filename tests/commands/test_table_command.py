"""`query.py table`: a literature matrix, from a YAML file of questions to CSV, Markdown and JSON; and resumed."""

import csv
import io
import json
import signal
import time

import pytest

from ragscience.review import matrix_files
from ragscience.review.columns import Column
from ragscience.review.matrix import Matrix, MatrixCell, MatrixRow
from ragscience.review.values import Value, with_number
from tests.conftest import started
from tests.ollama_server import OllamaServer, chat_model
from tests.output_schemas import check_output

QUESTIONS = """
bees: How many bees were tracked?
speed in fog:
  question: What was the mean flight speed in fog?
  type: number
tracking:
  question: "Were bees tracked with radar?"
  type: yes/no
glaze:
  question: At what temperature does the glaze mature?
  type: number
"""


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.yaml"
    path.write_text(QUESTIONS)
    return path


def values(ran, file):
    """The values of a paper's cells by the names of their columns."""
    whole = json.loads(ran.out)
    (row,) = (row for row in whole["rows"] if row["file"] == file)
    return {column["name"]: cell["values"] for column, cell in zip(whole["columns"], row["cells"], strict=True)}


def test_each_value_has_its_quote_and_page(own, questions):
    ran = own.query("table", questions, "--json")
    assert ran.code == 0, ran.err
    check_output(json.loads(ran.out), "table")
    bees = values(ran, "bees.pdf")
    (speed,) = bees["speed in fog"]
    assert (speed["text"], speed["page"], speed["number"]) == ("3.7 metres", 2, 3.7)
    assert "3.7 metres per second" in speed["quote"]
    assert bees["tracking"][0]["text"] == "yes"
    assert values(ran, "kilns.pdf")["glaze"][0]["number"] == 1280
    for file in ("kilns.pdf", "tides.pdf"):
        assert values(ran, file)["speed in fog"] == []
    for row in json.loads(ran.out)["rows"]:
        assert all(value["quote"] and value["page"] for cell in row["cells"] for value in cell["values"])


def test_a_second_run_asks_only_what_is_new_or_changed(own, questions):
    assert json.loads(own.query("table", questions, "--json").out)["asked"] == 12
    again = json.loads(own.query("table", questions, "--json").out)
    assert again["asked"] == 0
    assert values(own.query("table", questions, "--json"), "bees.pdf")["speed in fog"][0]["text"] == "3.7 metres"
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
    with started(own.home, "query.py", "table", questions, "--json") as process:
        until = time.monotonic() + 60
        while kept() < 3 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    done = kept()
    assert 3 <= done < 36
    assert json.loads(own.query("table", questions, "--json").out)["asked"] == 36 - done


def test_csv_markdown_and_the_page_have_the_quotes(own, questions, tmp_path):
    files = [tmp_path / f"t.{kind}" for kind in ("csv", "md", "html")]
    ran = own.query("table", questions, "--csv", files[0], "--md", files[1], "--html", files[2])
    assert "bees.pdf" in ran.out
    (bees,) = (row for row in rows_of(files[0].read_text("utf-8")) if row["paper"] == "bees.pdf")
    assert (bees["speed in fog"], bees["speed in fog: page"]) == ("3.7 metres", "2")
    assert "3.7 metres per second" in bees["speed in fog: quote"]
    assert "| 3.7 metres (p.2) |" in files[1].read_text()
    assert "- **bees.pdf, speed in fog** (p.2): “" in files[1].read_text()
    page = files[2].read_text()
    assert f'href="{(own.home / "papers" / "bees.pdf").as_uri()}#page=2"' in page
    assert "<summary>3.7 metres</summary>" in page


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def made(*cells, agree=False):
    """A matrix with a row for each text, which is its value and its quote."""
    column = Column("=cost|", "What does it <cost>?", "number", agree=agree)
    values = [with_number(column, Value(text, 3, f"<b>{text}</b> | it was", 0.9)) for text in cells]
    rows = [
        MatrixRow(f"-{i}&.pdf", f"/papers/-{i}&.pdf", "@title", (MatrixCell((one,)),)) for i, one in enumerate(values)
    ]
    return Matrix((column,), tuple(rows), 0)


def test_what_a_spreadsheet_would_compute_is_text():
    rows = rows_of(matrix_files.as_csv(made("-5", "=1+1")))
    assert [row["'=cost|"] for row in rows] == ["'-5", "'=1+1"]
    assert rows[0]["paper"] == "'-0&.pdf"
    assert rows[0]["title"] == "'@title"


def test_a_workbook_has_the_same_rows_and_computes_nothing(own, questions, tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed (requirements-tables.txt)")
    assert own.query("table", questions, "--xlsx", tmp_path / "t.xlsx", "--csv", tmp_path / "t.csv").code == 0
    head, *rows = openpyxl.load_workbook(tmp_path / "t.xlsx").active.iter_rows(values_only=True)
    listed = [dict(zip(head, [text or "" for text in row], strict=True)) for row in rows]
    assert listed == rows_of((tmp_path / "t.csv").read_text("utf-8"))
    sheet = openpyxl.load_workbook(io.BytesIO(matrix_files.as_workbook(made("=1+1", "\x01" + "x" * 40_000)))).active
    assert (sheet["C2"].value, sheet["C2"].data_type) == ("=1+1", "s")
    assert sheet["C3"].value == "x" * 32_767


def test_the_page_and_markdown_show_words_as_words():
    page = matrix_files.as_page(made("<i>5</i>"))
    assert "<i>" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;&lt;i&gt;5" in page
    assert 'href="file:///papers/-0%26.pdf#page=3"' in page
    assert "http" not in page.replace("http-equiv", "")
    head, _, row = matrix_files.as_markdown(made("5 | 6")).splitlines()[:3]
    assert head == "| paper | =cost\\| |"
    assert row == "| -0&.pdf | 5 \\| 6 (p.3) |"


def test_papers_that_should_agree_and_do_not_are_marked_with_both_quotes():
    assert not made("5 GB", "6 GB").differing()
    assert not made("1,000", "1000", "1 × 10^3", agree=True).differing()
    matrix = made("5", "6", agree=True)
    (said,) = matrix.differences()
    assert said.startswith("Papers differ on =cost|: 5 (-0&.pdf, p.3: “<b>5</b>")
    assert "6 (-1&.pdf, p.3" in said
    assert 'class="differs"' in matrix_files.as_page(matrix)
    assert said in matrix_files.as_markdown(matrix)


def test_a_language_models_value_must_be_on_the_page_that_it_cites(own, questions, monkeypatch):
    questions.write_text("fog:\n  question: What was the mean flight speed in fog?\n  type: number\n")
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        monkeypatch.setenv("RAG_OLLAMA_URL", server.url)
        server.script("The mean flight speed in fog was 3.7 metres per second (bees.pdf, p.2).")
        (value,) = values(own.query("table", questions, "--json", "--paper", "bees"), "bees.pdf")["fog"]
        assert (value["text"].split()[0], value["page"]) == ("3.7", 2)
        server.script("The mean flight speed in fog was 9.9 metres per second (bees.pdf, p.2).")
        ran = own.query("table", questions, "--json", "--paper", "bees", "--fresh")
        assert values(ran, "bees.pdf")["fog"] == []


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("", "has no columns.", "Write `name: question`"),
        ("- a\n- b\n", "has no columns.", "Write `name: question`"),
        ("a: {question: What is it?, type: text}", "line 1: expected ',' or '}', but got '?'.", "into quotes"),
        ("a: What?\nb: What?\na: Why?\n", "line 3: 'a' is there twice.", "a name of its own"),
        ("a:\n  question: What?\n  typ: list\n", "'a' has the unknown key 'typ'.", "question, type, unit"),
        (
            "a:\n  question: What?\n  type: nummer\n",
            "'a': type: Input should be 'text', 'number', 'yes/no'",
            "type, unit",
        ),
        ("a:\n  type: list\n", "'a': question: Field required.", "Write `name: question`"),
        ("a:\n  question: What?\n  unit: GB\n", "has the unit 'GB' and is no number.", "type: number"),
        ("2020: What?\n", "2020: name: Input should be a valid string.", "docs/evidence.md"),
        ("a:\n  question: What?\n  agree: 3\n", "'a': agree: Input should be a valid boolean", "docs/evidence.md"),
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
