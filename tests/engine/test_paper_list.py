"""What a list says of papers, and its orders."""

import pytest

from ragscience.core.records import Metadata, Paper
from ragscience.engine.papers import PAPER_ORDERS, in_order


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
