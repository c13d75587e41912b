"""What the library is about."""

import pytest

from ragscience.ask.library_route import groups_of
from ragscience.ask.router import route
from ragscience.core.records import Filters
from tests.ask.paper_library import context


@pytest.mark.parametrize(
    "question",
    [
        "What is my library about?",
        "what are these papers about",
        "What topics do my papers cover?",
        "which is to say: what is in my library?".removeprefix("which is to say: "),
        "Give me an overview of my library",
        "What topics are there in my library?",
        "describe my library",
    ],
)
def test_each_paper_is_listed_once(bees, question):
    routed = route(question, context(bees))
    assert routed.blocks[0].text.startswith("5 papers with 10 pages, from 2004 to 2019.")
    items = [block.text for block in routed.blocks if block.kind == "item"]
    assert sorted(item.rpartition(" ")[2] for item in items) == sorted(paper.file for paper in bees.papers())


def test_what_can_be_asked_is_said_before_the_papers(bees):
    routed = route("What can I ask?", context(bees))
    assert routed.blocks[0].text.startswith("Ask what a paper says")


def test_the_filters_narrow_it(bees):
    filters = Filters(papers=("waggle",))
    assert [paper.file for _, papers in groups_of(context(bees, filters)) for paper in papers] == ["waggle.pdf"]


@pytest.mark.parametrize(
    "question", ["What is the paper about?", "What is attention about?", "What topics does LDA find?"]
)
def test_other_questions_are_left_alone(bees, question):
    assert route(question, context(bees)) is None
