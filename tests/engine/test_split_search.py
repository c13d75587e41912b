"""A question on two papers: each part is searched for in its own, in `search` and in `ask`."""

import pytest

from ragscience import AskRequest, Engine, SearchRequest
from ragscience.engine import Searched
from ragscience.records import Filters
from ragscience.settings import load_settings

BOTH = "How fast do Bees fly in fog, and how large is the error of Tides?"
PARTS = ("How fast do Bees fly in fog?", "How large is the error of Tides?")


@pytest.fixture(scope="module")
def engine(library):
    with Engine.open(library, load_settings(home=library, offline=True, history=False)) as opened:
        yield opened


def test_each_part_is_searched_in_its_paper_and_they_take_turns(engine):
    found = engine.search(SearchRequest(BOTH))
    assert tuple(part.question for part in found.parts) == PARTS
    assert [hit.chunk.file for hit in found.hits[:2]] == ["bees.pdf", "tides.pdf"]
    assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    files = {hit.chunk.chunk_id: hit.chunk.file for hit in found.hits}
    assert [{files[number] for number in part.chunk_ids} for part in found.parts] == [{"bees.pdf"}, {"tides.pdf"}]


def test_answer_has_a_quote_for_each(engine):
    answer = engine.ask(AskRequest(BOTH))
    assert (answer.refused, answer.route) == (False, "comparison")
    assert answer.route_note == "Searched for in parts, each in its own paper: bees.pdf, tides.pdf."
    bees, tides = answer.text.split(f"**{PARTS[1]}**")
    assert bees.startswith(f"**{PARTS[0]}**")
    assert "3.7 metres" in bees
    assert "12 centimetres" in tides
    assert {citation.file for block in answer.blocks for citation in block.citations} == {"bees.pdf", "tides.pdf"}


@pytest.mark.parametrize(
    "question",
    ["How fast do Bees fly in fog?", "How fast do Bees fly in fog and in rain?", "Who are Kelvin and Dover?"],
)
def test_question_on_one_paper_is_one_search(engine, question):
    assert engine.search(SearchRequest(question)).parts == ()


def test_plain_question_and_one_kept_to_papers_are_one_search(engine):
    kept = engine.search(SearchRequest(BOTH, filters=Filters(papers=("bees.pdf",))))
    plain = engine.ask(AskRequest(BOTH, plain=True))
    assert kept.parts == plain.found.parts == ()
    assert {hit.chunk.file for hit in kept.hits} == {"bees.pdf"}


def test_a_question_costs_one_search_and_one_for_each_part(engine):
    events = []
    engine.search(SearchRequest(BOTH), on_event=events.append)
    assert [event.query for event in events if isinstance(event, Searched)] == [BOTH, *PARTS]
