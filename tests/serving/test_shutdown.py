"""The end of a server: in order, at once, and while a model says nothing."""

import contextlib
import json
import signal
import socket
import threading

import httpx
import pytest

from ragscience.library.history import History
from tests.ollama_server import OllamaServer, chat_model
from tests.serving.server_process import server_process
from tests.serving.test_question_routes import SPEED


@pytest.fixture
def silent():
    """A model server that says nothing until the event is set."""
    silence = threading.Event()
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as ollama:
        ollama.fault("/api/chat", until=silence, times=None)
        yield ollama, silence


def environment(ollama):
    return {"RAG_OLLAMA_URL": ollama.url, "RAG_EMBEDDER": "embedded"}


def asked_of(ollama, times=1):
    """Wait until the model has been asked so often."""
    pause = threading.Event()
    while len(ollama.of("/api/chat")) < times:
        pause.wait(0.02)


def closed(url):
    """Wait until the server takes no more connections."""
    host, port = url.removeprefix("http://").split(":")
    with pytest.raises(OSError):
        while True:
            socket.create_connection((host, int(port)), timeout=60).close()


@contextlib.contextmanager
def stopped_while_asking(home, silent, requests, *, grace):
    """(the process, replies that are still to be read) of a server that got a SIGTERM while it answers them all."""
    ollama, _ = silent
    with contextlib.ExitStack() as stack:
        process, url = stack.enter_context(server_process(home, environment(ollama), grace=grace))
        client = stack.enter_context(httpx.Client(base_url=url, timeout=120))
        replies = [stack.enter_context(client.stream("POST", path, json=body)) for path, body in requests]
        asked_of(ollama, len(requests))
        process.send_signal(signal.SIGTERM)
        closed(url)
        yield process, replies


def test_answers_in_hand_end_with_an_error_when_their_time_is_over(own_home, silent):
    chat = {"messages": [{"role": "user", "content": SPEED}], "stream": True}
    requests = [("/api/v1/ask/events", {"question": SPEED}), ("/v1/chat/completions", chat)]
    with stopped_while_asking(own_home, silent, requests, grace=0.1) as (process, replies):
        events, chunks = [list(reply.iter_lines()) for reply in replies]
        said = process.stderr.read()
        assert process.wait(100) == 0
    assert "stopped" in json.loads(events[events.index("event: error") + 1].removeprefix("data: "))["detail"]
    assert any("stopped" in line for line in chunks)
    assert "data: [DONE]" in chunks
    assert "Traceback" not in said


def test_an_answer_that_is_ready_in_time_is_given_and_kept(own_home, silent):
    ollama, silence = silent
    ollama.script("Bees fly at 3.7 metres per second in fog (bees.pdf, p.2).")
    requests = [("/api/v1/ask/events", {"question": SPEED})]
    with stopped_while_asking(own_home, silent, requests, grace=60) as (process, replies):
        silence.set()
        lines = list(replies[0].iter_lines())
        assert process.wait(100) == 0
    answer = json.loads(lines[lines.index("event: answer") + 1].removeprefix("data: "))
    assert "3.7" in answer["answer"]
    with History.open(own_home / "vectorstore" / "history.sqlite") as history:
        assert history.answer(answer["answer_id"]).answer.text == answer["answer"]


def test_a_second_signal_ends_at_once(own_home, silent):
    ollama, silence = silent
    with (
        server_process(own_home, environment(ollama)) as (process, url),
        httpx.Client(base_url=url, timeout=120) as client,
    ):

        def ask():
            with pytest.raises(httpx.TransportError):
                client.post("/api/v1/ask", json={"question": SPEED})

        asking = threading.Thread(target=ask)
        asking.start()
        asked_of(ollama)
        process.send_signal(signal.SIGTERM)
        closed(url)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
        asking.join()
        assert not silence.is_set()
    with server_process(own_home) as (_, url):  # nothing is left that blocks the next one
        assert httpx.get(f"{url}/api/v1/papers", timeout=60).json()["papers"]
