"""Questions of where a paper's authors work and how they are reached."""

import pytest

from ragscience.ask.router import route
from ragscience.core.records import Metadata
from tests.ask.paper_library import context, make_library

ABSTRACT = "We show that bees of the university garden fly to the south when the wind is from the west."
PAPERS = {
    "kites.pdf": (
        "Kites over Cities",
        [
            (1, "title", "Kites over Cities"),
            (1, "authors", "Ana Ruiz†, Bo Lind‡"),
            (1, "abstract", "†Department of Wind, University of Gale; ‡Breeze Inc. {ana,bo}@gale.example"),
            (1, "heading", "Abstract", 1),
            (1, "abstract", ABSTRACT),
            (1, "footnote", "1We use the wind tunnel of the second floor."),
            (2, "heading", "Acknowledgements", 1),
            (2, "text", "We thank Mail University."),
        ],
    ),
    "ropes.pdf": ("Ropes and Knots", [(1, "title", "Ropes and Knots"), (1, "authors", ABSTRACT), (2, "text", "Cy.")]),
}
METADATA = {
    "kites.pdf": Metadata("Kites over Cities", ("Ana Ruiz", "Bo Lind"), confidence={"title": 0.9, "authors": 0.9}),
    "ropes.pdf": Metadata("Ropes and Knots", confidence={"title": 0.9}),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    with make_library(tmp_path_factory.mktemp("kites"), PAPERS, METADATA) as library:
        yield library


def quotes(routed):
    return [block.text for block in routed.blocks if block.kind == "quote"]


@pytest.mark.parametrize(
    "question",
    [
        "Where do the authors of Kites over Cities work?",
        "Show the affiliations of Kites over Cities",
        "Which company is behind Kites over Cities?",
    ],
)
def test_where_authors_work_is_quoted_from_the_first_page(library, question):
    routed = route(question, context(library))
    assert quotes(routed) == [
        "Ana Ruiz†, Bo Lind‡",
        "†Department of Wind, University of Gale; ‡Breeze Inc. {ana,bo}@gale.example",
    ]
    assert "was written by Ana Ruiz and Bo Lind" in routed.blocks[0].text
    assert [citation.page for block in routed.blocks for citation in block.citations] == [1, 1]
    assert routed.confidence == "high"


@pytest.mark.parametrize(
    "question",
    [
        "What is the email address of the first author of Kites over Cities?",
        "What is the contact address for kites.pdf?",
    ],
)
def test_only_what_has_an_address_is_quoted_where_one_is_asked_for(library, question):
    said = quotes(route(question, context(library)))
    assert said == ["†Department of Wind, University of Gale; ‡Breeze Inc. {ana,bo}@gale.example"]


def test_a_page_that_does_not_tell_is_said_to_be_silent(library):
    routed = route("Where do the authors of Ropes and Knots work?", context(library))
    assert [block.text for block in routed.blocks] == [
        "The first page of “Ropes and Knots” (ropes.pdf) does not tell where its authors work."
    ]
    assert routed.confidence == "low"


@pytest.mark.parametrize("question", ["Which papers have an author at Breeze Inc.?", "papers by people at Breeze"])
def test_papers_by_a_place_are_those_that_name_it_beside_their_authors(library, question):
    routed = route(question, context(library))
    assert routed.blocks[0].text.startswith("1 paper has “Breeze")
    assert "beside the authors" in routed.blocks[0].text
    assert [(one.file, one.page) for block in routed.blocks for one in block.citations] == [("kites.pdf", 1)]


def test_a_place_that_is_thanked_is_none_where_an_author_works(library):
    routed = route("papers from Mail University", context(library))
    assert "1 paper has “Mail University” in the text." in routed.blocks[0].text
