"""A question asked again: with what it was asked with, and each difference said; in one process, with real models."""

import hashlib
import json
import sqlite3
from contextlib import closing

import pytest

from config import load_settings
from ragscience.cli import history_commands as audit_view
from ragscience.cli.ask_command import ask_all
from ragscience.cli.history_commands import DIFFERENT
from ragscience.cli.screen import Screen
from ragscience.core.errors import NothingFound
from ragscience.core.records import Filters
from ragscience.core.serialization import to_json
from ragscience.engine import AskRequest, Engine
from ragscience.library.history_database import checksum_of
from ragscience.library.store import Home, Library
from tests.models.conftest import make_bert
from tests.ollama_server import OllamaServer, chat_model

SPEED = "How fast do bees fly in fog?"
TWO_PARTS = "At which temperature does the glaze mature, and how many harmonic constituents does the machine sum?"
SAME = 0


class Asked:
    """Asks as the command does, and asks again, over one home."""

    def __init__(self, home, capsys):
        self.home = Home(home)
        self._capsys = capsys

    def ask(self, *questions, k=None, filters=None, agent=False, **settings):
        """The last answer's JSON; more than one question are a conversation."""
        with self.engine(**settings) as engine:
            dialogue = engine.dialogue(name="talk") if len(questions) > 1 else None
            request = AskRequest("", filters or Filters(), top_k=k, agent=agent)
            for question in questions:
                how = {"screen": Screen(quiet=True), "as_json": True, "dialogue": dialogue, "highlight": None}
                assert ask_all(engine, (question, None), request, **how) == 0
        return json.loads(self._capsys.readouterr().out.splitlines()[-1])

    def engine(self, **settings):
        return Engine.open(self.home.root, load_settings(home=self.home.root, **settings))

    def again(self, answer, **today):
        with self.engine(**today) as engine:
            code = audit_view.replay_answer(engine, answer["answer_id"][:8], as_json=True)
        told = json.loads(self._capsys.readouterr().out)
        assert code == (SAME if told["same"] else DIFFERENT)
        return told

    def again_for_people(self, answer):
        with self.engine() as engine:
            audit_view.replay_answer(engine, answer["answer_id"], as_json=False)
        return self._capsys.readouterr().out

    def shown(self, answer):
        with self.engine() as engine:
            assert audit_view.show_audited(engine, answer["answer_id"], as_json=False) == 0
        return self._capsys.readouterr().out

    def listed(self):
        with self.engine() as engine:
            assert audit_view.list_audited(engine, 20, as_json=True) == 0
        return json.loads(self._capsys.readouterr().out)["answers"]

    def record(self, answer):
        with self.engine() as engine:
            return engine.history.audit_record(answer["answer_id"])

    def write(self, record):
        """Put an altered record in the place of the one that is kept."""
        text = to_json(record)
        with closing(sqlite3.connect(self.home.history)) as database, database:
            database.execute(
                "UPDATE audit SET record = ?, checksum = ? WHERE answer_id = ?",
                (text, checksum_of(record["at"], text), record["answer_id"]),
            )

    def remove(self, *files):
        with Library.open_for_writing(self.home) as library:
            library.remove_papers([paper.paper_id for paper in library.papers() if paper.file in files])


@pytest.fixture
def asked(own_home, capsys):
    return Asked(own_home, capsys)


def kinds(told):
    return {item["kind"] for item in told["differences"]}


def said(told, kind):
    return [item["message"] for item in told["differences"] if item["kind"] == kind]


def test_the_same_is_said_in_a_line_and_kept_nowhere(asked):
    answer = asked.ask(SPEED)
    assert asked.again_for_people(answer) == "The same: passages, scores, answer and verdicts.\n"
    assert [item["answer_id"] for item in asked.listed()] == [answer["answer_id"]]


def test_settings_of_the_record_hold_over_those_of_today(asked):
    answer = asked.ask(SPEED, top_k=2, profile="rrf", rerank="off", k=2)
    assert asked.record(answer)["models"]["reranker"] is None
    told = asked.again(answer)
    assert told["same"]
    assert said(told, "setting") == [
        "profile is default today; it is asked with rrf, as it was.",
        "rerank is auto today; it is asked with off, as it was.",
        "top_k is 4 today; it is asked with 2, as it was.",
    ]
    assert told["replayed"]["settings"]["top_k"] == 2
    assert told["replayed"]["k"] == 2
    assert "The differences above changed nothing." in asked.again_for_people(answer)


def test_a_record_that_does_not_say_what_was_set_is_asked_as_by_default(asked):
    answer = asked.ask(SPEED)
    record = asked.record(answer)
    del record["chosen"]
    asked.write(record)
    assert asked.again(answer, top_k=2)["same"]


def test_what_cannot_be_restored_is_said(asked):
    answer = asked.ask(SPEED)
    record = asked.record(answer)
    record["settings"] |= {"magic": 7, "ollama_url": "http://127.0.0.1:10"}
    del record["settings"]["graph"]
    asked.write(record)
    told = asked.again(answer)
    assert said(told, "not restored") == [
        "There is no setting magic any more; it was 7.",
        "The record does not say what graph was: it is as it is today.",
    ]
    assert told["replayed"]["settings"]["ollama_url"] == "http://127.0.0.1:9"
    record["settings"]["dense_weight"] = 0.9
    asked.write(record)
    assert any("not allowed any more" in text for text in said(asked.again(answer), "not restored"))


