"""How an answer's blocks read."""

from ragscience.ask.answer_blocks import as_text, side_by_side
from ragscience.ask.extractive import ScoredUnit
from ragscience.ask.quote_candidates import units_of
from ragscience.core.records import Block, Citation
from tests.ask.passages import hit


def cite(page):
    return Citation("a.pdf", page, "words", True)


def test_each_kind_of_block_reads_as_it_should():
    blocks = (
        Block("text", "Found in 1 paper: a.pdf"),
        Block("quote", "It took a day.", (cite(3), cite(4), cite(4)), "Table 1: Costs."),
        Block("quote", "We used Adam.", (cite(3),), "5.3 Optimizer"),
        Block("heading", "Data"),
        Block("item", "SQuAD", (cite(2),)),
        Block("item", "MNLI"),
        Block("table", "| a |\n|---|\n| 1 |", (cite(5),), "Table 2: Sizes."),
        Block("formula", "E = mc²", (cite(6),)),
        Block("formula", "⟪E m c 2⟫", (cite(7),)),
    )
    assert as_text(blocks) == (
        "Found in 1 paper: a.pdf\n\n"
        "Table 1: Costs. “It took a day.” (a.pdf, p.3) (a.pdf, p.4)\n\n"
        "5.3 Optimizer: “We used Adam.” (a.pdf, p.3)\n\n"
        "**Data**\n\n"
        "- SQuAD (a.pdf, p.2)\n- MNLI\n\n"
        "Table 2: Sizes. (a.pdf, p.5)\n\n| a |\n|---|\n| 1 |\n\n"
        "E = mc² (a.pdf, p.6)\n\n"
        "[formula, p.7] (a.pdf, p.7)"
    )
    assert as_text(()) == ""


def test_the_cells_of_one_table_that_are_compared_stand_in_one_line():
    red, black = units_of(hit("| Ant | Legs |\n|---|---|\n| red | 6 |\n| black | 8 |", kind="table"))
    (block,) = side_by_side(
        [ScoredUnit(red, 1, {}, "red: Legs 6", "6"), ScoredUnit(black, 1, {}, "black: Legs 8", "8")]
    )
    assert (block.line, block.key) == ("red: Legs 6 · black: Legs 8", "6")
