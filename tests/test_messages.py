"""The words of messages, all in one file: tests/snapshots/messages.json."""

from tests.conftest import Commands, copied
from tests.snapshots import messages


def test_what_the_commands_say(three_papers, tmp_path):
    commands = Commands(copied(three_papers, tmp_path / "home"))
    assert dict(messages.said(commands)) == messages.kept(), "python -m tests.snapshots.messages"
