"""The measures of tests/gold on examples whose result is plain, and the papers read against the gold."""

from dataclasses import dataclass

import pytest

from tests.gold.scoring import (
    Gold,
    GoldTable,
    cell_key,
    f1,
    groups_of,
    heading_key,
    load_gold,
    match_headings,
    matrix_of,
    order_tau,
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


def gold_of(headings, run_in=()):
    return Gold("a.pdf", "A Title", 0, tuple(headings), tuple(run_in), {}, ())


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


SPANNED = GoldTable(
    1,
    "Table 1",
    2,
    (("Model", "BLEU", ">"), ("^", "DE", "FR"), ("ByteNet", "23.75", ""), ("base", "3.3 · 10^18", ">")),
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3.1 Encoder and Decoder", "ENCODER AND DECODER"),
        ("A.1.1 Recurrent Neural Network", "Recurrent  neural network"),
        ("4.1. Efﬁcient", "Efficient"),
        ("REALM’s process", "REALM's process"),
    ],
)
def test_headings_are_the_same_apart_from_number_case_and_form(one, other):
    assert heading_key(one) == heading_key(other)


def test_a_heading_counts_on_its_page_alone():
    gold = gold_of([(1, 1, "1 Methods"), (2, 2, "1.1 Data")])
    assert match_headings([(1, 1, "Methods"), (2, 3, "Data")], gold) == (1, 1, ((2, "1.1 Data"),), ((3, "Data"),))


def test_the_same_heading_twice_must_be_found_twice():
    gold = gold_of([(2, 1, "COCO"), (2, 1, "COCO")])
    matched, levels_right, missing, extra = match_headings([(2, 1, "COCO")], gold)
    assert (matched, levels_right, missing, extra) == (1, 1, ((1, "COCO"),), ())


def test_headings_in_a_line_and_the_title_are_free():
    gold = gold_of([(1, 1, "Methods")], [(1, "Methods"), (1, "Encoder:")])
    found = [(3, 1, "Methods"), (1, 1, "METHODS"), (2, 1, "Encoder"), (1, 1, "A title")]
    assert match_headings(found, gold) == (1, 1, (), ())


def test_f1_is_the_harmonic_mean():
    # precision 3/5, recall 3/4
    assert f1(3, 1, 2) == pytest.approx(2 * 0.6 * 0.75 / 1.35)
    assert f1(0, 1, 2) == 0


def test_order_is_kendalls_tau_and_a_missing_phrase_is_wrong():
    assert order_tau("alpha beta gam-\nma", ["Alpha", "beta", "gamma"]) == 1
    assert order_tau("gamma beta alpha", ["alpha", "beta", "gamma"]) == -1
    assert order_tau("beta alpha gamma", ["alpha", "beta", "gamma"]) == pytest.approx(1 / 3)
    assert order_tau("alpha beta", ["alpha", "beta", "gamma"]) == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("−0.40", "-0.40"),
        ("**28.4**", "28.4"),
        ("O(n² · d)", "O(n2·d)"),
        ("2.3·10^19", "2.3 · 1019"),
        ("a<br>b", "a b"),
    ],
)
def test_cells_are_the_same_apart_from_markup_and_blanks_at_signs(one, other):
    assert cell_key(one) == cell_key(other)


@pytest.mark.parametrize(("one", "other"), [("28.4", "28.41"), ("-0.4", "0.4"), ("No NSP", "NoNSP"), ("BERT", "Bert")])
def test_cells_that_say_something_else_differ(one, other):
    assert cell_key(one) != cell_key(other)


def test_a_table_is_read_from_markdown():
    assert matrix_of("Table 1: x\n| a | b\\|c |\n|---|:-:|\n| 1 |  |\nafter") == [["a", "b\\|c"], ["1", ""]]


def test_spanned_cells_are_one():
    assert len(groups_of(SPANNED.cells)) == 9
    assert (([(0, 0), (1, 0)], ["Model"])) in groups_of(SPANNED.cells)


@pytest.mark.parametrize(
    "rows",
    [
        [["Model", "BLEU", ""], ["", "DE", "FR"], ["ByteNet", "23.75", ""], ["base", "3.3·10^18", ""]],
        [["", "BLEU", "BLEU"], ["Model", "DE", "FR"], ["ByteNet", "23.75", ""], ["base", "", "3.3·10^18"]],
        [["Model", "BLEU DE", "BLEU FR"], ["ByteNet", "23.75", ""], ["base", "3.3·10^18", "3.3·10^18"]],
        [["Model", "", "BLEU DE", "BLEU FR"], ["ByteNet", "", "23.75", ""], ["base", "", "3.3·10^18", ""]],
    ],
)
def test_each_way_to_write_a_spanned_cell_is_right(rows):
    assert table_score(matrix_of(markdown(rows)), SPANNED).share == 1


def test_a_wrong_a_missing_and_a_made_up_cell_cost_one_each():
    rows = [["Model", "BLEU", ""], ["", "DE", "FR"], ["ByteNet", "23.7", ""], ["base", "3.3·10^18", ""]]
    score = table_score(rows, SPANNED)
    assert (score.right, score.cells) == (7, 8)
    assert table_score(rows[:3], SPANNED).right == 5
    rows[2] = ["ByteNet", "23.75", "9"]
    score = table_score(rows, SPANNED)
    assert (score.right, score.cells) == (8, 9)
    assert "'9' is too much" in score.wrong


def test_a_cell_in_another_column_is_wrong():
    rows = [["Model", "BLEU", ""], ["", "DE", "FR"], ["ByteNet", "", "23.75"], ["base", "3.3·10^18", ""]]
    assert table_score(rows, SPANNED).right == 7


def test_nothing_at_all_is_nothing_right():
    assert table_score([], SPANNED).right == 0


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
