"""Servers whose replies have no end, or are of another form: one clear error, after a bounded number of bytes."""

import json
import threading

import pytest

from ragscience.ask.generation import Generation
from ragscience.core.errors import ModelProblem
from ragscience.models.model_download import pull_ollama
from ragscience.models.ollama_api import Ollama
from ragscience.models.ollama_embedder import OllamaEmbedder
from ragscience.models.ollama_llm import OllamaLLM
from ragscience.models.reply_limits import ReplyLimits, UnusableReply
from ragscience.models.served_llm import LONGEST_TOKEN, ChatOptions
from ragscience.models.structured_output import ask_structured
from tests.ollama_server import OllamaServer, chat_model, embedding_model

CHAT, EMBED = "llama3.1:8b", "nomic-embed-text:latest"
BEGUN = b'{"model": "m", "message": {"role": "assistant", "content": "'
LOADING = b'{"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "load"}\n'
SHAPES = [b"[]", b'[{"message": 1}]', b"1", b"null", b'"text"', b"[" * 100_000, b"not json"]


@pytest.fixture
def server():
    with OllamaServer(models={CHAT: chat_model(), EMBED: embedding_model(8)}) as running:
        yield running


def ollama(server, seconds=60.0):
    return Ollama(server.url, connect_seconds=seconds, timeout_seconds=seconds, offline=False)


def llm(server, max_tokens=64):
    return OllamaLLM(ollama(server), CHAT, options=ChatOptions(0.0, 4096, max_tokens), sleep=lambda _: None)


def said(server):
    return "".join(llm(server).reply([("user", "hi")], max_tokens=64))


def calls(server):
    """Everything that asks a server, by the path that it asks."""
    yield "/api/chat", lambda: said(server)
    yield "/api/embed", lambda: OllamaEmbedder(ollama(server), EMBED, "", batch_size=4).embed_query("x")
    yield "/api/show", lambda: ollama(server).show(CHAT)
    yield "/api/pull", lambda: pull_ollama(ollama(server), CHAT, lambda _: None)
    yield "/api/tags", lambda: ollama(server).require(CHAT)
    yield "/api/version", lambda: ollama(server).require(CHAT)


def ends_in_one_line(call):
    with pytest.raises(ModelProblem) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert caught.value.fix


@pytest.mark.parametrize("raw", SHAPES, ids=range(len(SHAPES)))
def test_json_of_another_form_is_one_clear_error(server, raw):
    for path, call in calls(server):
        server.clear_faults()
        server.fault(path, raw=raw + b"\n", times=None)
        ends_in_one_line(call)


def test_a_line_without_an_end_is_left(server):
    for path, call in calls(server):
        server.clear_faults()
        server.fault(path, raw=BEGUN, endless=b"a" * 2**16, times=None)
        ends_in_one_line(call)


def test_lines_without_an_end_are_left(server):
    for path, call in calls(server):
        if path not in ("/api/chat", "/api/pull"):
            server.clear_faults()
            server.fault(path, endless=b"\n" * 2**16, times=None)
            ends_in_one_line(call)


@pytest.mark.parametrize("raw", [b'{"message": []}\n', b"{}\n"])
def test_a_line_without_a_message_is_one_clear_error(server, raw):
    server.fault("/api/chat", raw=raw)
    with pytest.raises(ModelProblem, match="not of the form of Ollama's"):
        said(server)


def test_a_list_of_models_of_another_form_is_not_ollamas(server):
    server.fault("/api/ps", raw=b"[" * 100_000, times=None)
    assert ollama(server).served_context(CHAT) is None


def test_a_compressed_reply_is_not_read(server):
    server.fault("/api/chat", header=("content-encoding", "gzip"), endless=b"\0" * 1000)
    with pytest.raises(ModelProblem, match="compressed"):
        said(server)


def test_a_token_is_cut_to_what_a_reply_may_hold(server):
    server.script(pieces=["a" * 500_000, "b"])
    reply = llm(server).reply([("user", "hi")], max_tokens=64)
    text = "".join(reply)
    assert set(text) == {"a"}
    assert len(text) == LONGEST_TOKEN * (64 + 64)
    assert reply.done_reason == "length"


def answered(server, **fault):
    server.fault("/api/chat", **fault, times=None)
    generation = Generation(llm(server), None, 60.0, whole_seconds=0.5)
    generation.run([("user", "hi")], 64)
    return generation


@pytest.mark.parametrize(
    "raw",
    [BEGUN, LOADING],
    ids=["half a line", "a line without a token"],
)
def test_the_deadline_counts_while_no_token_comes(server, raw):
    assert "not done after 0.5 seconds" in str(answered(server, raw=raw, until=threading.Event()).failure)


def test_structured_output_ends_at_its_deadline_while_no_token_comes(server):
    server.fault("/api/chat", raw=BEGUN, until=threading.Event(), times=None)
    got = ask_structured(llm(server), [("user", "x")], schema={}, read=json.dumps, max_tokens=64, seconds=0.5)
    assert got.failure == f"{CHAT} was not done after 0.5 seconds."


def test_limits_count_lines_and_the_whole():
    limits = ReplyLimits(longest_line=4, longest=12, seconds=60)
    for data in (b"ab", b"cd\nef", b"\n\n"):
        limits.add(data)
    with pytest.raises(UnusableReply, match="longer than 12"):
        limits.add(b"abcd")
    limits = ReplyLimits(longest_line=4, seconds=60)
    limits.add(b"abc")
    with pytest.raises(UnusableReply, match="line of it is longer than 4"):
        limits.add(b"de\n")


def test_a_line_that_takes_too_long_is_left():
    limits = ReplyLimits(longest_line=4, seconds=-1.0)
    with pytest.raises(UnusableReply, match="not whole after"):
        limits.add(b"a")


def test_no_message_shows_the_query_of_an_address():
    for address in ("http://127.0.0.1:9/?token=secret", "http://127.0.0.1:x/?token=secret"):
        there = Ollama(address, connect_seconds=1, timeout_seconds=1, offline=False)
        for call in (there.require, there.show):
            with pytest.raises(ModelProblem) as caught:
                call("x")
            assert "secret" not in str(caught.value)
