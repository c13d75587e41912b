"""While a question is answered: what is being done is in sight, Ctrl-C ends it, and choices of models are said once."""

import threading

import pytest

from tests.screens.emulator import CommandTerminal

CHAT = "llama3.1:8b"
QUESTION = "How fast do bees fly in fog?"
ANSWER = "The mean flight speed in fog was 3.7 metres per second (bees.pdf, p.2)."
QUOTES = "No language model: showing quotes"
ORDER = "late interaction reranks the passages"


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


@pytest.fixture
def at_terminal(server, library):
    """Opens a command on a terminal, with the server's model."""
    environment = {"RAG_OLLAMA_URL": server.url, "RAG_EMBEDDER": "embedded"}
    return lambda *words: CommandTerminal(library, "query.py", *words, columns=80, **environment)


def test_ctrl_c_in_the_chat_leaves_the_line_and_the_model_and_the_next_question_is_answered(server, at_terminal):
    server.fault("/api/chat", until=threading.Event())
    with at_terminal("chat") as terminal:
        shown = lambda: terminal.emulator.shown  # noqa: E731
        terminal.read_until(lambda: shown()[-1].startswith(">"))
        terminal.type(f"{QUESTION}\r")
        terminal.read_until(lambda: shown()[-1].startswith(f"{CHAT} reads ") and server.of("/api/chat"))
        terminal.type("\x03")
        terminal.read_until(lambda: shown()[-1].startswith(">"))
        assert shown()[-2] == "stopped; ask again, or press Ctrl-D to leave."
        assert not any("Ctrl-C stops" in line or " reads " in line for line in shown())
        server.script(ANSWER)  # the first request stays silent: it must not take this
        terminal.type(f"{QUESTION}\r")
        terminal.read_until(lambda: "3.7 metres" in "".join(shown()))
        terminal.read_until(lambda: shown()[-1].startswith(">"))
        assert not any("Ctrl-C stops" in line or " reads " in line for line in shown())
        terminal.type("\x04")
        assert terminal.end() == 0


@pytest.mark.parametrize(
    "command", ["ask --json", "ask --agent", "ask --corrective", "search --reranker llm", "eval questions.jsonl"]
)
def test_ctrl_c_ends_each_command_while_a_model_is_silent(server, at_terminal, library, command):
    server.fault("/api/chat", until=threading.Event(), times=None)
    (library / "questions.jsonl").write_text('{"question": "What is fog?", "answerable": false}\n')
    with at_terminal(*command.split(), *([] if command.startswith("eval") else [QUESTION])) as terminal:
        terminal.read_until(lambda: server.of("/api/chat") and CHAT in terminal.emulator.shown[-1])
        terminal.type("\x03")
        assert terminal.end() == 130
        assert terminal.emulator.shown[-2:] == ["stopped.", ""]
        assert not any("Ctrl-C stops" in line for line in terminal.emulator.shown)
