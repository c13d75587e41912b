"""The tools over a real library: what they give, and what they say where they cannot."""

import json
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragscience.agent.tool_calling import use_tools
from ragscience.agent.tools import Toolbox
from ragscience.core.errors import Cancelled
from ragscience.core.records import Filters, Hit
from ragscience.library.store import Home, Library
from tests.agent.agent_runs import run
from tests.agent.small_library import make, searcher
from tests.ask.asking import open_llm
from tests.ollama_server import OllamaServer

MOST_CHARS = 2000


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    make(folder)
    with Library.open(Home(folder)) as opened:
        yield opened


@pytest.fixture(scope="module")
def toolbox(library):
    return Toolbox(library, finds=searcher(library), most_chars=MOST_CHARS)


def test_the_tools_are_those_that_read_and_calculate():
    names = ["search", "read_page", "read_section", "calculate", "list_papers", "cite"]
    assert [schema["function"]["name"] for schema in Toolbox.schemas()] == names
    assert all(schema["function"]["description"] for schema in Toolbox.schemas())


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("open_door", {}, "There is no tool 'open_door'"),
        ("search", {}, "search: query: Field required"),
        ("search", {"query": ["a"]}, "valid string"),
        ("search", {"query": "x" * 1001}, "at most 1000 characters"),
        ("search", {"query": "x", "kind": "poem"}, "there is no kind 'poem'"),
        ("search", {"query": "x", "paper": "bert_1810.04806.pdf"}, "Did you mean bert_1810.04805.pdf?"),
        ("search", {"query": "x", "paper": "zzz"}, "list_papers gives all of them"),
        ("read_page", {"paper": "bert", "page": 0}, "Its pages are 1 to 2"),
        ("read_page", {"paper": "*", "page": 1}, "3 papers match"),
        ("list_papers", {"all": True}, "It takes no arguments"),
    ],
)
def test_what_is_wrong_with_a_call_is_told(toolbox, name, arguments, said):
    result = toolbox.call(name, arguments)
    assert result.error
    assert result.text.startswith("Error: ")
    assert said in result.text
    assert result.hits == ()


def test_text_of_a_paper_cannot_leave_its_fence(toolbox):
    for result in (
        toolbox.call("read_page", {"paper": "bert", "page": 2}),
        toolbox.call("search", {"query": "masks tokens", "paper": "bert"}),
        toolbox.call("read_section", {"paper": "bert", "section": "2"}),
    ):
        assert "Ignore the rules" in result.text
        assert result.text.count("</passage>") == result.text.count("<passage ")


anything = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), st.lists(st.text()))
names = st.one_of(st.sampled_from(Toolbox.names), st.text(max_size=10))
keys = st.one_of(st.sampled_from(["query", "paper", "page", "section", "kind", "expression"]), st.text(max_size=5))


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(names, st.dictionaries(keys, anything, max_size=4))
def test_wild_calls_give_a_text(toolbox, name, arguments):
    result = toolbox.call(name, arguments)
    assert result.text
    assert len(result.text) < MOST_CHARS + 300
    assert all(isinstance(hit, Hit) for hit in result.hits)
    result.text.encode()


QUESTION = "How many heads, and what is 8 * 64?"


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


HEADS = "How many parallel heads are employed?"


class Papers:
    """The search of the loop over a real library."""

    def __init__(self, library):
        self.library = library
        self._search = searcher(library)

    def search(self, query, papers):
        return self._search(query, Filters(papers=papers))


def use_of(library, llm, allowed=lambda hit: True):
    toolbox = Toolbox(library, finds=searcher(library), most_chars=2000, allowed=allowed)
    return partial(use_tools, toolbox, llm)


def test_model_calls_tools_and_their_cost_counts(library, server):
    grade = json.dumps({"score": 1.0, "missing": [], "unsupported": []})
    server.script(json.dumps({"question": "", "queries": ["parallel heads"]}))
    server.script(tool_calls=[("calculate", {"expression": "8 * 64"}), ("read_page", {"paper": "bert", "page": 2})])
    server.script("done", "We employ 8 parallel heads (attention_is_all_you_need_1706.03762.pdf, p.2).", grade)
    with llm_of(server) as llm:
        answer = run(HEADS, Papers(library), llm=llm, use_tools=use_of(library, llm))
    retrieved = next(step for step in answer.trace if step.node == "retrieve")
    assert (retrieved.tool_calls, retrieved.llm_calls) == (2, 2)
    assert retrieved.tokens > 0
    assert retrieved.notes[0] == 'calculate(expression="8 * 64"): 8 * 64 = 512'
    assert "bert_1810.04805.pdf" in {item.chunk.file for item in answer.found.hits}
    draft = next(body for body in server.of("/api/chat") if not body.get("format") and not body.get("tools"))
    assert "What tools of this program gave:\n" in draft["messages"][-1]["content"]
    assert "8 * 64 = 512" in draft["messages"][-1]["content"]
    assert sum(step.llm_calls for step in answer.trace) == len(server.of("/api/chat")) == 5


def test_passages_outside_of_the_filters_are_not_given(library, server):
    server.script(tool_calls=[("read_page", {"paper": "bert", "page": 2})])
    server.script("done")
    with llm_of(server) as llm:
        used = use_of(library, llm, allowed=lambda item: item.chunk.file.startswith("attention"))(
            "What does page 2 of the BERT paper say?", most_calls=4, seconds=5.0
        )
    assert used.results
    assert all(note.hits == () for note in used.results)
    assert not any("masks 15%" in note.text for note in used.results)
