"""Tables in Markdown: their cells, and which rows of them a question asks for."""

import pytest

from ragscience.engine.markdown_export import asked_columns, asked_rows, read_table, shown_rows

BLEU = """| Model | BLEU |  |
|---|---|---|
|  | EN-DE | EN-FR |
| ByteNet | 23.75 |
| Transformer (base) | 27.3 | 38.1 |
| Transformer (big) | 28.4 | 41.8 | """


def test_cells_are_read_and_short_rows_are_filled():
    table = read_table(BLEU)
    assert table.header == ("Model", "BLEU", "")
    assert table.rows[1] == ("ByteNet", "23.75", "")
    assert len(table.rows) == 4
    assert read_table("| a \\| b | c |\n|---|---|\n| \\|x\\| | 1 |").rows == (("|x|", "1"),)
    assert read_table("| a | b |\n| 1 | 2 |").header == ("", "")
    assert read_table("| a | b |\n| 1 | 2 |").rows == (("a", "b"), ("1", "2"))
    assert read_table("").rows == ()
    assert read_table("no table").rows == (("no table",),)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What BLEU does the big Transformer reach?", [3]),
        ("What does the Transformer reach?", [2, 3]),
        ("What about ByteNet and the Transformer, big?", [3]),
        ("What does it cost?", []),
    ],
)
def test_the_row_that_was_asked_for_holds_most_of_the_questions_terms(question, rows):
    assert asked_rows(question, read_table(BLEU)) == rows


def test_rows_that_are_all_alike_were_not_asked_for():
    table = read_table("| a | b |\n|---|---|\n" + "".join(f"| kiln | {n}0 |\n" for n in range(1, 6)))
    assert asked_rows("Which kiln is it?", table) == []
    assert asked_columns("Which b10 is in a?", read_table("| a | b10 |\n|---|---|\n| 1 | 2 |")) == [1]


def test_a_large_table_is_shown_round_the_rows_that_were_asked_for():
    assert shown_rows(12, [5], 10) == list(range(12))
    assert shown_rows(40, [20], 10) == [0, 1, *range(16, 25)]
    assert shown_rows(40, [5], 8) == list(range(9))
    assert shown_rows(40, [0], 6) == list(range(6))
    assert shown_rows(40, [39], 6) == [0, 1, 36, 37, 38, 39]
    assert shown_rows(40, [], 10) == list(range(10))
