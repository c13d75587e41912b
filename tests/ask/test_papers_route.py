"""Questions of the papers' metadata."""

from dataclasses import replace

import pytest

from ragscience.ask.library_route import groups_of
from ragscience.ask.route_records import of_venue
from ragscience.ask.router import route
from ragscience.core.errors import NothingFound
from ragscience.core.paper_records import years_of
from ragscience.core.records import Filters, Metadata
from ragscience.library.filter_selection import papers_allowed
from tests.ask.paper_library import context


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who wrote the Waggle paper?", "was written by Ana María Ruiz and Bo Lind (2016)."),
        ("Who wrote the original Waggle article?", "was written by Ana María Ruiz and Bo Lind (2016)."),
        ("Please tell me the first author of the sleep paper", "is Cy Moor (of 3)"),
        ("How many authors does the Waggle paper have?", "has 2 authors"), ("title of waggle.pdf", "is “Waggle: "),
        ("When was Waggle published?", "is from 2016, at International Conference on Bee Research"),
        ("where was the waggle paper presented?", "at International Conference on Bee Research 2016"),
        ("What is the DOI of the Waggle paper?", "is 10.1/waggle"),
        ("How many pages does the Waggle paper have?", "has 3 pages"),
        ("Cite the Waggle paper", "@inproceedings{ruiz2016waggle,"),
        ("When was Warm Hives in Cold Winters published?", "This is not sure"),
        ("Who wrote Waggle and in which year?", "2016"), ("Where and when did Waggle appear?", "is from 2016, at"),
    ],
)  # fmt: skip
def test_a_fact_of_one_paper(ask, question, said):
    assert said in ask(question)


@pytest.mark.parametrize(
    ("question", "files"),
    [
        ("Which papers are from 2016?", ["waggle.pdf"]), ("how many do I have from before 2005?", ["hives.pdf"]),
        ("List all papers between 2004 and 2016", ["waggle.pdf", "hives.pdf"]),
        ("Which papers did Lind write?", ["hives.pdf", "waggle.pdf"]),
        ("do I have papers by Maria Ruiz?", ["waggle.pdf"]), ("papers by Bo Lind after 2010?", ["waggle.pdf"]),
        ("anything by maria ruiz?", ["waggle.pdf"]),
        ("Which papers appeared at ICBR?", ["waggle.pdf"]), ("anything from icbr?", ["waggle.pdf"]),
        ("papers from the 2000s", ["hives.pdf"]),
        ("What is the newest paper?", ["nectar_1906.01234.pdf"]), ("Which paper is the longest?", ["waggle.pdf"]),
        ("list my papers by name", ["hives.pdf", "nectar_1906.01234.pdf", "scan.pdf", "sleep_2018.pdf", "waggle.pdf"]),
    ],
)  # fmt: skip
def test_the_papers_that_fit(ask, question, files):
    said = [line for line in ask(question).split("\n") if line.endswith(".pdf")]
    assert [line.rpartition(" ")[2] for line in said] == files


def test_what_is_not_known_is_said(ask):
    said = ask("Which papers are from 2016?")
    assert "Of 1 paper the year is not known." in said
    assert "2018 by its file's name" in ask("Which papers are from 2018?")
    assert "Of 3 papers the venue is not known." in ask("Which papers appeared at ICBR?")
    assert "not sure" in ask("Which papers are from 2004?")
    assert "no paper that is known to be by Jane Nobody" in ask("papers by Jane Nobody")


def test_a_paper_is_from_the_year_of_its_print_and_that_of_its_first_version(bees):
    paper = replace(bees.papers()[0], file="a.pdf")
    both = replace(paper, metadata=Metadata(year=2021, arxiv_id="2005.11401v4", newest_reference=2020))
    assert years_of(both) == {2021: "", 2020: "its arXiv id"}
    assert papers_allowed([both], Filters(years=(2020, 2020))) == {paper.paper_id}
    cited = replace(paper, metadata=Metadata(newest_reference=1998))
    assert years_of(cited) == {1998: "its newest reference"}


def test_a_word_of_a_venue_is_not_its_name(bees):
    assert [len(of_venue(bees.papers(), name)) for name in ("Bee Research", "Research", "ICBR")] == [1, 0, 1]


def test_the_filters_narrow_it(ask, bees):
    filters = Filters(papers=("waggle",))
    assert ask("How many papers are in my library?", filters).startswith("The filters leave 1 paper with 3 pages")
    assert "I found no paper" in ask("Which papers are from 2004?", filters)
    assert "Ana María Ruiz" in ask("Who wrote it?", filters)
    with pytest.raises(NothingFound):
        route("How many papers are there?", context(bees, Filters(papers=("absent",))))


def test_the_printed_line_is_cited(bees):
    (block,) = route("Who wrote the Waggle paper?", context(bees)).blocks
    assert [(c.file, c.page, c.quote) for c in block.citations] == [("waggle.pdf", 1, "Ana Maria Ruiz and Bo Lind")]


@pytest.mark.parametrize(
    "question",
    [
        "What is my library about?", "what are these papers about", "What topics do my papers cover?",
        "what is in my library?", "Give me an overview of my library", "What topics are there in my library?",
        "describe my library",
    ],
)  # fmt: skip
def test_each_paper_is_listed_once(bees, question):
    routed = route(question, context(bees))
    assert routed.blocks[0].text.startswith("5 papers with 10 pages, from 2004 to 2019.")
    items = [block.text for block in routed.blocks if block.kind == "item"]
    assert sorted(item.rpartition(" ")[2] for item in items) == sorted(paper.file for paper in bees.papers())


def test_what_can_be_asked_is_said_before_the_papers(bees):
    routed = route("What can I ask?", context(bees))
    assert routed.blocks[0].text.startswith("Ask what a paper says")


def test_the_filters_narrow_the_groups(bees):
    filters = Filters(papers=("waggle",))
    assert [paper.file for _, papers in groups_of(context(bees, filters)) for paper in papers] == ["waggle.pdf"]
