"""The knowledge graph at the commands: asked by a search, shown, and walked from one thing to another.

The papers are those of the production notes' example, with their file names.
"""

import pytest

from tests.conftest import NOBODY, Commands
from tests.graph.drawn import TESLA_QUESTION
from tests.graph.making import fill_graph
from tests.ollama_server import OllamaServer, chat_model
from tests.pdf_factory import make_pdf

PAPERS = {
    "tesla_investments.pdf": ["A history of investors.", "Elon Musk, co-founder of Tesla, invested in SolarCity."],
    "tesla_patents.pdf": ["Elon Musk holds patents for Tesla EV battery technology: Tesla battery patent XYZ123."],
    "rivian_patents.pdf": ["RJ Scaringe, founder of Rivian, holds patents: Rivian battery patent ABC456."],
    "rivian_investments.pdf": ["Rivian investors include green energy funds."],
    "turnips.pdf": ["Turnips are grown in cool soil and harvested late."],
}
SAID = {
    "co-founder of Tesla": (("Tesla", "has_founder", "Elon Musk"), ("Elon Musk", "invested_in", "SolarCity")),
    "XYZ123": (("Elon Musk", "holds_patent", "Tesla battery patent XYZ123"),),
    "ABC456": (
        ("Rivian", "has_founder", "RJ Scaringe"),
        ("RJ Scaringe", "holds_patent", "Rivian battery patent ABC456"),
    ),
}
ENV = {"RAG_EMBEDDER": "embedded", "RAG_OLLAMA_URL": NOBODY}


@pytest.fixture(scope="module")
def filled(tmp_path_factory, model_cache):
    commands = Commands(tmp_path_factory.mktemp("home"))
    for name, pages in PAPERS.items():
        make_pdf(commands.home / "papers" / name, pages)
    ran = commands.ingest(**ENV, RAG_CACHE_FOLDER=str(model_cache))
    assert ran.code == 0, ran.err
    assert "no knowledge graph" in commands.query("graph", "Tesla", **ENV).err
    fill_graph(commands.home, SAID, "CONCEPT")
    return commands


def asked(commands, *arguments, **more):
    return commands.json("query.py", *arguments, shape=arguments[0], **{**ENV, **more})


def test_a_search_with_the_graph_shows_both_scores_the_concepts_and_the_paths(filled):
    found = asked(filled, "search", TESLA_QUESTION, "--graph")
    scores = {hit["file"]: hit["scores"] for hit in found["hits"]}
    assert scores["rivian_patents.pdf"]["graph"] > 0
    assert scores["rivian_patents.pdf"]["gear"] > 0
    assert any("gear" in hit["found_by"] for hit in found["hits"])
    assert {"Tesla", "Rivian", "Elon Musk", "RJ Scaringe"} <= set(found["concepts"])
    steps = [(step["source"], step["relation"], step["target"]) for path in found["paths"] for step in path["steps"]]
    assert ("Elon Musk", "invested_in", "SolarCity") in steps
    pages = [step["pages"] for path in found["paths"] for step in path["steps"] if step["target"] == "SolarCity"]
    assert pages[0] == [{"file": "tesla_investments.pdf", "page": 2}]
    shown = filled.query("search", TESLA_QUESTION, "--graph", **ENV).out
    assert "Paths in the knowledge graph:" in shown
    assert "(tesla_patents.pdf, p.1)" in shown


def test_the_filter_keeps_to_papers_that_mention_what_is_related(filled):
    found = asked(filled, "search", "What did Elon Musk do?", "--graph-filter", "-k", "20")
    assert {hit["file"] for hit in found["hits"]} == {"tesla_investments.pdf", "tesla_patents.pdf"}
    narrow = asked(filled, "search", "What did Elon Musk do?", "--graph-filter", "--paper", "patents", "-k", "20")
    assert {hit["file"] for hit in narrow["hits"]} == {"tesla_patents.pdf"}
    nothing = asked(filled, "search", "When are turnips harvested?", "--graph-filter", "-k", "20")
    assert "turnips.pdf" in {hit["file"] for hit in nothing["hits"]}
    assert any("all papers were searched" in line for line in nothing["warnings"])


def test_what_is_around_an_entity(filled):
    found = asked(filled, "graph", "elon musk")
    assert [each["name"] for each in found["entities"]] == ["Elon Musk"]
    assert found["entities"][0]["pages"] == [
        {"file": "tesla_investments.pdf", "page": 2},
        {"file": "tesla_patents.pdf", "page": 1},
    ]
    assert {each["depth"] for each in found["relations"]} == {1}
    assert found["reached"] == 3
    assert len(asked(filled, "graph", "elon musk", "-n", "1")["relations"]) == 1
    near = asked(filled, "graph", "Tesla", "--hops", "1")
    assert [each["target"] for each in near["relations"]] == ["Elon Musk"]
    shown = filled.query("graph", "Tesla", **ENV).out
    assert "Tesla has_founder Elon Musk (tesla_investments.pdf, p.2)" in shown
    assert "3 entities within 2 steps" in shown


def test_how_two_things_are_connected_with_a_page_for_each_step(filled):
    found = asked(filled, "path", "Tesla", "SolarCity")
    assert [(step["relation"], step["pages"][0]["file"]) for step in found["steps"]] == [
        ("has_founder", "tesla_investments.pdf"),
        ("invested_in", "tesla_investments.pdf"),
    ]
    assert (found["source"], found["target"]) == ("Tesla", "SolarCity")
    shown = filled.query("path", "SolarCity", "Tesla battery patent XYZ123", **ENV).out.splitlines()
    assert shown == [
        "Elon Musk invested_in SolarCity (tesla_investments.pdf, p.2)",
        "Elon Musk holds_patent Tesla battery patent XYZ123 (tesla_patents.pdf, p.1)",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("path", "Tesla", "Rivian"), "Nothing in the graph connects"),
        (("path", "Tesla", "turnip"), "The graph has no 'turnip'."),
        (("graph", "Teslas Inc"), "The graph has no 'Teslas Inc'"),
        (("graph", "Elon Muks"), "Similar names: Elon Musk."),
        (("graph", "battery patent"), "Similar names: Rivian battery patent ABC456"),
    ],
)
def test_what_is_not_there_is_said_with_the_way_out(filled, arguments, said):
    ran = filled.query(*arguments, **ENV)
    assert (ran.code, ran.out) == (4, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 2


def test_related_concepts_go_into_the_prompt_as_quoted_material(filled):
    def reply(body):
        return "Elon Musk invested in SolarCity (tesla_investments.pdf, p.2)."

    with OllamaServer(models={"llama3.1:8b": chat_model()}, default_reply=reply) as server:
        found = asked(filled, "ask", TESLA_QUESTION, "--graph", "--no-history", RAG_OLLAMA_URL=server.url)
        plain = asked(filled, "ask", TESLA_QUESTION, "--no-history", RAG_OLLAMA_URL=server.url)
        bodies = server.of("/api/chat")
    assert found["answer"].startswith("Elon Musk invested")
    answering, without = bodies
    request = answering["messages"][-1]["content"]
    line = next(line for line in request.splitlines() if line.startswith("Related concepts from knowledge graph: "))
    assert {"Tesla", "Rivian", "Elon Musk"} <= set(line.partition(": ")[2].split(", "))
    assert "Related concepts" not in without["messages"][-1]["content"]
    assert plain["concepts"] == []
