"""The measures of tests/gold on examples whose result is plain, and the papers read against the gold."""

from dataclasses import dataclass

import pytest

from tests.gold.scoring import (
    Gold,
    GoldTable,
    load_gold,
    matrix_of,
    score_document,
    table_score,
    total,
)
from tests.shared_data import needs_shared_data, shared_papers


@dataclass(frozen=True)
class Element:
    kind: str
    level: int
    page: int
    start: int
    end: int


@dataclass(frozen=True)
class PageOf:
    number: int
    start: int
    end: int


@dataclass(frozen=True)
class DocumentOf:
    text: str
    pages: tuple[PageOf, ...]
    elements: tuple[Element, ...]
    title: str


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def test_a_document_is_scored_whole():
    gold = Gold(
        "a.pdf",
        "A Title",
        0,
        ((1, 1, "1 Methods"),),
        (),
        {1: ("Methods", "We did")},
        (GoldTable(1, "T", 1, (("a", "b"),)),),
    )
    table = markdown([["a", "c"]])
    text = f"1 Methods\nWe did it.\n{table}"
    elements = (Element("heading", 1, 1, 0, 9), Element("table", 0, 1, len(text) - len(table), len(text)))
    scores = score_document(DocumentOf(text, (PageOf(1, 0, len(text)),), elements, "a title"), gold)
    assert (scores.title, scores.heading_f1, scores.levels_right, scores.orders) == (True, 1.0, 1, {1: 1.0})
    assert (scores.tables["T"].right, scores.tables["T"].cells) == (1, 3)
    without = score_document(DocumentOf("", (), (), ""), gold)
    assert (without.title, without.heading_f1, without.orders[1], without.tables["T"].share) == (False, 0.0, -1.0, 0.0)
    whole = total([scores, scores, without])
    assert whole["heading_f1"] == pytest.approx(2 * 2 / (2 * 2 + 1))
    assert (whole["titles"], whole["levels"], whole["order_tau"]) == (2, 1.0, pytest.approx(1 / 3))
    assert whole["cells"] == pytest.approx(2 / 8)


def test_the_gold_is_whole():
    gold = load_gold()
    assert len(gold) == 6
    for one in gold:
        assert one.title
        assert len(one.reading_order) == 3
        assert len(one.tables) == 2
        assert [page for _, page, _ in one.headings] == sorted(page for _, page, _ in one.headings)
        for table in one.tables:
            assert len({len(row) for row in table.cells}) == 1
            as_markdown = markdown(
                [[name if isinstance(name, str) else name[0] for name in row] for row in table.cells]
            )
            filled = matrix_of(as_markdown.replace("| > ", "|  ").replace("| ^ ", "|  "))
            assert table_score(filled, table).share == 1


@needs_shared_data
def test_the_reader_agrees_with_the_gold():
    gold = load_gold()
    documents = [shared_papers()[one.file] for one in gold]
    scores = [score_document(document, one) for document, one in zip(documents, gold, strict=True)]
    whole = total(scores)
    assert whole["titles"] == len(gold)
    assert whole["heading_f1"] >= 0.95, [(one.missing, one.extra) for one in scores]
    assert whole["levels"] >= 0.95
    assert whole["order_tau"] >= 0.98, [one.orders for one in scores]
    assert min(tau for one in scores for tau in one.orders.values()) >= 0.98
    assert whole["cells"] >= 0.95, [table.wrong for one in scores for table in one.tables.values()]
