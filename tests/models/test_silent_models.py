"""A model that says nothing: how long it may, before its first token and after it, and that it is left at once."""

import socket
import threading

import pytest

from ragscience.agent.agent_state import CountedLLM
from ragscience.ask.generation import CancellableLLM, Generation
from ragscience.core.errors import Cancelled, ModelProblem
from ragscience.models import model_http
from ragscience.models.model_http import cancellable
from ragscience.models.model_servers import Ollama
from ragscience.models.served_llm import ChatOptions, ServedLLM
from tests.ollama_server import OllamaServer, chat_model

CHAT = "llama3.1:8b"
HI = [("user", "hi")]


@pytest.fixture
def server():
    with OllamaServer(models={CHAT: chat_model()}) as running:
        yield running


class Clock:
    """Seconds that pass only while somebody waits for a reply: fifty with each look at it, up to `stops`."""

    def __init__(self, stops=float("inf")):
        self.now = 0.0
        self._stops = stops
        self.stopped = threading.Event()

    def monotonic(self):
        if self.now < self._stops:
            self.now += 50.0
        else:
            self.stopped.set()
        return self.now


def llm(url, **limits):
    ollama = Ollama(url, timeout_seconds=limits.pop("between", 120.0), offline=False)
    return ServedLLM(ollama, CHAT, options=ChatOptions(0.0, 4096, 64, **limits), sleep=lambda _: None)


def test_a_first_token_may_take_longer_than_the_next_ones(server, monkeypatch):
    clock = Clock(stops=500.0)
    monkeypatch.setattr(model_http, "time", clock)
    server.script("After all.")
    server.fault("/api/chat", until=clock.stopped)
    assert "".join(llm(server.url).reply(HI, max_tokens=64)) == "After all."
    assert clock.now > 120


def test_a_reply_that_has_begun_may_be_silent_for_the_shorter_time_alone(server, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(model_http, "time", clock)
    server.script("One two three")
    server.fault("/api/chat", cut_after=2, until=threading.Event())
    came = []
    with pytest.raises(ModelProblem, match=r"llama3\.1:8b sent nothing for 120 s") as caught:
        came.extend(llm(server.url).reply(HI, max_tokens=64))
    assert came == ["One", " two"]
    assert "RAG_LLM_TIMEOUT_SECONDS" in caught.value.fix


class DeafServer:
    """Takes connections and requests and says nothing; knows when a client has left."""

    def __init__(self):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.asked = threading.Event()
        self.left = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self):
        connection, _ = self._listening.accept()
        with connection:
            while data := connection.recv(65536):
                if b"/api/chat" in data:
                    self.asked.set()
            self.left.set()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listening.close()


@pytest.mark.parametrize(
    "wrapped",
    [lambda llm: llm, lambda llm: CancellableLLM(llm, lambda: False), CountedLLM],
    ids=["plain", "cancellable", "counted"],
)
def test_the_connection_of_a_cancelled_reply_is_closed_at_once(wrapped):
    with DeafServer() as server:
        generation = Generation(wrapped(llm(server.url)), None, 600.0, server.asked.is_set)
        with pytest.raises(Cancelled):
            generation.run(HI, 64)
        assert server.left.wait(100), "the server goes on reading a prompt that nobody waits for"


def test_ctrl_c_closes_the_connection():
    def interrupted():
        raise KeyboardInterrupt

    with DeafServer() as server:
        pieces = cancellable(
            iter(llm(server.url).reply(HI, max_tokens=64)), lambda: server.asked.is_set() and interrupted()
        )
        with pytest.raises(KeyboardInterrupt):
            next(pieces)
        assert server.left.wait(100)
