import sqlite3
import stat
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import NothingFound, RagScienceError, UsageError
from ragscience.core.settings import load_settings
from ragscience.engine import Engine
from ragscience.library.conversation_names import check_name
from ragscience.library.history import History

from .making import answer, turn


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.sqlite"


@pytest.fixture
def history(path):
    with History.open_for_writing(path) as opened:
        yield opened


def questions(kept):
    return [item.answer.question for item in kept]


def test_a_conversation_is_kept_with_all_that_its_answers_rest_on(path, history):
    first, second = (
        turn("How fast?", at="2026-01-31T09:00:00+00:00"),
        turn("And in fog?", at="2026-01-31T09:05:00+00:00"),
    )
    number = history.add([first], name="bees")
    assert history.add([second], conversation_id=number) == number
    with History.open(path) as other:
        (found,) = other.conversations()
        assert (found.conversation_id, found.name, found.title, found.turns) == (number, "bees", "How fast?", 2)
        assert (found.started_at, found.changed_at) == (first[1], second[1])
        kept = other.turns(number)
    assert [(item.answer, item.created_at, item.conversation_id) for item in kept] == [
        (*first, number),
        (*second, number),
    ]


def test_each_new_conversation_has_a_number_that_was_never_used(history):
    one, two = history.add([turn()]), history.add([turn()])
    history.delete(None)
    assert len({one, two, history.add([turn()])}) == 3


def test_the_last_conversation_is_the_one_with_the_newest_turn(history):
    one, two = history.add([turn("one")]), history.add([turn("two")])
    assert history.last().conversation_id == two
    history.add([turn("more")], conversation_id=one)
    assert history.last().conversation_id == one
    assert [item.title for item in history.conversations()] == ["one", "two"]


def test_a_name_is_found_again_by_any_writer(history):
    one = history.add([turn()], name="thesis")
    assert history.add([turn()], name="thesis") == one
    assert history.named("thesis").turns == 2
    assert history.named("other") is None


def test_a_deleted_conversation_begins_anew_under_its_name(history):
    one = history.add([turn()], name="thesis")
    history.delete(history.conversation(one))
    two = history.add([turn()], conversation_id=one, name="thesis")
    assert two != one
    assert history.named("thesis").conversation_id == two


def test_what_is_kept_already_is_left_as_it_is(history):
    given_twice = turn()
    one = history.add([given_twice])
    history.add([given_twice, turn("next")], conversation_id=one)
    assert questions(history.turns(one)) == ["How fast?", "next"]
    assert len(history.search("how", 9)) == 1
    history.add([turn("other words", answer_id=given_twice[0].answer_id)], conversation_id=one)
    assert questions(history.turns(one)) == ["How fast?", "next"]
    assert history.add([]) is None


def test_nothing_kept_is_empty_and_reading_makes_no_file(path):
    with History.open(path) as nothing:
        assert nothing.conversations() == []
        assert nothing.last() is None
        assert nothing.answer() is None
        assert nothing.search("fog", 5) == []
        with pytest.raises(NothingFound):
            nothing.find("1")
        with pytest.raises(RagScienceError, match="not open for writing"):
            nothing.add([turn()])
    assert not path.exists()


def test_an_answer_is_found_by_the_beginning_of_its_id(history):
    for answer_id in ("aa11", "aa12", "bb", "bb9"):
        history.add([turn(answer_id=answer_id)])
    assert history.answer("aa12").answer.answer_id == "aa12"
    assert history.answer("bb").answer.answer_id == "bb"
    assert history.answer("").answer.answer_id == "bb9"
    assert history.answer("cc") is None
    with pytest.raises(UsageError, match="Several answers begin with aa: aa11, aa12"):
        history.answer("aa")
    with pytest.raises(UsageError):
        history.find("a")


def test_a_key_is_a_name_then_a_number_then_an_answer(history):
    named = history.add([turn(answer_id="100000000001")], name="1000")
    plain = history.add([turn(answer_id="abc")])
    assert history.find(" 1000 ").conversation_id == named
    assert history.find(str(plain)).conversation_id == plain
    assert history.find("10000").answer.answer_id == "100000000001"
    assert history.find("ab").answer.answer_id == "abc"
    for nothing in ("", "9" * 18, "9" * 40, "%", "_"):
        with pytest.raises(NothingFound):
            history.find(nothing)


