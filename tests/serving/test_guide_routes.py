"""The graph guide's two calls, with a server that speaks as arXiv."""

import json

import httpx
import pytest

from tests.commands.papers import BEES, KILNS
from tests.ollama_server import OllamaServer, chat_model
from tests.pdf_factory import make_pdf
from tests.serving.conftest import serving
from tests.serving.test_paper_routes import paper_of
from tests.sources.arxiv_feed import ArxivServer, FeedPaper
from tests.sources.fault_server import Reply

BEES_PAPER = FeedPaper("2101.00001v2", "Navigation of honeybees in fog", summary="Honeybees steer by light.")
KILNS_PAPER = FeedPaper("2102.00002v1", "Firing porcelain in a tunnel kiln")
BERT = ["On BERT\n\nBERT uses the Transformer. The Transformer attends to all words. We evaluate BERT on SQuAD."]


@pytest.fixture
def arxiv(tmp_path):
    with ArxivServer([BEES_PAPER, KILNS_PAPER]) as server:
        server.put(BEES_PAPER.id, make_pdf(tmp_path / "a.pdf", [*BEES, *BERT]).read_bytes())
        server.put(KILNS_PAPER.id, make_pdf(tmp_path / "b.pdf", KILNS).read_bytes())
        yield server


@pytest.fixture
def online(tmp_path, arxiv):
    """A client of a server with an empty library that reaches the stand-in for arXiv."""
    home = tmp_path / "home"
    (home / "papers").mkdir(parents=True)
    with (
        serving(home, offline=False, embedder="embedded", **arxiv.flags) as url,
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def offline(graph_home):
    with serving(graph_home) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


def act(client, **body):
    response = client.post("/api/agent_action", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_papers_on_a_topic_are_fetched_read_and_joined(online, arxiv):
    response = online.post("/api/build_graph", json={"topic": "bees and kilns", "max_results": 2})
    assert response.status_code == 200, response.text
    graph = response.json()
    assert set(graph) == {"nodes", "edges", "knowledge_graph", "session_id", "warnings"}
    assert arxiv.asked[0]["max_results"] == "2"
    bees, kilns = graph["nodes"]
    assert (bees["title"], bees["summary"]) == (BEES_PAPER.title, BEES_PAPER.summary)
    assert (bees["authors"], bees["published"]) == (list(BEES_PAPER.authors), "2021-01-04")
    assert bees["link"] == "https://arxiv.org/abs/2101.00001v2"
    listed = {paper["md5"] for paper in online.get("/api/v1/papers").json()["papers"]}
    assert {bees["id"], kilns["id"]} == listed
    assert all({one["source"], one["target"]} <= listed and 0 < one["weight"] <= 1 for one in graph["edges"])
    answer = act(
        online, action="chat", selected_papers=[bees], query="How fast do bees fly in fog?",
        session_id=graph["session_id"], use_hybrid=True, use_reranking=True,
    )  # fmt: skip
    assert "3.7" in answer["response"]
    assert answer["session_id"] == graph["session_id"]
    assert (bees["md5"], 2) in {(one["md5"], one["page"]) for one in answer["citations"]}


@pytest.mark.parametrize("topic", ["http://127.0.0.1:9/a.pdf", "2101.00001", "doi:10.48550/arXiv.2101.00001"])
def test_a_topic_that_is_an_address_is_refused(online, arxiv, topic):
    response = online.post("/api/build_graph", json={"topic": topic})
    assert response.status_code == 400
    assert (arxiv.asked, arxiv.paths) == ([], [])


def test_nothing_found_and_a_failing_arxiv_are_problems(online, arxiv):
    arxiv.papers = []
    nothing = online.post("/api/build_graph", json={"topic": "turnips"})
    assert (nothing.status_code, nothing.headers["content-type"]) == (404, "application/problem+json")
    arxiv.api = Reply(b"nonsense", 400)
    failed = online.post("/api/build_graph", json={"topic": "turnips"})
    assert (failed.status_code, failed.headers["content-type"]) == (502, "application/problem+json")


def test_offline_the_papers_that_are_there_are_used_when_asked_for(offline):
    refused = offline.post("/api/build_graph", json={"topic": "bees in fog"})
    assert refused.status_code == 400
    assert '"source": "library"' in refused.json()["fix"]
    body = {"topic": "flight of bees in fog", "max_results": 1, "source": "library"}
    graph = offline.post("/api/build_graph", json=body).json()
    assert [node["file"] for node in graph["nodes"]] == ["bees.pdf"]
    assert graph["edges"] == []
    stated = [(one["source"], one["relation"], one["target"]) for one in graph["knowledge_graph"]["edges"]]
    assert sorted(stated) == [
        ("METHOD:harmonic radar", "USES", "METHOD:transponder x2"),
        ("METHOD:transponder x2", "PART_OF", "METHOD:bee tag"),
    ]


@pytest.mark.parametrize("way", ["md5", "file", "title", "node"])
def test_papers_are_selected_by_whatever_names_them(offline, way):
    bees = paper_of(offline, "bees.pdf")
    selected = {"id": bees["md5"], "title": "x"} if way == "node" else bees[way]
    found = act(offline, action="chat", selected_papers=[selected], query="How fast do bees fly in fog?")
    assert {one["md5"] for one in found["citations"]} == {bees["md5"]}


def test_a_question_of_other_papers_finds_nothing_in_those_selected(offline):
    found = act(offline, action="chat", selected_papers=["kilns.pdf"], query="How fast do bees fly in dense fog?")
    assert {one["file"] for one in found["citations"]} <= {"kilns.pdf"}
    assert "3.7" not in found["response"]


def test_each_paper_is_summarized_by_itself(offline):
    found = act(offline, action="summarize", selected_papers=["bees.pdf", "kilns.pdf"])
    assert [line for line in found["response"].splitlines() if line.startswith("## ")] == [
        "## Navigation of honeybees in fog",
        "## Firing porcelain in a tunnel kiln",
    ]
    assert len(found["answer_ids"]) == 2


def test_papers_are_compared(offline):
    found = act(offline, action="compare", selected_papers=["bees.pdf", "kilns.pdf"])
    assert [line for line in found["response"].splitlines() if line.startswith("**")] == [
        "**Navigation of honeybees in fog**",
        "**Firing porcelain in a tunnel kiln**",
    ]
    with_query = act(offline, action="compare", selected_papers=["bees.pdf", "tides.pdf"], query="What was measured?")
    assert "## Navigation of honeybees in fog" in with_query["response"]


def test_what_papers_leave_open(offline):
    found = act(offline, action="find_gaps", selected_papers=["tides.pdf"])
    assert found["response"].startswith("## Predicting tides with the Kelvin-7 machine\n\n")
    assert found["response"].count("## ") == 1
    asked = [offline.get(f"/api/v1/answers/{one}").json()["question"] for one in found["answer_ids"]]
    assert asked == ["What are the limitations of this paper?", "What future work does this paper suggest?"]


def test_a_session_is_a_conversation_that_is_kept(offline):
    act(offline, query="How fast do bees fly in fog?", session_id="my thesis")
    act(offline, query="What gives the blue colour of the glaze?", session_id="my thesis")
    kept = [one for one in offline.get("/api/v1/conversations").json()["conversations"] if one["name"] == "my thesis"]
    assert [one["turns"] for one in kept] == [2]
    assert act(offline, query="How fast do bees fly in fog?")["session_id"].startswith("graph-")


def test_an_action_uses_the_graph_that_was_built(graph_home):
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as ollama:
        settings = {"offline": False, "ollama_url": ollama.url, "embedder": "embedded"}
        with serving(graph_home, **settings) as url, httpx.Client(base_url=url, timeout=120) as client:
            act(client, action="chat", query="How were bees followed by harmonic radar?")
    prompts = [json.dumps(one) for one in ollama.of("/api/chat")]
    assert any("concepts from knowledge graph: Harmonic radar, Transponder X2" in one for one in prompts)
