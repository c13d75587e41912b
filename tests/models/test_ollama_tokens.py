"""Tokens of a model whose tokenizer is not here: estimated, learned, and a cut prompt told from a whole one."""

import socket
import threading

import pytest

from ragscience.ask.generation import Generation
from ragscience.core.errors import Cancelled
from ragscience.engine.events import unheard
from ragscience.engine.question_run import AnnouncedLLM
from ragscience.models.token_counting import TokenCounter, base_tokens

LLAMA = "llama3.1:8b"
PROSE = (
    "We trained the base model for 100,000 steps on eight GPUs, which took about twelve hours. Table 2 compares the\n"
    "results with earlier work: BLEU rises by 2.0 points, at a fraction of the cost of training (see Section 5.3).\n"
) * 12


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0), ("The model is good.", 4, 6), ("3.14159", 6, 8), (PROSE, len(PROSE) / 5, len(PROSE) / 3),
        ("机器学习模型的训练", 5, 10), ("😀" * 10, 8, 20), (" " * 400, 1, 40), ("-" * 500, 1, 60),
    ],
)  # fmt: skip
def test_the_estimate_is_near_what_tokenizers_do(text, low, high):
    assert low <= base_tokens(text) <= high


@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.6, 2.5])
def test_it_learns_a_tokenizer_from_one_count(ratio):
    counter = TokenCounter()
    true = round(ratio * base_tokens(PROSE))
    assert not counter.was_cut(PROSE, 1, true, window=8192)
    assert true <= counter.count(PROSE) <= 1.12 * true


def test_a_cut_prompt_is_told_and_teaches_nothing():
    counter = TokenCounter()
    factor = counter.factor
    tokens = round(base_tokens(PROSE))
    assert counter.was_cut(PROSE, 2, tokens // 2 + 2, window=4096)  # as Ollama cuts: to half of what it serves
    assert counter.was_cut(PROSE, 2, 400, window=400)  # as early versions did: to the whole window
    assert counter.factor == factor


def test_the_rest_behind_a_cached_beginning_is_no_cut_where_the_window_is_known():
    counter = TokenCounter()
    rest = "Another question about something else, with its own passages. " * 30
    counted = round(base_tokens(rest))
    assert not counter.was_cut(PROSE * 2 + rest, 1, counted, window=8192, is_told=True)
    assert counter.was_cut(PROSE * 2 + rest, 1, counted, window=8192)
    assert counter.was_cut(PROSE * 2 + rest, 1, counted, window=2 * counted, is_told=True)


def read(llm, text="hi", max_tokens=64):
    messages = [("system", "Rules."), ("user", text)]
    reply = llm.reply(messages, max_tokens=max_tokens)
    said = "".join(reply)
    return said, reply, llm.was_cut(messages, reply.prompt_tokens, reply.answer_tokens)


def test_an_answer_that_runs_over_the_window_has_pushed_the_prompt_out(server, ollama_llm):
    server.script("Long.", prompt_eval_count=500, eval_count=600)
    assert read(ollama_llm(server.url, num_ctx=1024), PROSE)[2]


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
    "wrapped", [lambda llm: llm, lambda llm: AnnouncedLLM(llm, unheard, lambda: False)], ids=["plain", "announced"]
)
def test_the_connection_of_a_cancelled_reply_is_closed_at_once(ollama_llm, wrapped):
    with DeafServer() as server:
        generation = Generation(wrapped(ollama_llm(server.url)), None, 600.0, server.asked.is_set)
        with pytest.raises(Cancelled):
            generation.run(HI, 64)
        assert server.left.wait(100), "the server goes on reading a prompt that nobody waits for"
