"""Conversations and audit of several people over one library: each has their own, and numbers of their own."""

import json

import pytest

from ragscience.core.errors import NothingFound, UsageError
from ragscience.engine.access_tokens import AccessTokens
from ragscience.engine.requests import AskRequest


def asked(engine, question, person, name=None):
    return engine.ask(AskRequest(question), dialogue=engine.dialogue(name=name, person=person))


def test_each_person_has_conversations_of_their_own(engine):
    answers = {who: asked(engine, "What do bees eat?", who, "thesis") for who in ("", "ana", "ben")}
    asked(engine, "Where do bees live?", "ana", "thesis")
    for who, count in (("", 1), ("ana", 2), ("ben", 1), ("eve", 0)):
        own = engine.history.for_person(who)
        assert sum(each.turns for each in own.conversations()) == count
        for other, answer in answers.items():
            if other == who:
                assert own.answer(answer.answer_id).answer.answer_id == answer.answer_id
            else:
                with pytest.raises(NothingFound):
                    own.answer(answer.answer_id)
    assert len(engine.dialogue(name="thesis", person="ana").turns) == 2
    assert engine.dialogue(continue_last=True, person="eve").turns == []
    with pytest.raises(UsageError):
        engine.dialogue(name="1", person="eve")


def test_files_of_people_are_for_their_owner_alone(engine):
    asked(engine, "What do bees eat?", "ana")
    people = engine.home.people
    assert people.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in people.iterdir() if "sqlite-" not in path.name} == {
        "ana.sqlite": 0o600
    }


def test_a_damaged_file_of_a_person_is_found_by_the_doctor(engine):
    asked(engine, "What do bees eat?", "ana")
    engine.home.history_of("ana").write_bytes(json.dumps({}).encode() * 2000)
    messages = [finding.message for finding in engine.doctor(fast=True)]
    assert [text for text in messages if text.startswith("The conversations of ana are damaged")]


def test_damaged_tokens_are_found_by_the_doctor(engine):
    AccessTokens(engine.home.serve_tokens).add("ana")
    assert not [one for one in engine.doctor(fast=True) if one.area == "access"]
    engine.home.serve_tokens.write_text("{}")
    (found,) = [one for one in engine.doctor(fast=True) if one.area == "access"]
    assert (found.severity, "serve token add" in found.remedy) == ("error", True)
