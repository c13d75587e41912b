"""An answer that a language model sends word by word, on a real terminal at three widths."""

import threading

import pytest

from tests.ollama_server import OllamaServer, chat_model
from tests.screens.emulator import CommandTerminal
from tests.screens.rules import MARKS, passes_width, words
from tests.screens.sessions import WIDTHS, Step

QUESTION = "How fast do bees fly in fog, and how was that measured?"
BEGINNING = "In dense fog honeybees fly slower than in clear air, at a mean flight speed of 3.7 metres per second"
ANSWER = (
    BEGINNING + " (bees.pdf, p.2). The bees, 412 of them, were tracked with harmonic radar, which follows a bee "
    "through fog in which no eye could follow it (bees.pdf, p.2).\n\n"
    "- Honeybees steer by polarised light (bees.pdf, p.1).\n"
    "- In dense fog they fly slower (bees.pdf, p.1).\n"
)


@pytest.fixture(scope="module")
def server():
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        yield server


@pytest.mark.parametrize("columns", WIDTHS)
def test_words_are_whole_while_they_come_and_afterwards(columns, server, library):
    rest = threading.Event()
    server.clear_faults()
    server.fault("/api/chat", cut_after=len(BEGINNING.split()), until=rest, resumes=True)
    server.script(ANSWER)
    environment = {"RAG_OLLAMA_URL": server.url, "RAG_EMBEDDER": "embedded"}
    command = ("query.py", "ask", "--no-history", QUESTION)
    with CommandTerminal(library, *command, columns=columns, **environment) as terminal:
        screen = terminal.emulator
        terminal.read_until(lambda: "honeybees fly slower" in " ".join(screen.shown))
        assert "polarised" not in " ".join(screen.shown)
        rest.set()
        assert terminal.end() == 0
        step = Step(QUESTION, screen.shown, [row for _, row in screen.broken], "")
    assert passes_width(step) == []
    assert {word.strip(MARKS) for word in ANSWER.split()} - {"", "-"} - words(step.shown) == set()
