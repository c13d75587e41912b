"""Tokens: made once, kept as a hash in a private file, revoked; a damaged file opens no door."""

import json
import re
import subprocess
import sys

import pytest

from ragscience.core.errors import LibraryUnavailable, NothingFound, UsageError
from ragscience.engine.access_tokens import AccessTokens, hash_of
from ragscience.engine.requests import AskRequest
from tests.conftest import ROOT, Commands


def person_of(tokens, token):
    return next((person for person in tokens.all() if person.sha256 == hash_of(token)), None)


@pytest.fixture
def tokens(tmp_path):
    return AccessTokens(tmp_path / "serve_tokens.json")


def test_a_token_is_known_until_it_is_revoked(tokens, tmp_path):
    assert tokens.all() == []
    made = tokens.add("ana", "writer")
    assert re.fullmatch("ragscience_[0-9a-f]{64}", made)
    assert (person_of(tokens, made).name, person_of(tokens, made).role) == ("ana", "writer")
    for wrong in ("", made[:-1], made + "0", made.upper(), "ragscience_" + "0" * 64, "\ud800"):
        assert person_of(tokens, wrong) is None
    assert AccessTokens(tmp_path / "serve_tokens.json").revoke("ana").name == "ana"
    assert person_of(tokens, made) is None  # seen at the next look, though another one has written
    with pytest.raises(NothingFound):
        tokens.revoke("ana")


def test_the_file_has_hashes_alone_and_is_for_its_owner(tokens, tmp_path):
    made = tokens.add("ana")
    file = tmp_path / "serve_tokens.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert made not in file.read_text()
    assert made.removeprefix("ragscience_") not in file.read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"serve_tokens.json", "serve_tokens.lock"}


DAMAGED = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b'{"version": 1}',
    b'{"version": 1, "tokens": {}}',
    b'{"version": 2, "tokens": []}',
    b'{"version": 1, "tokens": [{"name": "ana"}]}',
    b"\xff\xfe",
    b"[" * 100_000,
)


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_is_refused_and_kept(tokens, tmp_path, content):
    made = tokens.add("ana")
    file = tmp_path / "serve_tokens.json"
    file.write_bytes(content)
    for act in (tokens.all, lambda: person_of(tokens, made), lambda: tokens.add("ben"), lambda: tokens.revoke("ana")):
        with pytest.raises(LibraryUnavailable, match="cannot be read"):
            act()
    assert file.read_bytes() == content


def test_processes_that_add_at_once_lose_no_token(tokens, tmp_path):
    script = (
        "import sys; from pathlib import Path; from ragscience.engine.access_tokens import AccessTokens\n"
        "tokens = AccessTokens(Path(sys.argv[1]))\n"
        "for number in range(10): tokens.add(f'{sys.argv[2]}{number}')"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "serve_tokens.json")]
    for process in [subprocess.Popen([*command, name], cwd=ROOT) for name in "abc"]:
        assert process.wait(60) == 0
    assert len(tokens.all()) == 30


def test_no_flipped_bit_gives_a_token_another_name(tokens, tmp_path):
    made = tokens.add("ana", "writer")
    file = tmp_path / "serve_tokens.json"
    whole = file.read_bytes()
    for at in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        file.write_bytes(flipped)
        try:
            found = person_of(tokens, made)
        except LibraryUnavailable:
            continue
        assert found is None or (found.name, found.role) == ("ana", "writer")
    file.write_bytes(whole)
    assert person_of(tokens, made).name == "ana"


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


def test_a_link_in_the_place_of_the_tokens_is_not_written_through(tmp_path):
    (tmp_path / "papers").mkdir()
    target = tmp_path / "papers" / "mine"
    target.write_text("mine")
    (tmp_path / "serve_tokens.json").symlink_to(target)
    Commands(tmp_path).query("serve", "token", "add", "ana")
    assert target.read_text() == "mine"
