"""Conversations that last, through the commands: kept, gone on with, found again, written out and deleted."""

import json
import sqlite3
import stat
from contextlib import closing

import pytest

from tests.sources.bib_making import parsed

SPEED = "How fast do bees fly in fog?"
GLAZE = "At which temperature does the glaze mature?"


def kept(own, *key):
    return own.json("query.py", "history", "show", *key, shape="history show")


def listed(own):
    return own.json("query.py", "history", "list", shape="history list")["conversations"]


def test_a_question_is_a_conversation_of_one_turn_with_all_that_was_answered(own):
    answer = own.json("query.py", "ask", SPEED, shape="ask")
    assert answer["searched"] == SPEED
    assert answer["created_at"].endswith("+00:00")
    assert answer["citations"][0]["path"].endswith("bees.pdf")
    shown = kept(own, answer["answer_id"][:7])
    assert shown["conversation"]["conversation"] == answer["conversation"]
    assert shown["conversation"]["title"] == SPEED
    (turn,) = shown["turns"]
    assert turn | {"warnings": answer["warnings"]} == answer
    assert stat.S_IMODE((own.home / "vectorstore" / "history.sqlite").stat().st_mode) == 0o600


def test_a_named_conversation_has_its_history_in_mind(own):
    own.query("ask", "How do honeybees steer?", "--chat", "bees")
    follow_up = json.loads(own.query("ask", "And what about them in fog?", "--chat", "bees", "--json").out)
    assert follow_up["searched"].startswith("bees.pdf · ")
    alone = json.loads(own.query("ask", "And what about them in fog?", "--json").out)
    assert alone["searched"] == "And what about them in fog?"
    assert [item["turns"] for item in listed(own)] == [1, 2]


def test_continue_goes_on_with_the_last_conversation(own):
    own.query(GLAZE)
    own.query(SPEED)
    ran = own.query("-c", stdin=b"And in clear air?\n/history\n")
    assert f"Continuing “{SPEED}”, 1 turn." in ran.err
    assert f"  1  {SPEED}" in ran.out
    assert "  2  And in clear air?" in ran.out
    assert own.query("ask", "-c", GLAZE).code == 0
    assert [(item["title"], item["turns"]) for item in listed(own)] == [(SPEED, 3), (GLAZE, 1)]


def test_the_chat_keeps_its_turns_and_clear_begins_a_new_one(own, tmp_path):
    typed = [SPEED, "/clear", GLAZE, f"/save {tmp_path}/a.md", "/history"]
    ran = own.query("chat", "--chat", "day one", stdin="\n".join(typed).encode())
    assert "A new conversation, day one." in ran.err
    assert [(item["name"], item["title"]) for item in listed(own)] == [(None, GLAZE), ("day one", SPEED)]
    saved = (tmp_path / "a.md").read_text()
    assert GLAZE in saved
    assert SPEED not in saved
    again = own.query("--chat", "day one", stdin=b"/history\n/sources\n")
    assert f"Continuing “{SPEED}” (day one), 1 turn." in again.err
    assert "[1] bees.pdf, p.2" in again.out


@pytest.mark.parametrize("how", [["--no-history"], []], ids=["flag", "setting"])
def test_without_history_nothing_is_kept(own, how):
    more = {} if how else {"RAG_HISTORY": "false"}
    answer = json.loads(own.query("ask", SPEED, "--json", *how, **more).out)
    assert answer["conversation"] is None
    own.query("chat", *how, stdin=SPEED.encode(), **more)
    own.query("ask", SPEED, "--chat", "x", *how, **more)
    assert not (own.home / "vectorstore" / "history.sqlite").exists()


def test_search_finds_a_turn_by_its_words(own):
    own.query(SPEED)
    own.query(GLAZE)
    ran = own.query("history", "search", "temperature mature")
    assert f"> {GLAZE}" in ran.out
    assert SPEED not in ran.out
    nothing = own.query("history", "search", "zebra")
    assert (nothing.code, nothing.out) == (4, "")
    assert own.query("history", "search", "?").code == 2


