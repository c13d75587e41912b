"""One suite for the chat models of Ollama and of servers with OpenAI's API, over a server that misbehaves.

Each case ends by itself within the small limits of these clients, with one clear message: a failure of the reply, or a
warning about it; or with a good answer where nothing is wrong.
"""

import json
import re
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from ragscience.ask.generation import Generation
from ragscience.models.model_protocols import ModelDetails
from ragscience.models.model_servers import Ollama
from ragscience.models.model_servers import OpenAIServer as OpenAIClient
from ragscience.models.served_llm import ChatOptions, ServedLLM
from tests.conftest import NOBODY
from tests.models.conftest import close
from tests.openai_server import DONE, OpenAIServer, Raw, chunk, event, usage

MODEL = "qwen"
KEY = "sk-very-secret-0123456789"
PROMPT = [("system", "Rules."), ("user", "What is attention?")]
UNKNOWN = ModelDetails()
SHORT = 0.25
"""Seconds that a silent server is waited for, where the silence is what a case is about."""
LONG_ENOUGH = 100.0
"""The same where something comes, however busy the machine is."""


class InOllama:
    """The words of Ollama's API: a line of JSON a piece."""

    name = api = "ollama"
    path, kind = "/api/chat", "application/x-ndjson"

    def llm(self, url, waited, details=UNKNOWN, between=LONG_ENOUGH, **options):
        server = Ollama(url.removesuffix("/v1"), timeout_seconds=between, offline=False)
        options = ChatOptions(0.0, 4096, 64, **options)
        return ServedLLM(server, MODEL, options=options, details=details, sleep=waited.append)

    def line(self, value):
        return json.dumps(value).encode() + b"\n"

    def piece(self, text, **more):
        return self.line({"model": MODEL, "message": {"role": "assistant", "content": text} | more, "done": False})

    def end(self, reason="stop", prompt=20, answer=3):
        counts = {"prompt_eval_count": prompt, "eval_count": answer} if prompt is not None else {}
        last = {"model": MODEL, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason}
        return self.line(last | counts)

    def error(self, message):
        return self.line({"error": message})

    def tool_call(self):
        return self.piece("", tool_calls=[{"function": {"name": "rm", "arguments": {"path": "/"}}}])


class InOpenAI:
    """The words of OpenAI's API: a server-sent event a piece."""

    name = api = "openai"
    path, kind = "/v1/chat/completions", "text/event-stream"

    def llm(self, url, waited, between=LONG_ENOUGH, **options):
        server = OpenAIClient(url, setting="RAG_LLM_URL", key=SecretStr(KEY), timeout_seconds=between, offline=False)
        return ServedLLM(server, MODEL, options=ChatOptions(0.0, 4096, 64, **options), sleep=waited.append)

    def line(self, value):
        return event(value)

    def piece(self, text, **more):
        return event(chunk(text, **more))

    def end(self, reason="stop", prompt=20, answer=3):
        counts = event(usage(prompt, answer)) if prompt is not None else b""
        return event(chunk(reason=reason)) + counts + DONE

    def error(self, message):
        return event({"error": {"message": message, "type": "server_error"}})

    def tool_call(self):
        call = {"index": 0, "id": "1", "type": "function", "function": {"name": "rm", "arguments": '{"path": "/"}'}}
        return event(chunk(tool_calls=[call]))


@pytest.fixture(params=[InOllama(), InOpenAI()], ids=lambda one: one.name)
def says(request):
    return request.param


@pytest.fixture
def server():
    with OpenAIServer(models=(MODEL,)) as running:
        yield running


@dataclass
class Ended:
    """How a reply ended."""

    generation: Generation
    requests: int
    waited: list = field(default_factory=list)

    @property
    def text(self):
        return self.generation.text

    @property
    def messages(self):
        failure = [str(self.generation.failure)] if self.generation.failure else []
        return [*failure, *self.generation.warnings]


