"""kill -9 of a real chat on a terminal: every turn that was answered is there when it goes on."""

import json
import signal
import subprocess

import pytest

from ragscience.library.history import History
from ragscience.library.store import Home
from tests.conftest import started
from tests.ollama_server import OllamaServer, chat_model

pytestmark = pytest.mark.kill

QUESTIONS = ["How fast do bees fly in fog?", "Which oxide gives the blue colour?", "How large is the error at Dover?"]


def kept(home):
    with History.open(Home(home).history) as history:
        last = history.last()
        return [item.answer.question for item in history.turns(last.conversation_id)] if last else []


def test_a_chat_killed_in_the_middle_of_an_answer_loses_that_turn_alone(own):
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        server.default_reply = "Bees fly at 3.7 metres per second in fog (bees.pdf, p.2)."
        env = {"RAG_OLLAMA_URL": server.url}
        with started(own.home, "query.py", "chat", "--chat", "bees", env=env, stdin=subprocess.PIPE) as process:
            for question in QUESTIONS[:2]:
                process.stdin.write(f"{question}\n")
                process.stdin.flush()
                while "Sources:" not in (line := process.stdout.readline()):
                    assert line, "the chat ended"

            def killed_while_it_waits(body):
                process.send_signal(signal.SIGKILL)
                return "Never seen."

            server.default_reply = killed_while_it_waits
            process.stdin.write(f"{QUESTIONS[2]}\n")
            process.stdin.flush()
            assert process.wait(timeout=120) == -signal.SIGKILL
        assert kept(own.home) == QUESTIONS[:2]
        server.default_reply = "Its largest error was 12 centimetres (tides.pdf, p.2)."
        assert own.query("ask", QUESTIONS[2], "--chat", "bees", RAG_OLLAMA_URL=server.url).code == 0
        (rewriting, _) = server.of("/api/chat")[-2:]
        sent = json.dumps(rewriting)
        assert all(question in sent for question in QUESTIONS)
    assert kept(own.home) == QUESTIONS
