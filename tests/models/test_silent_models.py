"""A model that says nothing is left at once by whoever no longer waits for it."""

import socket
import threading

import pytest

from ragscience.ask.generation import Generation
from ragscience.core.errors import Cancelled
from ragscience.engine.events import unheard
from ragscience.engine.question_run import AnnouncedLLM

HI = [("user", "hi")]


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
    [lambda llm: llm, lambda llm: AnnouncedLLM(llm, unheard, lambda: False)],
    ids=["plain", "announced"],
)
def test_the_connection_of_a_cancelled_reply_is_closed_at_once(ollama_llm, wrapped):
    with DeafServer() as server:
        generation = Generation(wrapped(ollama_llm(server.url)), None, 600.0, server.asked.is_set)
        with pytest.raises(Cancelled):
            generation.run(HI, 64)
        assert server.left.wait(100), "the server goes on reading a prompt that nobody waits for"
