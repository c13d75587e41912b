"""A question on two papers: each part is searched for in its own, in `search` and in `ask`."""

from dataclasses import replace

import pytest

from ragscience import AskRequest, Engine, SearchRequest
from ragscience.core.records import Block, Citation
from ragscience.core.sentences import below_of
from ragscience.core.settings import load_settings
from ragscience.engine import Searched
from tests.commands.papers import fill
from tests.conftest import Commands
from tests.pdf_factory import make_pdf

OAK = [
    "OakMap: Storing Maps in a Forest\n\nWe propose OakMap for maps in leaves.\nOakMap has a depth of 17 levels.",
    "The maps of OakMap are copied to 3 trees each.\nA query of OakMap reads 12 leaves.",
]
FERN = [
    "FernNet: A Small Encoder\n\nWe present FernNet, an encoder with few weights.\nFernNet has a depth of 9 levels.",
    "Training of FernNet took 4 days on one machine.\nFernNet reads words in both directions.",
]
BOTH = "How do OakMap and FernNet differ in depth?"


@pytest.fixture(scope="module")
def engine(made_once):
    def make(home):
        make_pdf(home / "papers" / "oak.pdf", OAK, title="OakMap: Storing Maps in a Forest")
        make_pdf(home / "papers" / "fern.pdf", FERN, title="FernNet: A Small Encoder")
        fill(home / "papers")
        assert Commands(home).ingest(RAG_EMBEDDER="embedded").code == 0

    home = made_once("split-search", make)
    settings = load_settings(home=home, offline=True, history=False, audit=False)
    with Engine.open(home, settings) as opened:
        yield opened


def test_each_part_is_searched_in_its_paper_and_they_take_turns(engine):
    found = engine.search(SearchRequest(BOTH))
    (oak, fern) = (part.question for part in found.parts)
    assert "OakMap" in oak and "depth" in oak and "FernNet" not in oak
    assert "FernNet" in fern and "depth" in fern and "OakMap" not in fern
    assert [hit.chunk.file for hit in found.hits[:2]] == ["oak.pdf", "fern.pdf"]
    assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    files = {hit.chunk.chunk_id: hit.chunk.file for hit in found.hits}
    assert [{files[number] for number in part.chunk_ids} for part in found.parts] == [{"oak.pdf"}, {"fern.pdf"}]


def test_answer_has_a_quote_for_each(engine):
    answer = engine.ask(AskRequest(BOTH))
    assert (answer.refused, answer.route) == (False, "comparison")
    assert answer.route_note == "Searched for in parts, each in its own paper: oak.pdf, fern.pdf."
    oak, fern = (block for block in answer.blocks if "levels" in block.text)
    assert ("17 levels" in oak.text, oak.citations[0].file) == (True, "oak.pdf")
    assert ("9 levels" in fern.text, fern.citations[0].file) == (True, "fern.pdf")
    assert {citation.file for block in answer.blocks for citation in block.citations} == {"oak.pdf", "fern.pdf"}


def test_two_things_of_one_paper_have_a_line_each(engine):
    answer = engine.ask(AskRequest("what depth does FernNet have, and how long did the training of FernNet take?"))
    depth, training = [block.line for block in answer.blocks if block.line]
    assert "9 levels" in depth and "4 days" in training


def test_an_answer_in_parts_is_no_surer_than_its_least_sure_part(engine):
    answer = engine.ask(AskRequest("what depth does FernNet have, and which harbour did FernNet sail to in winter?"))
    assert answer.confidence != "high"


def test_below_the_lines_each_paper_has_the_rest_of_its_first_quote_and_its_second():
    def quote(file, line, rest):
        text = f"{line} {rest}".strip()
        return Block("quote", text, (Citation(file, 1, text, True, file),), line=line, beside=rest)

    oak = quote("oak.pdf", "OakMap has a depth of 17 levels.", "Its leaves hold maps of the forest.")
    fern = quote("fern.pdf", "FernNet has a depth of 9 levels.", "It was trained for four days.")
    more = replace(quote("fern.pdf", "", "FernNet reads words in both directions."), line="")
    below = [block.text for block in below_of((oak, fern, more, Block("text", "No elm.")))]
    assert below == ["Its leaves hold maps of the forest.", "It was trained for four days.", more.text, "No elm."]


def test_a_question_costs_one_search_and_one_for_each_part(engine):
    events = []
    found = engine.search(SearchRequest(BOTH), on_event=events.append)
    parts = [part.question for part in found.parts]
    assert [event.query for event in events if isinstance(event, Searched)] == [BOTH, *parts]


def test_each_paper_is_asked_without_the_names_of_the_others(engine):
    found = engine.search(SearchRequest("depth: OakMap vs FernNet"))
    assert [part.question for part in found.parts] == ["Depth: OakMap?", "Depth: FernNet?"]
