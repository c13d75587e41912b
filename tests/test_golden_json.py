"""`--json` prints what the kept files say; `python -m tests.golden.printing` writes them anew after a wanted change."""

import math
from typing import Any

import pytest

from tests.conftest import Commands, copied
from tests.golden import printing
from tests.snapshots import messages


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    home = tmp_path_factory.mktemp("golden")
    (home / "papers").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in printing.ENVIRONMENT.items():
            patch.setenv(name, value)
        commands = Commands(home)
        printing.fill(commands)
        return dict(printing.printed(commands))


@pytest.mark.parametrize("name", printing.PRINTED)
def test_a_command_prints_what_it_printed(values, name):
    kept = printing.kept(name)
    assert _as_rounded_here(values[name], kept) == kept


def _as_rounded_here(value: Any, kept: Any, name: str = "") -> Any:
    """The value with the kept one's fractions where they differ by what another processor rounds otherwise."""
    if isinstance(value, dict) and isinstance(kept, dict):
        return {key: _as_rounded_here(each, kept.get(key), key) for key, each in value.items()}
    if isinstance(value, list) and isinstance(kept, list) and len(value) == len(kept):
        return [_as_rounded_here(*pair) for pair in zip(value, kept, strict=True)]
    is_read_in_integers = name == "answerability"
    if isinstance(value, float) and isinstance(kept, float):
        return kept if math.isclose(value, kept, abs_tol=0.02 if is_read_in_integers else 2e-6) else value
    return value


def test_what_the_commands_say(three_papers, tmp_path):
    commands = Commands(copied(three_papers, tmp_path / "home"))
    assert dict(messages.said(commands)) == messages.kept(), "python -m tests.snapshots.messages"
