"""The one rule for what a person calls a paper: which papers a name fits, and what is said where none or several do."""

import pytest

from ragscience import Engine, SearchRequest
from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.records import Filters, Metadata, Paper
from ragscience.core.settings import default_settings
from ragscience.engine.papers import PAPER_ORDERS, in_order
from ragscience.engine.places import find_quote
from tests.conftest import NOBODY
from tests.pdf_factory import make_pdf

WAVES = """Predicting Tides from Harbours

Ada Moreau, Bo Lind

Abstract
We propose the Harbour Tide Network (HTNet), a network that predicts tides.
HTNet reads the levels of the water in harbours, and HTNet is small."""
SHIPS = """Ships and their Masts

Carl Young

Abstract
Ships need masts. We describe a survey of masts in ports."""
MASTS = """On the Masts of Ships in Winter

Dora Old

Abstract
Masts break in winter. Ice is heavy, and the masts of ships carry it."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    home = tmp_path_factory.mktemp("lookup")
    make_pdf(home / "papers" / "waves_2001.pdf", [WAVES], title="Predicting Tides from Harbours")
    make_pdf(home / "papers" / "ships.pdf", [SHIPS], title="Ships and their Masts")
    make_pdf(home / "papers" / "winter" / "Masts-1999.pdf", [MASTS], title="On the Masts of Ships in Winter")
    with Engine.open(home, default_settings(home, ollama_url=NOBODY)) as engine:
        engine.ingest.add()
        yield engine


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("waves_2001.pdf", ["waves_2001.pdf"]),
        ("WAVES", ["waves_2001.pdf"]),
        ("tides from", ["waves_2001.pdf"]),
        ("*_20??.pdf", ["waves_2001.pdf"]),
        ("winter/Masts-1999.pdf", ["Masts-1999.pdf"]),
        ("htnet", ["waves_2001.pdf"]),
        ("Harbour Tide Network", ["waves_2001.pdf"]),
        ("HTNet of harbours", []),
        ("masts", ["Masts-1999.pdf", "ships.pdf"]),
        ("ships", ["Masts-1999.pdf", "ships.pdf"]),
        ("ships.pdf", ["ships.pdf"]),
        ("", []),
        (" ", []),
        ("nosuch", []),
    ],
)
def test_a_name_fits_what_has_it_in_its_file_or_title_or_is_called_so(engine, pattern, expected):
    assert [paper.file for paper in engine.papers.matching(pattern)] == expected


def test_of_several_the_one_whose_whole_name_it_is_is_taken_where_one_is_wanted(engine):
    assert engine.papers.outline("ships").paper.file == "ships.pdf"
    assert engine.papers.page("On the masts of ships in winter", 1).paper.file == "Masts-1999.pdf"
    with pytest.raises(UsageError, match=r"2 papers match 'mast': Masts-1999\.pdf, ships\.pdf\."):
        engine.papers.outline("mast")


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (Filters(sections=("Abstrakt",)), "No heading has 'Abstrakt'. Did you mean abstract?"),
        (Filters(pages=(900, 900)), "No passage fits the filters: pages=900."),
        (Filters(authors=("Moraeu",)), "No paper has an author 'Moraeu'. Did you mean Ada Moreau?"),
        (Filters(years=(3000, 9999)), "No paper is of 3000 or later."),
        (Filters(papers=("ships.pdf",), kinds=("table",)), "No passage fits the filters: paper=ships.pdf kind=table."),
    ],
)
def test_filters_that_leave_nothing_are_an_error_before_any_model_is_loaded(engine, filters, said):
    heard = []
    with pytest.raises(NothingFound) as error:
        engine.search(SearchRequest("How are tides predicted?", filters), on_event=heard.append)
    assert str(error.value).startswith(said)
    assert heard == []


def paper(file, *authors, year=None, title="", pages=1, added="2026-01-01T10:00:00+00:00", sure=0.9):
    known = Metadata(title, authors, year, confidence={"title": sure, "authors": sure, "year": sure})
    return Paper(1, file, f"/papers/{file}", "0" * 32, 1, 1, pages, 2, "", added, metadata=known)


OLD = paper("Z.pdf", "Ada Byron", year=1843, title="On engines", pages=9, added="2026-01-03T10:00:00+00:00")
NEW = paper("a.pdf", "Alan Turing", year=1936, title="a machine", pages=30)
BARE = paper("m.pdf", added="2026-01-02T10:00:00+00:00")


@pytest.mark.parametrize(
    ("order", "papers"),
    [
        ("file", [NEW, BARE, OLD]),
        ("author", [OLD, NEW, BARE]),
        ("year", [NEW, OLD, BARE]),
        ("pages", [NEW, OLD, BARE]),
        ("title", [NEW, OLD, BARE]),
        ("added", [OLD, BARE, NEW]),
    ],
)
def test_each_order_puts_what_is_not_known_last(order, papers):
    assert in_order([BARE, OLD, NEW], order) == papers
    assert order in PAPER_ORDERS


PAGE = "Bees steer by polar-\nised light. In  fog\nthey fly slower. They rest."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Bees steer", ["Bees steer"]),
        ("by polarised light.", ["by polar-\nised light."]),
        ("by polar-\nised light.", ["by polar-\nised light."]),
        ("In fog they fly slower.", ["In  fog\nthey fly slower."]),
        ("Bees steer […] They rest.", ["Bees steer", "They rest."]),
        ("Bees steer … fly slower", ["Bees steer", "fly slower"]),
        ("They rest. … Bees steer", []),
        ("Bees swim", []),
        ("", []),
        (" … ", []),
        ("(.*)", []),
    ],
)
def test_a_quote_is_found_in_its_page(quote, found):
    assert [PAGE[start:end] for start, end in find_quote(quote, PAGE)] == found