@pytest.fixture
def ask(server, says):
    """`ask(*answers)`: what comes of one question where the server answers so, request for request."""
    opened = []

    def ask(*answers, prompt=PROMPT, seconds=60.0, whole_seconds=60.0, max_tokens=64, first=LONG_ENOUGH, **more):
        server.raw(*answers, path=says.path)
        waited = []
        llm = says.llm(server.url, waited, first_token_seconds=first, **more)
        opened.append(llm)
        generation = Generation(llm, None, seconds, whole_seconds=whole_seconds)
        generation.run(prompt, max_tokens)
        return Ended(generation, len(server.of(says.path)), waited)

    yield ask
    for llm in opened:
        close(llm)


def good(says, text="Fine.", **end):
    return Raw(says.piece(text) + says.end(**end), kind=says.kind)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_server_and_one_that_crashed_are_asked_once_more_after_a_pause(says, ask, status):
    busy = Raw(b'{"error": "busy"}', status, kind="application/json")
    ended = ask(busy, good(says))
    assert (ended.text, ended.messages, ended.requests, ended.waited) == ("Fine.", [], 2, [1.0])


MEMORY = b'{"error": "failed to allocate: out of memory"}'
LENGTH = b'{"error": "the request exceeds the available context size, try increasing it"}'
ENDS = {
    "memory": (lambda says: Raw(MEMORY, 500, kind="application/json"), "does not fit in memory", ""),
    "length": (lambda says: Raw(LENGTH, 400, kind="application/json"), "too long for qwen.*RAG_NUM_CTX", ""),
    "cut": (lambda says: Raw(says.piece("One two"), kind=says.kind, length=10_000), "broke", "One two"),
    "just ends": (lambda says: Raw(says.piece("One two"), kind=says.kind), "may be incomplete", "One two"),
    "error": (lambda says: Raw(says.piece("One") + says.error("It crashed"), kind=says.kind), "It crashed", "One"),
    "tool": (lambda says: Raw(says.tool_call() + says.end("tool_calls"), kind=says.kind), "tool_calls", ""),
    "cap": (lambda says: good(says, reason="length"), "cut off at the limit of 64 tokens", "Fine."),
    "filter": (lambda says: good(says, reason="content_filter"), "content_filter", "Fine."),
    "tool calls": (lambda says: good(says, reason="tool_calls"), "tool_calls", "Fine."),
    "escape code": (lambda says: good(says, reason="\x1b[31mred\n"), "red", "Fine."),
    "full window": (lambda says: good(says, prompt=4096), "The server cut the prompt", "Fine."),
    "more than the window": (lambda says: good(says, prompt=10**9), "The server cut the prompt", "Fine."),
}


@pytest.mark.parametrize("how", ENDS)
def test_another_end_than_a_full_stop_is_told_and_not_tried_again(says, ask, how):
    answer, told, text = ENDS[how]
    ended = ask(answer(says))
    (message,) = ended.messages
    assert re.search(told, message, re.DOTALL)
    assert how != "escape code" or message.isprintable()
    assert (ended.text, ended.requests) == (text, 1)


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_is_not_repeated(says, ask, status):
    told = json.dumps({"error": {"message": f"Invalid key {KEY}"}} if says.api == "openai" else {"error": "no"})
    ended = ask(Raw(told.encode(), status, kind="application/json"))
    (message,) = ended.messages
    assert KEY not in message
    assert says.api == "ollama" or "RAG_LLM_KEY" in message


def test_nobody_listens(says):
    llm = says.llm(f"{NOBODY}/v1", [])
    generation = Generation(llm, None, 60.0)
    generation.run(PROMPT, 64)
    close(llm)
    assert "answer" in str(generation.failure)
    assert "127.0.0.1" in str(generation.failure)


def test_no_answer_at_all(says, ask, server):
    (message,) = ask(Raw(until=server.closing, silent_first=True), first=SHORT).messages
    assert f"first token of qwen did not come within {SHORT:g} s" in message


