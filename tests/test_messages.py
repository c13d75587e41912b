"""The words of messages, all in one file: tests/snapshots/messages.json."""

from tests.conftest import Doors, copied
from tests.snapshots import messages


def test_what_the_commands_say(three_papers, tmp_path):
    doors = Doors(copied(three_papers, tmp_path / "home"))
    assert dict(messages.said(doors)) == messages.kept(), "python -m tests.snapshots.messages"
