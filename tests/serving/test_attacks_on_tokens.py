"""Attacks by the commands that make and revoke tokens: names are words, and nothing outside of the file is written."""

import pytest

from tests.conftest import Commands

PEOPLE = [
    "../ben",
    "a/b",
    "..",
    ".",
    "",
    " ",
    "-rf",
    "--role",
    "Ana",
    "ana\n",
    "a" * 33,
    "añá",
    "a b",
    "a;b",
    "$(id)",
    "con.",
]


@pytest.mark.parametrize("name", PEOPLE)
@pytest.mark.parametrize("command", ["add", "revoke"])
def test_a_persons_name_is_no_path_and_no_option(tmp_path, command, name):
    (tmp_path / "papers").mkdir()
    asked = Commands(tmp_path)
    assert asked.query("serve", "token", command, "--", name).code in (2, 4)
    assert {path.name for path in tmp_path.iterdir()} <= {"papers", "serve_tokens.lock"}


def test_a_link_in_the_place_of_the_tokens_is_not_written_through(tmp_path):
    (tmp_path / "papers").mkdir()
    target = tmp_path / "papers" / "mine"
    target.write_text("mine")
    (tmp_path / "serve_tokens.json").symlink_to(target)
    Commands(tmp_path).query("serve", "token", "add", "ana")
    assert target.read_text() == "mine"