def test_a_record_never_has_a_file_read(asked, tmp_path):
    answer = asked.ask(SPEED)
    record = asked.record(answer)
    (tmp_path / "private").write_text("a secret")
    record["settings"]["answer_rules"] = f"@{tmp_path / 'private'}"
    asked.write(record)
    assert asked.again(answer)["replayed"]["settings"]["answer_rules"] == ""


def test_a_record_never_turns_offline_off(asked):
    answer = asked.ask(SPEED)
    told = asked.again(answer, offline=True)
    assert told["replayed"]["settings"]["offline"] is True
    assert said(told, "setting") == ["Offline was False and is True."]


def test_a_paper_that_left_is_named_and_so_is_a_filter_that_fits_none(asked):
    answer = asked.ask(SPEED)
    filtered = asked.ask("How large was the error?", filters=Filters(papers=("tides",)))
    asked.remove("kilns.pdf", "tides.pdf")
    told = asked.again(answer)
    assert {"paper gone", "passage left", "library"} <= kinds(told)
    assert f"kilns.pdf is no longer in the library; it was {asked.home.root}/papers/kilns.pdf." in said(
        told, "paper gone"
    )
    shown = asked.again_for_people(answer)
    assert "paper gone: kilns.pdf" in shown
    assert shown.endswith("The answer or its passages differ.\n")
    assert "(This paper is no longer in the library.)" in asked.shown(answer)
    told = asked.again(filtered)
    assert "not answered" in kinds(told)
    assert told["replayed"] is None


def test_other_bytes_at_the_same_path_and_another_text_at_the_same_place_are_told_apart(asked):
    answer = asked.ask(SPEED)
    record = asked.record(answer)
    first, second = record["passages"][:2]
    first["md5"], second["text_sha256"] = "f" * 32, "e" * 64
    asked.write(record)
    told = asked.again(answer)
    assert said(told, "paper changed") == [f"bees.pdf has changed: other bytes are at {first['path']}."]
    (text,) = said(told, "passage text")
    assert text.startswith(f"The text of {second['file']}, p.1 was eeeeeeeeeeee and is ")
    second["start"] += 1
    second["end"] += 1
    asked.write(record)
    assert "no longer this passage" in asked.shown(answer)


def test_a_follow_up_is_asked_again_with_the_turns_before_it(asked):
    answer = asked.ask(SPEED, "And what do they steer by?")
    record = asked.record(answer)
    assert [turn["question"] for turn in record["history"]] == [SPEED]
    assert record["history"][0]["passages"][0]["md5"] == record["passages"][0]["md5"]
    assert record["searched"] != record["question"]
    assert asked.again(answer)["same"]
    assert f"question {SPEED}" in " ".join(asked.shown(answer).split())
    asked.remove("bees.pdf")
    assert any("that earlier turns cite" in text for text in said(asked.again(answer), "not restored"))


def test_an_answer_of_the_agent_is_asked_of_the_agent_again(asked):
    answer = asked.ask(TWO_PARTS, agent=True)
    record = asked.record(answer)
    assert record["agent"]
    assert record["trace"][0]["node"] == "decompose_query"
    told = asked.again(answer)
    assert told["same"], told["differences"]
    assert told["replayed"]["trace"]
    assert "agent yes" in " ".join(asked.shown(answer).split())


def test_an_answer_of_a_model_is_asked_of_it_again_and_its_absence_is_told(asked):
    worded = "Bees fly at 3.7 metres per second in fog (bees.pdf, p.2)."
    with OllamaServer(models={"llama3.1:8b": chat_model(digest="a" * 64)}) as server:
        server.script(worded, worded)
        answer = asked.ask(SPEED, ollama_url=server.url)
        assert answer["mode"] == "llm"
        assert asked.again(answer, ollama_url=server.url)["differences"] == []
    record = asked.record(answer)
    assert record["models"]["llm"] == {"name": "llama3.1:8b", "digest": "a" * 64}
    told = asked.again(answer)
    assert {"mode", "answer", "model", "setting"} <= kinds(told)
    assert f"- {worded}" in said(told, "answer")
    assert f"Llm was llama3.1:8b ({'a' * 12}) and is nothing." in said(told, "model")


def test_other_weights_under_the_name_of_the_reranker_are_told(asked, tmp_path):
    folder = make_bert(tmp_path / "cross", labels=1)
    answer = asked.ask(SPEED, reranker=str(folder))
    before = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert asked.record(answer)["models"]["reranker"] == {"name": str(folder), "digest": before}
    make_bert(folder, labels=1, seed=8)
    told = asked.again(answer)
    assert {"model", "passage score"} <= kinds(told)
    assert before[:12] in said(told, "model")[0]


def test_a_home_without_a_library_keeps_nothing_and_one_that_is_empty_does(asked, tmp_path):
    nowhere = Asked(tmp_path / "nowhere", asked._capsys)
    nowhere.home.root.mkdir()
    nowhere.ask(SPEED)
    assert list(nowhere.home.root.iterdir()) == []
    asked.remove("bees.pdf", "kilns.pdf", "tides.pdf")
    answer = asked.ask(SPEED)
    assert asked.record(answer)["passages"] == []
    assert asked.again(answer)["same"]
    with pytest.raises(NothingFound, match="no answer ' '"):
        asked.record({"answer_id": " "})
