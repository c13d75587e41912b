"""The prompt of the chat as a person sees it: a real terminal, real keys."""

from dataclasses import replace

import pytest

from ragscience.cli.chat import status_line
from ragscience.cli.chat_commands import ChatState
from ragscience.cli.screen import Screen
from ragscience.engine import AskRequest, Engine
from tests.conftest import Commands, copied
from tests.screens.emulator import CommandTerminal

SPEED = "How fast do bees fly in fog?"
GLAZE = "At which temperature does the glaze mature?"


@pytest.fixture
def home(library, tmp_path):
    return copied(library, tmp_path / "home")


class ChatAt(CommandTerminal):
    """A chat on a terminal of its own."""

    def __init__(self, home, *args, columns=60):
        super().__init__(home, "query.py", *args, columns=columns, rows=30)


def test_a_chat_that_is_continued_shows_its_last_turns(home):
    asked = Commands(home)
    for question in (GLAZE, SPEED):
        asked.query("ask", question, "--chat", "day one")
    with ChatAt(home, "-c") as chat:
        chat.see(f"  {GLAZE}", f"  {SPEED}", "“", "3 papers · quotes · profile default · day one")
        assert max(map(len, chat.rows)) <= 60
        chat.type("exit\r")
        assert chat.end() == 0


def test_tab_completes_commands_papers_and_conversations(home):
    Commands(home).query("ask", SPEED, "--chat", "navigation")
    with ChatAt(home, "chat", columns=100) as chat:
        chat.see("profile default")
        chat.type("/sou\t")
        chat.see("> /sources")
        chat.type("\x15/paper kil\t")
        chat.see("> /paper kilns.pdf")
        chat.type("\x15/paper honeyb\t")
        chat.see("> /paper bees.pdf")
        chat.type("\x15/chat navi\t")
        chat.see("> /chat navigation")
        chat.type("\r")
        chat.see("Continuing “How fast do bees fly in fog?” (navigation), 1 turn.", "default · navigation")
        chat.type("/open \t")
        chat.see("bees.pdf, p.2")


def test_the_arrow_goes_back_over_all_conversations_unless_nothing_is_kept(home):
    asked = Commands(home)
    asked.query(GLAZE)
    asked.query(SPEED)
    with ChatAt(home, "chat", columns=100) as chat:
        chat.see("profile default")
        chat.type("\x12glaze")
        chat.see(f"`glaze': {GLAZE}")
        chat.type("\x07\x1b[A")
        chat.see(f"> {SPEED}")
        chat.type("\x1b[A")
        chat.see(f"> {GLAZE}")
    with ChatAt(home, "chat", "--no-history") as chat:
        chat.see("profile default")
        chat.type("\x1b[Anothing")
        chat.see("> nothing")


@pytest.mark.parametrize("width", [12, 40, 200])
def test_the_status_line_says_how_is_asked_and_is_never_wider_than_the_terminal(home, width):
    with Engine.open(home) as engine:
        state = ChatState(engine, AskRequest(""), engine.dialogue(name="thesis"), Screen(quiet=True))
        assert len(status_line(state, width)) < width
        assert status_line(state, 200) == "3 papers · profile default · thesis"
        state.filter_by(replace(state.request.filters, papers=("kilns",)))
        state.request = replace(state.request, llm="llama3.1:8b")
        assert status_line(state, 200) == ("3 papers · paper=kilns · llama3.1:8b · profile default · thesis")
