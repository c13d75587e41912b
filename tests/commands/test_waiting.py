"""While a question is answered: what is being done is in sight, Ctrl-C ends it, and choices of models are said once."""

import threading

import pytest

from tests.conftest import copied
from tests.ollama_server import OllamaServer, chat_model
from tests.screens.emulator import Terminal
from tests.screens.sessions import Processes, link_scripts

CHAT = "llama3.1:8b"
QUESTION = "How fast do bees fly in fog?"
ANSWER = "The mean flight speed in fog was 3.7 metres per second (bees.pdf, p.2)."
QUOTES = "No language model: showing quotes"
ORDER = "late interaction reranks the passages"


@pytest.fixture
def server():
    with OllamaServer(models={CHAT: chat_model()}) as running:
        yield running


# Choices of models


def test_a_choice_is_said_once_and_again_when_it_changes(own, server):
    first = own.query("ask", QUESTION)
    assert QUOTES in first.err
    assert ORDER in first.err
    for again in (own.query("ask", QUESTION), own.query("search", QUESTION), own.query("chat")):
        assert QUOTES not in again.err
        assert ORDER not in again.err
    server.script(ANSWER, ANSWER)
    env = {"RAG_OLLAMA_URL": server.url}
    assert f"answers: {CHAT}" in own.query("ask", QUESTION, **env).err
    assert f"answers: {CHAT}" not in own.query("ask", QUESTION, **env).err
    back = own.query("ask", QUESTION).err
    assert QUOTES in back
    assert ORDER not in back


def test_json_has_the_warnings_each_time_and_models_has_all(own):
    first, second = (own.query("ask", QUESTION, "--json") for _ in range(2))
    assert ORDER in first.err
    assert second.err == ""
    assert ORDER in first.out
    assert ORDER in second.out
    listed = own.query("models").out
    assert ORDER in " ".join(listed.split())
    assert "Ollama does not answer" in " ".join(listed.split())


# In a terminal


@pytest.fixture(scope="module")
def processes(three_papers, tmp_path_factory):
    """Commands with a server of theirs, `processes.server`; what a test scripts there is for the next one to clear."""
    home = copied(three_papers, tmp_path_factory.mktemp("terminal") / "home")
    link_scripts(home)
    with OllamaServer(models={CHAT: chat_model()}) as server:
        processes = Processes(home, RAG_OLLAMA_URL=server.url, RAG_EMBEDDER="embedded")
        processes.server, processes.home = server, home
        yield processes


def served(processes):
    processes.server.clear_faults()
    processes.server.requests.clear()
    return processes.server


def test_ctrl_c_in_the_chat_leaves_the_line_and_the_model_and_the_next_question_is_answered(processes):
    server = served(processes)
    silence = server.fault("/api/chat", until=threading.Event())
    with Terminal(80) as terminal:
        screen = terminal.emulator
        processes.start("python query.py chat", terminal)
        processes.read_until(lambda: screen.shown[-1].startswith(">"), terminal)
        terminal.type(f"{QUESTION}\r")
        processes.read_until(lambda: screen.shown[-1].startswith(f"{CHAT} reads "), terminal)
        terminal.type("\x03")
        processes.read_until(lambda: screen.shown[-1].startswith(">"), terminal)
        assert screen.shown[-2] == "stopped; ask again, or press Ctrl-D to leave."
        assert not any("Ctrl-C stops" in line or " reads " in line for line in screen.shown)
        silence.until.set()
        server.script(ANSWER)
        terminal.type(f"{QUESTION}\r")
        processes.read_until(lambda: "3.7 metres" in "".join(screen.shown), terminal)
        processes.read_until(lambda: screen.shown[-1].startswith(">"), terminal)
        assert not any("Ctrl-C stops" in line or " reads " in line for line in screen.shown)
        terminal.type("\x04")
        processes.read_until(lambda: False, terminal)
        assert processes.ended == 0


@pytest.mark.parametrize(
    "command", ["ask --json", "ask --agent", "ask --corrective", "search --reranker llm", "eval questions.jsonl"]
)
def test_ctrl_c_ends_each_command_while_a_model_is_silent(processes, command):
    server = served(processes)
    server.fault("/api/chat", until=threading.Event(), times=None)
    (processes.home / "questions.jsonl").write_text('{"question": "What is fog?", "answerable": false}\n')
    question = "" if command.startswith("eval") else f' "{QUESTION}"'
    with Terminal(60) as terminal:
        screen = terminal.emulator
        processes.start(f"python query.py {command}{question}", terminal)
        processes.read_until(
            lambda: processes.ended is not None or (server.of("/api/chat") and CHAT in screen.shown[-1]), terminal
        )
        assert processes.ended is None, "\n".join(screen.shown)
        terminal.type("\x03")
        processes.read_until(lambda: False, terminal)
        assert (processes.ended, screen.shown[-2:]) == (130, ["stopped.", ""])
        assert not any("Ctrl-C stops" in line for line in screen.shown)


def test_a_script_of_questions_says_which_one_it_is_at(processes):
    server = served(processes)
    server.fault("/api/chat", until=threading.Event(), after=1)
    server.script(ANSWER)
    (processes.home / "questions.txt").write_text(f"{QUESTION}\n" * 3)
    with Terminal(80) as terminal:
        screen = terminal.emulator
        processes.start("python query.py ask --from questions.txt", terminal)
        processes.read_until(lambda: screen.shown[-1].startswith(f"question 2 of 3: {CHAT} reads"), terminal)
        terminal.type("\x03")
        processes.read_until(lambda: False, terminal)
        assert processes.ended == 130
