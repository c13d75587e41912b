"""While a question is answered: what is being done is in sight, Ctrl-C ends it, and choices of models are said once."""

import threading

import pytest

from ragscience.core.settings import load_settings
from ragscience.engine import AskRequest, Engine, ModelAsked, Reranking, Searched, StepDone, Thinking, Token
from tests.conftest import Commands, copied
from tests.ollama_server import OllamaServer, chat_model
from tests.screens.emulator import Terminal
from tests.screens.sessions import Processes, link_scripts

CHAT = "llama3.1:8b"
QUESTION = "How fast do bees fly in fog?"
ANSWER = "The mean flight speed in fog was 3.7 metres per second (bees.pdf, p.2)."
QUOTES = "No language model: showing quotes"
ORDER = "late interaction reranks the passages"


@pytest.fixture
def commands(three_papers, tmp_path):
    return Commands(copied(three_papers, tmp_path / "home"))


@pytest.fixture
def server():
    with OllamaServer(models={CHAT: chat_model()}) as running:
        yield running


# Choices of models


def test_a_choice_is_said_once_and_again_when_it_changes(commands, server):
    first = commands.query("ask", QUESTION)
    assert QUOTES in first.err
    assert ORDER in first.err
    for again in (commands.query("ask", QUESTION), commands.query("search", QUESTION), commands.query("chat")):
        assert QUOTES not in again.err
        assert ORDER not in again.err
    server.script(ANSWER, ANSWER)
    env = {"RAG_OLLAMA_URL": server.url}
    assert f"answers: {CHAT}" in commands.query("ask", QUESTION, **env).err
    assert f"answers: {CHAT}" not in commands.query("ask", QUESTION, **env).err
    back = commands.query("ask", QUESTION).err
    assert QUOTES in back
    assert ORDER not in back


def test_a_choice_is_not_taken_for_said_where_it_was_not(commands):
    assert commands.query("ask", QUESTION, "--quiet").err == ""
    assert QUOTES in commands.query("ask", QUESTION).err


def test_a_home_that_cannot_be_written_has_choices_said_each_time(commands):
    told = commands.home / "vectorstore" / "told.json"
    told.mkdir()
    for _ in range(2):
        ran = commands.query("ask", QUESTION)
        assert ran.code == 0
        assert QUOTES in ran.err
    told.rmdir()


def test_json_has_the_warnings_each_time_and_models_has_all(commands):
    first, second = (commands.query("ask", QUESTION, "--json") for _ in range(2))
    assert ORDER in first.err
    assert second.err == ""
    assert ORDER in first.out
    assert ORDER in second.out
    listed = commands.query("models").out
    assert ORDER in " ".join(listed.split())
    assert "Ollama does not answer" in " ".join(listed.split())


# What the engine says of its waiting


def events_of(home, url, **request):
    settings = load_settings(home=home, ollama_url=url, embedder="embedded")
    events = []
    with Engine.open(home, settings) as engine:
        engine.ask(AskRequest(QUESTION, **request), on_event=events.append)
    return events


def test_the_model_is_asked_after_the_search_and_before_its_first_token(commands, server):
    server.script(ANSWER)
    events = events_of(commands.home, server.url)
    kinds = [type(event) for event in events if isinstance(event, Searched | ModelAsked | Token)]
    assert kinds[:3] == [Searched, ModelAsked, Token]
    (asked,) = [event for event in events if isinstance(event, ModelAsked)]
    prompt = server.of("/api/chat")[-1]["messages"][-1]["content"]
    assert asked == ModelAsked(CHAT, prompt.count("</passage>"))
    assert asked.passages > 0


def test_each_call_of_the_agent_is_an_event_before_its_step_is_done(commands, server):
    events = events_of(commands.home, server.url, agent=True)
    asked = [event for event in events if isinstance(event, ModelAsked)]
    assert len(asked) == len(server.of("/api/chat")) > 1
    assert events.index(asked[0]) < next(n for n, event in enumerate(events) if isinstance(event, StepDone))


def test_the_passages_that_a_model_reranks_are_counted(commands, server):
    settings = load_settings(home=commands.home, ollama_url=server.url, embedder="embedded", rerank="llm")
    events = []
    with Engine.open(commands.home, settings) as engine:
        engine.ask(AskRequest(QUESTION), on_event=events.append)
    number = next(n for n, event in enumerate(events) if isinstance(event, Reranking))
    assert events[number].passages > 0
    assert events[number + 1] == ModelAsked(CHAT, events[number].passages)


def test_a_model_that_thinks_is_an_event_once_before_its_answer(commands, server):
    server.script(f"<think>{'They ask about bees and fog. ' * 5}</think>{ANSWER}")
    events = events_of(commands.home, server.url)
    shown = [event for event in events if isinstance(event, ModelAsked | Thinking | Token)]
    assert isinstance(shown[0], ModelAsked)
    assert shown[1] == Thinking(CHAT)
    assert {type(event) for event in shown[2:]} == {Token}
    assert "They" not in "".join(event.text for event in shown[2:])


def test_a_model_without_thoughts_does_not_think(commands, server):
    server.script(ANSWER)
    assert not [event for event in events_of(commands.home, server.url) if isinstance(event, Thinking)]


# In a terminal


@pytest.fixture(scope="module")
def processes(three_papers, warm_server, tmp_path_factory):
    """Commands with a server of theirs, `processes.server`; what a test scripts there is for the next one to clear."""
    home = copied(three_papers, tmp_path_factory.mktemp("terminal") / "home")
    link_scripts(home)
    with OllamaServer(models={CHAT: chat_model()}) as server:
        processes = Processes(warm_server, home, RAG_OLLAMA_URL=server.url, RAG_EMBEDDER="embedded")
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