@pytest.mark.parametrize("index", [True, False], ids=["by index", "by reading"])
def test_a_search_finds_turns_that_have_every_word(path, history, index):
    history.add([turn("How fast do bees fly?", "In fog 3.7 m/s."), turn("Which glaze?", "Cobalt blue, at 1280 °C.")])
    history.add([turn("Speed in FOG?", "Slow."), turn("snake_case?", "Yes.")])
    if not index:
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE turns_text")
            database.commit()
    assert questions(history.search("fog", 9)) == ["Speed in FOG?", "How fast do bees fly?"]
    assert questions(history.search("fog", 1)) == ["Speed in FOG?"]
    assert questions(history.search("bees FOG", 9)) == ["How fast do bees fly?"]
    assert questions(history.search("coba", 9)) == ["Which glaze?"]
    assert questions(history.search("snake_case", 9)) == ["snake_case?"]
    assert questions(history.search("3.7", 9)) == ["How fast do bees fly?"]
    assert history.search("bees cobalt", 9) == []
    assert history.search("x_case", 9) == []
    with pytest.raises(UsageError):
        history.search(" ?! ", 9)


def test_a_search_finds_inside_words_of_scripts_without_blanks(history):
    history.add([turn("蜜蜂如何在雾中飞行", "…")])
    assert questions(history.search("雾中", 9)) == ["蜜蜂如何在雾中飞行"]


def test_turns_that_the_index_does_not_have_are_found_by_reading(path, history):
    history.add([turn("one fog")])
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM turns_text")
        database.commit()
    history.add([turn("two fog")])
    assert questions(history.search("fog", 9)) == ["two fog", "one fog"]


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
    number = history.add(
        [(answer("caf\udce9?", "\x00 nul\udcff", answer_id="ab\udce9"), "2026-01-01")], name="caf\udce9"
    )
    (kept,) = history.turns(number)
    assert (kept.answer.question, kept.answer.text) == ("caf\udce9?", "\x00 nul\udcff")
    assert history.conversations()[0].title == "caf\ufffd?"
    assert history.delete(kept) == 1


def test_deleting_takes_a_turn_a_conversation_or_everything(history):
    one = history.add([turn("one", answer_id="a1"), turn("two", answer_id="a2")])
    two = history.add([turn("three", answer_id="a3")])
    three = history.add([turn("four", answer_id="a4")])
    assert history.delete(history.answer("a1")) == 1
    assert questions(history.turns(one)) == ["two"]
    assert history.delete(history.answer("a2")) == 1
    assert history.conversation(one) is None
    assert history.delete(history.conversation(two)) == 1
    assert [item.conversation_id for item in history.conversations()] == [three]
    assert history.search("three", 9) == []
    assert history.delete(None) == 1
    assert history.conversations() == []


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


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "12", "a\x1b[2Jb", "\u202eevil", "caf\udce9"])
def test_a_name_that_cannot_be_one_is_refused(name):
    with pytest.raises(UsageError):
        check_name(name)


def test_a_name_is_kept_without_white_space_around_it():
    assert check_name("  my  thesis 2 ") == "my thesis 2"


def altered(path, old, new):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE turns SET record = replace(record, ?, ?)", (old, new))


def test_an_altered_turn_is_left_out_and_said_to_be(path, history):
    number = history.add([turn("How fast?", "At 47 m/s.", answer_id="a1"), turn("And now?", "At 5.", answer_id="a2")])
    altered(path, "47", "46")
    with History.open(path) as other:
        assert other.damage == ""
        assert questions(other.turns(number)) == ["And now?"]
        assert other.answer("a1") is None
        assert other.search("fast", 5) == []
        assert other.damage.startswith("1 saved answer is damaged and left out.")


def test_the_turns_of_an_earlier_version_are_read_and_get_checksums(path, history):
    number = history.add([turn("How fast?", "At 47 m/s.")])
    history.__exit__(None, None, None)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE turns DROP COLUMN checksum")
    with History.open(path) as older:
        assert questions(older.turns(number)) == ["How fast?"]
    with History.open_for_writing(path) as newer:
        assert questions(newer.turns(number)) == ["How fast?"]
        altered(path, "47", "46")
        assert newer.turns(number) == []


def test_a_damaged_answer_is_a_warning_of_the_engine(path, tmp_path):
    (tmp_path / "vectorstore").mkdir()
    with History.open_for_writing(tmp_path / "vectorstore" / "history.sqlite") as history:
        history.add([turn("How fast?", "At 47 m/s.")], name="bees")
    altered(tmp_path / "vectorstore" / "history.sqlite", "47", "46")
    told = []
    with Engine.open(tmp_path, load_settings(home=tmp_path, offline=True), on_event=told.append) as engine:
        _, turns = engine.history.conversation("bees")
        assert turns == []
        assert engine.dialogue(name="bees").warnings == [told[-1].text]
    assert "1 saved answer is damaged" in told[-1].text
