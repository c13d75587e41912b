"""A model calls tools over a real HTTP server, and never more than it may."""

import pytest

from ragscience.agent.tool_calling import use_tools
from ragscience.agent.tools import Toolbox
from ragscience.core.errors import Cancelled
from ragscience.library.store import Home, Library
from tests.agent.small_library import make, searcher
from tests.ask.asking import open_llm
from tests.ollama_server import OllamaServer

QUESTION = "How many heads, and what is 8 * 64?"


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calling")
    make(folder)
    with Library.open(Home(folder)) as library:
        yield Toolbox(library, finds=searcher(library), most_chars=2000)


@pytest.fixture
def server():
    with OllamaServer(models=["llama3.1:8b", "nomic-embed-text:latest"]) as opened:
        opened.default_reply = lambda body: "done"
        yield opened


def llm_of(server):
    return open_llm(server.url, num_ctx=8192, num_predict=256, is_known=True)


def ask(server, toolbox, *, most_calls=4, chats=0, cancelled=None):
    """The calls that were made; `chats` were asked before."""
    with llm_of(server) as llm:
        made = use_tools(toolbox, llm, QUESTION, most_calls=most_calls, seconds=60.0, cancelled=cancelled)
    assert made.llm_calls == len(server.of("/api/chat")) - chats
    return made.results


def test_calls_are_run_and_told(server, toolbox):
    server.script(tool_calls=[("search", {"query": "parallel heads"}), ("calculate", {"expression": "8 * 64"})])
    found, worked = ask(server, toolbox)
    assert (found.call, worked.call) == ('search(query="parallel heads")', 'calculate(expression="8 * 64")')
    assert found.hits[0].chunk.file.startswith("attention")
    assert worked.text == "8 * 64 = 512"
    asked, told = server.of("/api/chat")
    assert {tool["function"]["name"] for tool in asked["tools"]} >= {"search", "cite"}
    assert asked["options"]["num_ctx"] == 8192
    assert [message["role"] for message in told["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert told["messages"][-1]["content"] == "8 * 64 = 512"


def test_calls_are_bounded(server, toolbox):
    for number in range(20):
        server.script(tool_calls=[("calculate", {"expression": f"{number} + 1"})])
    assert len(ask(server, toolbox, most_calls=3)) == 3
    assert len(server.of("/api/chat")) == 3
    assert ask(server, toolbox, most_calls=0, chats=3) == ()


@pytest.mark.parametrize("how", [{"status": 500, "error": "crashed"}, {"malformed": True}, {"cut_after": 0}])
def test_server_that_fails_costs_only_what_follows(server, toolbox, how):
    server.script(tool_calls=[("list_papers", {})])
    server.fault("/api/chat", after=1, **how)
    assert [result.call for result in ask(server, toolbox)] == ["list_papers()"]


def test_a_cancelled_exchange_ends_between_two_calls(server, toolbox):
    server.script(tool_calls=[("list_papers", {})])
    looks = iter([False] * 3)
    with pytest.raises(Cancelled):
        ask(server, toolbox, cancelled=lambda: next(looks, True))
    assert len(server.of("/api/chat")) <= 2
