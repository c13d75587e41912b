import sqlite3
import stat
import time
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragscience.core.errors import UsageError
from ragscience.library import history as history_module
from ragscience.library.history import History
from ragscience.library.history_database import place_of, without_credentials
from tests.conftest import ROOT
from tests.library.answers_made import audited, chunk, record, turn


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.sqlite"


@pytest.fixture
def history(path):
    with History.open_for_writing(path) as opened:
        yield opened


def questions(kept):
    return [item.answer.question for item in kept]


def test_a_search_finds_turns_that_have_every_word(history):
    history.add([turn("How fast do bees fly?", "In fog 3.7 m/s."), turn("Which glaze?", "Cobalt blue, at 1280 °C.")])
    history.add([turn("Speed in FOG?", "Slow."), turn("snake_case?", "Yes.")])
    assert questions(history.search("fog", 9)) == ["Speed in FOG?", "How fast do bees fly?"]
    assert questions(history.search("fog", 1)) == ["Speed in FOG?"]
    assert questions(history.search("bees FOG", 9)) == ["How fast do bees fly?"]
    assert questions(history.search("coba", 9)) == ["Which glaze?"]
    assert questions(history.search("snake_case", 9)) == ["snake_case?"]
    assert questions(history.search("3.7", 9)) == ["How fast do bees fly?"]
    assert questions(history.search("cöba", 9)) == ["Which glaze?"]
    assert history.search("bees cobalt", 9) == []
    assert history.search("x_case", 9) == []
    with pytest.raises(UsageError):
        history.search(" ?! ", 9)


@settings(max_examples=40)  # each opens a history of its own
@given(text=st.text(), words=st.text(st.sampled_from('ab"*()^:-+_ \\%!NEAR')))
def test_no_text_breaks_a_search(tmp_path_factory, text, words):
    with History.open_for_writing(tmp_path_factory.mktemp("wild") / "h.sqlite") as history:
        history.add([turn(text, words)])
        for asked in (text, words):
            try:
                history.search(asked, 9)
            except UsageError:
                continue


def test_what_a_paper_was_asked_in_odd_bytes_is_kept(history):
    number = history.add([turn("caf\udce9?", "\x00 nul\udcff", answer_id="ab\udce9")], name="caf\udce9")
    (kept,) = history.turns(number)
    assert (kept.answer.question, kept.answer.text) == ("caf\udce9?", "\x00 nul\udcff")
    assert history.conversations()[0].title == "caf\ufffd?"
    assert history.delete(kept) == 1


def test_what_is_deleted_is_gone_from_the_disk(path, history):
    history.add([turn("zanzibarquestion", "yonderanswer")])
    history.add([turn("stays", "here")])
    assert b"zanzibarquestion" in b"".join(item.read_bytes() for item in path.parent.iterdir())
    history.delete(history.search("zanzibarquestion", 1)[0])
    left = b"".join(item.read_bytes() for item in path.parent.iterdir())
    assert b"stays" in left
    assert b"zanzibar" not in left
    assert b"yonder" not in left


def test_a_history_is_for_its_owner_alone(path, history):
    history.add([turn()])
    files = list(path.parent.iterdir())
    assert len(files) > 1, "the write-ahead log should be there, too"
    assert {stat.S_IMODE(item.stat().st_mode) for item in files} == {0o600}


@pytest.mark.parametrize(
    ("change", "name", "kept"),
    [
        ("UPDATE conversations SET name = 'thesiz'", "", ["How fast?", "And now?"]),
        ("UPDATE turns SET question = 'How last?' WHERE answer_id = 'a1'", "thesis", ["And now?"]),
        ("DELETE FROM turns WHERE answer_id = 'a2'", "", ["How fast?"]),
        ("DELETE FROM conversations", "", ["How fast?", "And now?"]),
        ("UPDATE conversations SET conversation_id = 7", "", ["How fast?", "And now?"]),
    ],
)
def test_no_altered_name_or_question_is_listed_and_no_turn_is_lost_unsaid(path, history, change, name, kept):
    history.add([turn("How fast?", "At 47 m/s.", answer_id="a1"), turn("And now?", "At 5.", answer_id="a2")], name="x")
    history.add([turn("What?", "That.", answer_id="a3")])
    history.rename(1, "thesis")
    history.delete(history.answer("a3"))
    history.add([turn("What?", "That.", answer_id="a4")], name="thesis")
    history.delete(history.answer("a4"))
    assert (history.conversations()[0].name, history.damage) == ("thesis", "")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change)
    with History.open(path) as other:
        (found,) = other.conversations()
        assert (found.name, found.title, found.turns) == (name, kept[0], len(kept))
        assert other.questions(5) == kept[::-1]
        assert "`" in other.damage


def test_a_turn_without_a_record_has_none_and_the_oldest_records_go(history, monkeypatch):
    monkeypatch.setattr(history_module, "AUDITED", 3)
    for number in range(5):
        history.add([audited(answer_id=f"a{number}"), turn(answer_id=f"b{number}")])
    assert [one["answer_id"] for one in history.audit(9)] == ["a4", "a3", "a2"]
    assert history.conversations()[0].turns == 2


def test_an_altered_record_is_left_out_and_said_to_be(path, history):
    history.add([audited(answer_id="a1"), audited(answer_id="a2")])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE audit SET record = replace(record, '3.7', '3.8') WHERE answer_id = 'a1'")
    assert [one["answer_id"] for one in history.audit(9)] == ["a2"]
    assert history.damage.startswith("1 audit record is damaged and left out.")


def test_a_list_reads_no_whole_answer(history):
    for number in range(150):
        history.add([turn(f"question {number}", "x" * 100_000)])
    history.last()
    began = time.thread_time()
    found = history.conversations()
    listing, began = time.thread_time() - began, time.thread_time()
    assert [history.turns(one.conversation_id)[0].answer.question for one in found] == [one.title for one in found]
    assert listing < 0.1 * (time.thread_time() - began)


def test_a_paper_that_has_just_left_leaves_no_name_of_its_file():
    (passage,) = record(papers={})["passages"]
    assert (passage["md5"], passage["url"], passage["path"]) == ("", "", "/papers/bees.pdf")
    assert place_of(chunk("x"), None) == {"md5": "", "start": 100, "end": 101}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("http://me:secret@host:1/v1", "http://host:1/v1"),
        ("https://secret@host", "https://host"),
        ("https://a:p@ss@host/x", "https://host/x"),
        ("https://host/x?token=secret#y", "https://host/x"),
        (
            "Ollama does not answer at http://me:secret@host: start it",
            "Ollama does not answer at http://host: start it",
        ),
        ("an@example.org asks a@b?", "an@example.org asks a@b?"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
    ],
)
def test_no_user_and_password_of_a_url_are_kept(text, kept):
    assert without_credentials(text) == kept
    assert without_credentials({"a": [text, 1, None]}) == {"a": [kept, 1, None]}


def test_warnings_come_once_and_without_secrets():
    made = record(warnings=("http://me:hunter2@host:11434 is down", "a warning"))
    assert made["warnings"] == ["a warning", "http://host:11434 is down"]


def test_every_field_is_in_the_documentation():
    text = (ROOT / "docs" / "audit.md").read_text()
    made = record()
    assert [name for name in (*made, *made["passages"][0], *made["library"]) if f"`{name}`" not in text] == []
