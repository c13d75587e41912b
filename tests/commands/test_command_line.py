"""What holds for all commands: which one runs, a home that is not there, unknown variables, pipes, a yes first."""

import json
import unicodedata

import pytest

from ragscience.core.serialization import to_json
from tests.pdf_factory import make_pdf
from tests.screens.emulator import CommandTerminal


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["--home", "."], 0, "Type a question"),
        (["-q", "--reranker", "off"], 0, ""),
        (["--home", ".", "--json"], 2, "Give either a question or --from"),
        (["--from", "nowhere"], 2, "nowhere"),
        (["--colour"], 2, "--colour"),
        (["--home", ".", "What is fog?"], 0, "fog"),
    ],
)
def test_options_alone_are_the_chat_and_a_question_is_answered(own, arguments, code, shown):
    ran = own.query(*arguments)
    assert ran.code == code, ran
    assert shown in ran.out + ran.err


def test_a_home_is_made_by_init_or_by_its_first_papers(own, tmp_path):
    for _ in range(2):
        ran = own.ingest("init", "--home", tmp_path / "new")
        assert (ran.code, str(tmp_path / "new" / "papers") in ran.err) == (0, True)
    assert "no PDFs found" in own.ingest("--home", tmp_path / "new").err
    paper = make_pdf(tmp_path / "fog.pdf", ["Fog forms where moist air cools."])
    assert own.ingest(paper, "--home", tmp_path / "other").code == 0
    assert "1" in own.ingest("list", "--home", tmp_path / "other").out


def test_an_unknown_variable_is_a_warning_with_the_nearest_name(own):
    ran = own.run("ingest.py", "list", RAG_TOPK="3", RAG_SOMETHING_ELSE_ALTOGETHER="1")
    assert ran.code == 0
    assert "There is no setting RAG_TOPK; it is ignored. Is it RAG_TOP_K?" in ran.err
    assert "There is no setting RAG_SOMETHING_ELSE_ALTOGETHER; it is ignored. `python" in ran.err


@pytest.mark.parametrize("command", [["history", "delete", "--all"], ["audit", "--delete-all"]])
def test_deleting_everything_wants_a_yes(own, command):
    own.query("What is fog?")
    ran = own.query(*command)
    assert (ran.code, "Add --yes" in ran.err) == (2, True)
    assert _answered(own, command, "n\n") == 130
    assert "fog" in own.query("history").out
    assert "fog" in own.query("audit").out
    assert _answered(own, command, "y\n") == 0
    assert "fog" not in own.query(*command[:1]).out
    assert own.query(*command, "--yes").code == 0


def _answered(own, command, answer):
    """The exit code of a command whose question a person on a terminal answers so."""
    with CommandTerminal(own.home, "query.py", *command) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type(answer)
        return terminal.end()


def test_json_escapes_what_a_terminal_would_obey():
    hidden = "\u202e\u2066\u200f\u061c\x9b\x85\u2028\ufeff"
    text = to_json({hidden: f"a{hidden}b é 中 \u05d0"})
    assert not [one for one in text if unicodedata.category(one) in ("Cf", "Cc", "Zl", "Zp")]
    assert json.loads(text) == {hidden: f"a{hidden}b é 中 \u05d0"}
    assert "é 中 \u05d0" in text