def test_export_writes_markdown_and_bibtex(own, tmp_path):
    for question in (SPEED, GLAZE, "Who won the chess olympiad in Batumi?"):
        own.query("ask", question, "--chat", "notes")
    markdown = own.query("history", "export", "notes").out
    assert markdown.startswith("# notes\n")
    assert f"## 1. {SPEED}\n" in markdown
    assert ". bees.pdf, p.2: “" in markdown
    assert "## 3. Who won" in markdown
    ran = own.query("history", "export", "notes", "-o", tmp_path / "a.md")
    assert ran.out == ""
    assert (tmp_path / "a.md").read_text() == markdown
    bib = own.query("history", "export", "--bib").out
    entries = parsed(bib)
    assert len(entries) == len({item["file"] for turn in kept(own)["turns"] for item in turn["citations"]})
    assert "Navigation of honeybees in fog" in [fields.get("title") for _, fields in entries.values()]
    assert str(own.home) not in bib
    refusal = kept(own)["turns"][2]["answer_id"]
    assert "cites no paper" in own.query("history", "export", refusal, "--bib").err
    for target, why in ((tmp_path / "no" / "a.md", "There is no folder"), (tmp_path, f"{tmp_path} is a folder")):
        ran = own.query("history", "export", "-o", target)
        assert ran.code == 2
        assert why in ran.err
        assert "Name a file, in a folder that is there." in ran.err


def test_the_bibliography_of_an_answer_a_paper_and_the_library(own, tmp_path):
    own.query(SPEED)
    last = own.query("bib", "--cited", "last")
    answer_id = kept(own)["turns"][0]["answer_id"]
    assert last.out == own.query("bib", "--cited", answer_id[:8]).out
    assert len(parsed(last.out)) == len({item["file"] for item in kept(own)["turns"][0]["citations"]})
    whole, one = parsed(own.query("bib").out), parsed(own.query("bib", "bees.pdf").out)
    assert len(whole) == 3
    assert one.items() <= whole.items()
    assert json.loads(own.ingest("show", "bees.pdf", "--json").out)["bibtex_key"] in one
    written = own.query("bib", "--csl", "-o", tmp_path / "all.json")
    assert (written.out, written.code) == ("", 0)
    assert {item["id"] for item in json.loads((tmp_path / "all.json").read_text())} == whole.keys()


def test_delete_needs_to_be_told_what(own):
    for question in (SPEED, GLAZE):
        own.query("ask", question, "--chat", "notes")
    own.query(SPEED)
    assert own.query("history", "delete").code == 2
    assert own.query("history", "delete", "1", "--all").code == 2
    assert own.query("history", "delete", "nobody").code == 4
    first = kept(own, "notes")["turns"][0]["answer_id"]
    assert "1 turn deleted." in own.query("history", "delete", first).err
    assert [item["title"] for item in listed(own)] == [SPEED, GLAZE]
    assert "1 turn deleted." in own.query("history", "delete", "notes").err
    assert len(listed(own)) == 1
    assert "1 turn deleted." in own.query("history", "delete", "--all", "--yes").err
    assert listed(own) == []
    assert "No conversations are saved now." in own.query("history", "delete", "--all", "--yes").err


def another_version(path):
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")


def damaged(path):
    path.write_bytes(b"no database at all" * 1000)


def in_the_way(path):
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "code", "said"),
    [(another_version, 5, "another version (schema 99"), (damaged, 1, "damaged"), (in_the_way, 1, "history.sqlite")],
)
def test_a_history_that_cannot_be_used_costs_a_warning_and_no_answer(own, spoil, code, said):
    path = own.home / "vectorstore" / "history.sqlite"
    if spoil is another_version:
        own.query(GLAZE)
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    ran = own.query("ask", SPEED, "--json", "-c")
    answer = json.loads(ran.out)
    assert ran.code == 0
    assert "(bees.pdf, p.2)" in answer["answer"]
    assert answer["conversation"] is None
    assert any("not kept" in warning and said in warning for warning in answer["warnings"])
    assert any("cannot be read" in warning for warning in answer["warnings"])
    assert "Traceback" not in ran.err
    chat = own.query(stdin=f"{SPEED}\n{SPEED}\n".encode())
    assert chat.out.count("Sources:") == 2
    assert chat.err.count("not kept") == 1
    ran = own.query("history", "list")
    assert ran.code == code
    assert ran.err.startswith("error: ")
    assert said in ran.err
    assert ran.err.count("\n") == 2
    if path.is_file():
        assert path.read_bytes() == before
