"""Tables of real PDFs become the rows and cells that they are printed as."""

import pytest

from tests.reading.drawing import Sheet, read
from tests.shared_data import needs_shared_data, shared_papers

LINE = 12


def tables_of(tmp_path, sheet):
    """Each table as rows of cells, and the text of all other elements."""
    document = read(tmp_path, sheet)
    parts = [(one.kind, document.text[one.start : one.end]) for one in document.elements]
    tables = [cells_of(text) for kind, text in parts if kind == "table"]
    return tables, " ".join(text for kind, text in parts if kind != "table")


def cells_of(markdown):
    lines = [line for line in markdown.split("\n") if not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def write_rows(sheet, xs, y, rows, size=9):
    for number, row in enumerate(rows):
        for x, cell in zip(xs, row, strict=True):
            if cell:
                sheet.write(x, y + LINE * number, cell, size)
    return y + LINE * len(rows)


SCORES = [
    ["System", "Dev", "Test", "Rank"],
    ["Plain", "40.1", "52.3", "3"],
    ["Larger", "44.5", "57.0", "2"],
    ["Largest", "47.0", "60.2", "1"],
]


def two_columns(sheet, y, lines):
    sheet.paragraph(50, y, lines, width=5, start=3)
    sheet.paragraph(310, y, lines, width=5, start=8)


def test_a_table_across_two_columns_of_text_is_one_table(tmp_path):
    sheet = Sheet().write(50, 80, "Table 1: Scores of the systems that were asked in all of the languages at once.", 9)
    xs = [60, 200, 330, 470]
    sheet.rule(50, 92, 545, 92).rule(50, 107, 545, 107).rule(50, 146, 545, 146)
    write_rows(sheet, xs, 103, SCORES)
    two_columns(sheet, 180, 30)
    tables, text = tables_of(tmp_path, sheet)
    assert tables == [SCORES]
    assert "Largest" not in text


def test_a_fully_ruled_table_of_sentences_is_a_table(tmp_path):
    rows = [
        ["Group", "What was good", "What was poor"],
        ["Staff", "the staff is kind and knows", "too few of them and no time"],
        ["", "what to do at each step", "for any of the patients there"],
        ["Rooms", "the rooms are new and clean", "the rooms are cold at night"],
        ["", "and near to each other too", "and the light is never put out"],
    ]
    sheet = Sheet().write(50, 80, "Table 1: What the patients said of the hospital.", 9)
    write_rows(sheet, [55, 125, 285], 103, rows)
    for y in (92, 107, 131, 155):
        sheet.rule(50, y, 440, y)
    for x in (50, 120, 280, 440):
        sheet.rule(x, 92, x, 155)
    sheet.paragraph(50, 190, 12)
    tables, text = tables_of(tmp_path, sheet)
    assert tables == [
        [
            rows[0],
            ["Staff", "the staff is kind and knows what to do at each step", f"{rows[1][2]} {rows[2][2]}"],
            ["Rooms", "the rooms are new and clean and near to each other too", f"{rows[3][2]} {rows[4][2]}"],
        ]
    ]
    assert "kind" not in text


def test_a_ruled_table_that_is_called_a_figure_is_a_table_and_the_ticks_of_axes_are_none(tmp_path):
    sheet = Sheet().rule(50, 92, 545, 92).rule(50, 107, 545, 107).rule(50, 146, 545, 146)
    write_rows(sheet, [60, 200, 330, 470], 103, SCORES)
    sheet.write(50, 165, "Figure 1: Scores of the systems that were asked in all of the languages at once.", 9)
    below = sheet.paragraph(50, 200, 10)
    for number in range(4):
        sheet.rule(70, below + 40 + 14 * number, 280, below + 40 + 14 * number)
        sheet.rule(330, below + 40 + 14 * number, 545, below + 40 + 14 * number)
    write_rows(sheet, [55, 315], below + 43, [["60", "80"], ["40", "60"], ["20", "40"], ["0", "20"]])
    sheet.write(50, below + 120, "Figure 2: Solved problems by the number of their steps and by the size of models.", 9)
    sheet.paragraph(50, below + 150, 10)
    tables, _ = tables_of(tmp_path, sheet)
    assert tables == [SCORES]


@needs_shared_data
@pytest.mark.parametrize(
    ("paper", "page", "row"),
    [
        ("gpt2_2019", 7, "| Who took the first steps on the moon in 1969? | Neil Armstrong |"),
        ("retro_2112.04426", 12, "| Baseline transformer (ours) | - | - | - | 21.53 | 22.96 |"),
        ("retro_2112.04426", 7, "| 132M | 172M (+30%) | 896 | 3,584 | 16 | 64 | 12 |"),
        ("flashattention_2205.14135", 8, "| GPT-2 small - FlashAttention | 4k | 17.5 | 3.6 days (1.3×) |"),
        ("instructgpt_2203.02155", 34, "| Customer | demo length | 1533 | 88 | 179 | 0 | 15 | 39 | 88 | 2048 |"),
        ("bert_1810.04805", 7, "| Top Leaderboard Systems (Dec 10th, 2018) |  |  |  |  |"),
        ("lora_2106.09685", 10, "|  | # of Trainable Parameters = 18M |  |"),
    ],
)
def test_rows_of_public_papers_are_whole(paper, page, row):
    document = next(document for name, document in shared_papers().items() if name.startswith(paper))
    one = document.pages[page - 1]
    assert row in document.text[one.start : one.end]
