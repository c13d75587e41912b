"""`related` and `map` as a person calls them, and that what they draw is what the library holds."""

import json
import re

from ragscience.graph.paper_map import PAPER
from tests.commands.papers import SAID
from tests.graph.making import fill_graph


def test_map_is_one_page_of_papers_and_entities(own, tmp_path):
    fill_graph(own.home, SAID)
    target = tmp_path / "out.html"
    ran = own.query("map", target)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"Written to {target}: 3 papers, ")
    assert ran.err.endswith(" entities. Open it in a browser.\n")
    data = json.loads(re.search(r'id="data">(.*?)</script>', target.read_text()).group(1))
    papers = [node for node in data["nodes"] if node["kind"] == PAPER]
    assert sorted(data["links"]) == ["bees.pdf", "kilns.pdf", "tides.pdf"]
    assert len(papers) == 3
    assert {node["label"].lower() for node in data["nodes"]} >= {"harmonic radar", "kelvin-7"}
    assert own.query("map", target, "-q").err == ""


def test_without_a_graph_the_papers_are_drawn_and_it_is_said_how_to_make_one(own, tmp_path):
    ran = own.query("map", tmp_path / "out.html")
    assert ran.code == 0
    assert "3 papers, 0 entities" in ran.err
    assert "`python ingest.py graph`" in ran.err