def test_silence_between_tokens_keeps_what_came(says, ask, server):
    ended = ask(Raw(says.piece("Half an"), kind=says.kind, until=server.closing), between=SHORT)
    (message,) = ended.messages
    assert f"sent nothing for {SHORT:g} s" in message
    assert ended.text == "Half an"
    assert ended.requests == 1


def test_the_time_of_the_whole_call(says, ask, server):
    (message,) = ask(Raw(until=server.closing, silent_first=True), whole_seconds=0.2).messages
    assert "was not done after 0.2 seconds" in message


@pytest.mark.parametrize("piece", ["word ", "", "many words come in each of these pieces " * 5, "\n", "-" * 40])
def test_endless_tokens_are_cut_at_the_cap(says, ask, piece):
    ended = ask(Raw(kind=says.kind, endless=says.piece(piece)))
    assert len(ended.messages) == 1
    assert re.search("limit of 64 tokens|repeat itself", ended.messages[0])
    assert len(ended.text) < 64 * 50


@pytest.mark.parametrize(
    "value",
    [
        [],
        "text",
        7,
        None,
        {"choices": "abc", "message": "abc"},
        {"choices": [7], "message": 7},
        {"choices": [{"delta": {"content": {"a": 1}}}], "message": {"content": {"a": 1}}},
        {"choices": [{"delta": "x"}], "message": ["x"]},
        {"choices": [{}], "message": {"role": 5, "content": "x"}},
    ],
    ids=str,
)
def test_json_of_another_shape(says, ask, value):
    ended = ask(Raw(says.line(value) + says.end(), kind=says.kind))
    assert len(ended.messages) <= 1
    assert ended.messages or not ended.text


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_thoughts_apart_are_no_part_of_the_answer(says, ask, field):
    if says.api == "ollama" and field != "thinking":
        pytest.skip("Ollama has one field for them")
    more = {"details": ModelDetails(capabilities=("thinking",))} if says.api == "ollama" else {}
    thinking = says.piece("", **{field: "They ask about <think> and attention. "}) * 2
    ended = ask(Raw(thinking + says.piece("A sum.") + says.end(), kind=says.kind), **more)
    assert (ended.text, ended.messages) == ("A sum.", [])
    assert ended.generation.tokens["thoughts"] > 0


def test_ollama_is_asked_to_think_only_where_the_model_can(server):
    for capability, asked in (("thinking", True), ("tools", None)):
        server.raw(good(InOllama()), path="/api/chat")
        llm = InOllama().llm(server.url, [], ModelDetails(capabilities=(capability,)))
        assert "".join(llm.reply(PROMPT, max_tokens=64)) == "Fine."
        assert server.of("/api/chat")[-1].get("think") is asked
        close(llm)
    assert server.of("/api/show") == []


@pytest.mark.parametrize("cut", [1, 3, 50])
def test_thoughts_between_marks_are_no_part_of_the_answer(says, ask, cut):
    said = "<think>They ask about attention.</think>\n\nA sum."
    pieces = b"".join(says.piece(said[at : at + cut]) for at in range(0, len(said), cut))
    ended = ask(Raw(pieces + says.end(), kind=says.kind))
    assert (ended.text.strip(), ended.messages) == ("A sum.", [])


def test_a_schema_goes_out_as_the_server_wants_it(says, server):
    schema = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
    server.raw(good(says, '{"score": 7}'), path=says.path)
    llm = says.llm(server.url, [])
    assert "".join(llm.reply(PROMPT, max_tokens=64, schema=schema)) == '{"score": 7}'
    close(llm)
    (body,) = server.of(says.path)
    if says.api == "ollama":
        assert body["format"] == schema
    else:
        assert body["response_format"]["json_schema"]["schema"] == schema
        assert (body["stream"], body["max_tokens"]) == (True, 64)
