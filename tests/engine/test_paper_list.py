"""What a list says of papers, and its orders."""

import pytest

from ragscience.core.errors import UsageError
from ragscience.core.records import Metadata, Paper
from ragscience.engine.papers import PAPER_ORDERS, authors_label, in_order


def paper(file, *authors, year=None, title="", pages=1, added="2026-01-01T10:00:00+00:00", sure=0.9):
    known = Metadata(title, authors, year, confidence={"title": sure, "authors": sure, "year": sure})
    return Paper(1, file, f"/papers/{file}", "0" * 32, 1, 1, pages, 2, "", added, metadata=known)


@pytest.mark.parametrize(
    ("authors", "label"),
    [
        ((), ""),
        (("Jon M. Kleinberg",), "Kleinberg"),
        (("Diederik P. Kingma", "Jimmy Lei Ba"), "Kingma & Ba"),
        (("Ashish Vaswani", "Noam Shazeer", "Niki Parmar"), "Vaswani et al."),
        (("George van den Driessche",), "van den Driessche"),
        (("Robert Downey Jr.", "李明"), "Downey & 李明"),
        (("Madonna",), "Madonna"),
    ],
)
def test_authors_are_called_as_they_are_cited(authors, label):
    assert authors_label(paper("a.pdf", *authors)) == label


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


def test_an_unknown_order_is_refused_with_those_that_there_are():
    with pytest.raises(UsageError, match="'size'") as refused:
        in_order([], "size")
    assert "file, author, year, pages, title, added" in refused.value.fix
