"""`related` and `map` as a person calls them, and that what they draw is what the library holds."""

import json
import re

import pytest
from jsonschema import validate

from ragscience.graph.entity_merging import load_graph
from ragscience.graph.extraction_json import encoded
from ragscience.graph.graph_records import CO_OCCURS, Extracted, Mention, Triple
from ragscience.graph.map_data import entity_view, paper_view, views_of
from ragscience.graph.paper_map import paper_map
from ragscience.json_schemas import schemas
from ragscience.store import Home, Library
from tests.conftest import Commands


@pytest.fixture(scope="module")
def filled(library):
    """Three papers, and a graph of what they name; no test changes it."""
    with Library.open_for_writing(Home(library)) as opened:
        chunks = [chunk for paper in opened.papers() for chunk in opened.paper_chunks(paper.paper_id)]
        rows = [(chunk.chunk_id, encoded(read(chunk))) for chunk in chunks]
        opened.graph.put("local", "test", rows)
    return library


def read(chunk):
    named = [
        name for name in ("harmonic radar", "honeybees", "cobalt oxide", "brass wheel") if name in chunk.text.lower()
    ]
    mentions = tuple(Mention(name, "METHOD", 1, 0.9) for name in named)
    pairs = [(one, other) for at, one in enumerate(named) for other in named[at + 1 :]]
    triples = tuple(Triple(a, "METHOD", kind, b, "METHOD", 0.8) for a, b in pairs for kind in ("USES", CO_OCCURS))
    return Extracted(chunk.chunk_id, mentions, triples)


def test_related_lists_the_others_the_nearest_first(filled):
    ran = Commands(filled).query("related", "bees.pdf")
    assert ran.code == 0, ran.err
    assert {line.split()[1] for line in ran.out.splitlines()} == {"kilns.pdf", "tides.pdf"}
    told = json.loads(Commands(filled).query("related", "bees.pdf", "--json", "-k", 1).out)
    validate(told, schemas()["related"])
    assert [one["file"] for one in told["related"]] == [ran.out.split()[1]]


def test_related_says_which_paper_is_not_there(filled):
    ran = Commands(filled).query("related", "wasps.pdf")
    assert (ran.code, ran.out) == (4, "")
    assert "no paper 'wasps.pdf'" in ran.err


def test_map_is_one_page_with_both_drawings(filled, tmp_path):
    target = tmp_path / "out.html"
    ran = Commands(filled).query("map", target, RAG_MAP_MIN_COSINE="-1")
    assert (ran.code, ran.out) == (0, ""), ran.err
    data = json.loads(re.search(r'id="data">(.*?)</script>', target.read_text()).group(1))
    papers, entities = data["views"]
    assert sorted(data["files"]) == ["bees.pdf", "kilns.pdf", "tides.pdf"]
    assert (len(papers["nodes"]), len(papers["edges"])) == (3, 3)
    assert {node[0].lower() for node in entities["nodes"]} >= {"honeybees", "cobalt oxide"}
    assert Commands(filled).query("map", target, "-q").err == ""


def test_map_keeps_what_is_not_its_own(filled, tmp_path):
    target = tmp_path / "thesis.html"
    target.write_text("my own")
    ran = Commands(filled).query("map", target)
    assert ran.code == 2
    assert "no map of ours" in ran.err
    assert target.read_text() == "my own"
    assert Commands(filled).query("map", target, "--force").code == 0
    assert Commands(filled).query("map", tmp_path / "map.pdf").code == 2


def test_an_empty_library_has_no_map(commands, tmp_path):
    ran = commands.query("map", tmp_path / "out.html")
    assert ran.code == 4
    assert not (tmp_path / "out.html").exists()


def test_evidence_stands_on_the_page_that_is_named(filled):
    with Library.open(Home(filled)) as library:
        _, entities = views_of(library, neighbours=3, threshold=0.3, max_nodes=2000, title_of=lambda paper: paper.title)
        pages = {
            (paper.file, page.number): " ".join(library.page_text(paper.paper_id, page.number).split())
            for paper in library.papers()
            for page in library.pages(paper.paper_id)
        }
    node = next(node for node in entities.nodes if node.label == "harmonic radar")
    (quote,) = node.evidence
    assert (quote.file, quote.page) == ("bees.pdf", 2)
    for node in entities.nodes:
        for one in node.evidence:
            assert node.label in pages[one.file, one.page].lower()
            assert node.label in one.text.lower()
    assert entities.left_out == ""


def test_past_the_cap_those_with_the_fewest_relations_are_left_out_and_it_is_said(filled):
    with Library.open(Home(filled)) as library:
        graph = load_graph(library)
        view = entity_view(library, graph, 2)
        few = paper_view(library, paper_map(library), 3, -1.0, 2, lambda paper: paper.file)
    assert {node.label for node in view.nodes} == {"harmonic radar", "honeybees"}
    assert view.left_out.startswith(f"The 2 entities with the most relations of {len(graph)} are drawn, ")
    assert (len(few.nodes), len(few.edges)) == (2, 1)
    assert few.left_out.endswith("are drawn, 1 left out.")
