"""What a person sees: every command of the README and of the chat, on a real terminal of several widths."""

import re
from pathlib import Path

import pytest

from ragscience.cli.chat_commands import COMMANDS
from tests.screens.record import snapshot
from tests.screens.rules import escape_codes, passes_width
from tests.screens.sessions import FURTHER, NARROW, RECORDED, TYPED, WIDTHS, Step, keep_steps, kept_steps, make_steps
from tests.test_docs import BLOCK, ROOT

FOLDER = Path(__file__).parent
COLOUR = re.compile(r"\x1b\[[0-9;]*?\b(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])\b[0-9;]*m")


@pytest.fixture(scope="session")
def steps_at(made_once):
    """`steps_at(columns)`: the session at that width, made once a run."""

    def steps(columns):
        def make(folder):
            environment = {"NO_COLOR": "1"} if columns == NARROW else {}
            keep_steps(make_steps(columns, **environment), folder / "steps.json")

        return kept_steps(made_once(f"screens-{columns}", make) / "steps.json")

    return steps


@pytest.fixture(params=WIDTHS)
def columns(request):
    return request.param


@pytest.fixture
def steps(columns, steps_at):
    return steps_at(columns)


def test_every_command_ends_well(steps):
    assert [(step.line, step.code) for step in steps if step.code and step.line not in FURTHER] == []


def test_every_command_of_the_chat_is_typed(steps):
    assert set(COMMANDS) - {line.split()[0] for line in TYPED} == set()
    shown = next(step.shown for step in steps if step.line == "/help")
    assert set(COMMANDS) <= {row.split()[0] for row in shown if row.strip()}


def test_no_line_passes_the_width(steps):
    assert [(step.line, rows) for step in steps if (rows := passes_width(step))] == []


def test_no_escape_code_can_be_read(steps):
    assert [(step.line, rows) for step in steps if (rows := escape_codes(step))] == []


def test_without_colours_nothing_has_one(steps_at):
    assert any(COLOUR.search(step.written) for step in steps_at(RECORDED))
    assert [step.line for step in steps_at(NARROW) if COLOUR.search(step.written)] == []


def test_the_screens_are_those_that_are_kept(steps_at):
    kept = (FOLDER / f"{RECORDED}.txt").read_text(encoding="utf-8")
    assert snapshot(steps_at(RECORDED)) == kept, (
        "PYTHONPATH=. .venv/bin/python -m tests.screens.record writes them anew"
    )


def test_the_readme_shows_what_comes_out(steps_at):
    """`[…]` stands for what is left out; nothing answers at the address that the tests have for Ollama."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("127.0.0.1:11434", "127.0.0.1:9")
    bodies = [match["body"] for match in BLOCK.finditer(text) if match["language"] == "console" and not match["mark"]]
    examples = [example.partition("\n") for body in bodies for example in re.split(r"^\$ ", body, flags=re.M)[1:]]
    shown = {}
    for step in steps_at(RECORDED):
        shown.setdefault(step.line, " ".join(" ".join(step.shown).split()))
    compared = [(line, " ".join(printed.split())) for line, _, printed in examples if printed.strip()]
    assert len(compared) > 1
    for line, printed in compared:
        assert re.fullmatch(".*".join(map(re.escape, printed.split("[…]"))), shown[line]), shown[line]


def step(*shown, line="python query.py list", broken=()):
    return Step(line, list(shown), list(broken), "")


def test_a_line_that_passes_the_width_is_seen():
    assert passes_width(step(broken=["one two t"])) == ["one two t"]
    assert passes_width(step(broken=["https://example.org/a"])) == []
    assert passes_width(step(broken=["one two t"], line="python query.py bib --cited last")) == []


@pytest.mark.parametrize("row", ["\x1b[0m", "a [1;31mred[0m one", "]8;;file:///a.pdf"])
def test_an_escape_code_is_seen(row):
    assert escape_codes(step("fine [1] and [2, 3]", row)) == [row]
