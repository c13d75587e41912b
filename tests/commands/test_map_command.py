"""`related` and `map` as a person calls them, and that what they draw is what the library holds."""

import json
import re

import pytest

from ragscience.graph.graph_records import CO_OCCURS, EntityMention, Extracted, Triple, encoded
from ragscience.graph.paper_map import PAPER
from ragscience.library.store import Home, Library
from tests.conftest import Commands, copied


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
    mentions = tuple(EntityMention(name, "METHOD", 1, 0.9) for name in named)
    pairs = [(one, other) for at, one in enumerate(named) for other in named[at + 1 :]]
    triples = tuple(Triple(a, "METHOD", kind, b, "METHOD", 0.8) for a, b in pairs for kind in ("USES", CO_OCCURS))
    return Extracted(chunk.chunk_id, mentions, triples)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text()).group(1))


def test_map_is_one_page_of_papers_and_entities(filled, tmp_path):
    target = tmp_path / "out.html"
    ran = Commands(filled).query("map", target)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"Written to {target}: 3 papers, ")
    assert ran.err.endswith(" entities. Open it in a browser.\n")
    data = data_of(target)
    papers = [node for node in data["nodes"] if node["kind"] == PAPER]
    assert sorted(data["links"]) == ["bees.pdf", "kilns.pdf", "tides.pdf"]
    assert len(papers) == 3
    assert {node["label"].lower() for node in data["nodes"]} >= {"honeybees", "cobalt oxide"}
    assert Commands(filled).query("map", target, "-q").err == ""


def test_without_a_graph_the_papers_are_drawn_and_it_is_said_how_to_make_one(three_papers, tmp_path):
    ran = Commands(copied(three_papers, tmp_path / "home")).query("map", tmp_path / "out.html")
    assert ran.code == 0
    assert "3 papers, 0 entities" in ran.err
    assert "`python ingest.py graph`" in ran.err
