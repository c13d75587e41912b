"""Tools within the loop: called by the model over a real server, over a real library."""

import json
from functools import partial

import pytest

from ragscience.agent.tool_calling import use_tools
from ragscience.agent.tools import Toolbox
from ragscience.core.records import Filters
from ragscience.library.store import Home, Library
from tests.agent.agent_runs import run
from tests.agent.small_library import make, searcher
from tests.agent.test_tools_calling import llm_of
from tests.ollama_server import OllamaServer

HEADS = "How many parallel heads are employed?"


class Papers:
    """The search of the loop over a real library."""

    def __init__(self, library):
        self.library = library
        self._search = searcher(library)

    def search(self, query, papers):
        return self._search(query, Filters(papers=papers))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loop-tools")
    make(folder)
    with Library.open(Home(folder)) as opened:
        yield opened


@pytest.fixture
def server():
    with OllamaServer(models=["llama3.1:8b"]) as opened:
        yield opened


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
