"""The blocks of an answer as a terminal shows them."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from ragscience.cli.answer_view import answer_view
from ragscience.core.records import Block, Citation

from .answers import answer

PAGE_2 = Citation("bees.pdf", 2, "q", True, "/papers/bees.pdf")
PAGE_3 = Citation("bees.pdf", 3, "q", True, "/papers/bees.pdf")
TABLE = "| Bee | Speed in m/s | Load in mg |\n|---|---|---|\n| honey bee | 3.7 | 12 |\n| mason bee | 2.1 | 9 |"
WIDE = (
    "| Trial | " + " | ".join(f"A column named {n}" for n in "bcdefgh") + " | Speed |\n" + "|---" * 9 + "|\n"
    "| first | " + " | ".join("abcdefghijklm" for _ in range(7)) + " | 3.7 |\n"
)


class Stream(io.StringIO):
    encoding = "utf-8"


@pytest.fixture
def drawn(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def draw(*blocks, question="How fast does the mason bee fly?", width=60, searched="", every=False, **more):
        more = {"asked": question, **more}
        given = answer(blocks=blocks, citations=(PAGE_2, PAGE_3), searched=searched or question, **more)
        stream = Stream()
        answer_view(
            given,
            Console(file=stream, force_terminal=True, width=width, color_system="standard", highlight=False),
            every=every,
        )
        return re.sub(r"\x1b\]8;[^\x1b]*\x1b\\", "", stream.getvalue())

    return draw


def bare(text):
    return re.sub(r" +(?=\n)", "", re.sub(r"\x1b\[[\d;]*m", "", text))


SLOW = Block("quote", "They are slow. A bee flies 2.1 m/s.", (PAGE_3,), line="A bee flies 2.1 m/s.", key="2.1 m/s")
LATER = Block("quote", "Bees fly in spring.", (PAGE_2,), is_brief=True)


def test_the_first_line_answers_with_the_asked_words_bold_and_its_place(drawn):
    shown = drawn(SLOW, LATER)
    assert "\x1b[1m2.1 m/s\x1b[0m" in shown
    assert bare(shown) == "A bee flies 2.1 m/s. (bees.pdf, p.3) [2]\n\n1 more quote: --all, in a chat /more\n"


def test_a_table_has_its_caption_its_header_and_a_mark_at_the_row_that_was_asked_for(drawn):
    shown = bare(drawn(Block("table", TABLE, (PAGE_2,), "Table 1: Bees.")))
    assert shown.splitlines() == [
        "Table 1: Bees. (bees.pdf, p.2) [1]",
        "   Bee        Speed in m/s  Load in mg",
        "   honey bee  3.7           12",
        "▸  mason bee  2.1           9",
    ]


def test_rows_that_the_answer_leaves_out_are_said_across_the_table(drawn):
    shown = bare(drawn(Block("table", TABLE.replace("| honey bee | 3.7 | 12 |", "| … 24 rows left out | | |"))))
    assert shown.splitlines()[2:] == ["   … 24 rows left out", "▸  mason bee           2.1           9"]


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_a_wide_table_keeps_the_column_that_was_asked_for_and_names_those_left_out(drawn, width):
    shown = bare(drawn(Block("table", WIDE), question="Speed of the trial?", width=width))
    assert all(cell_len(line) <= width for line in shown.splitlines())
    assert "3.7" in shown
    flat = " ".join(shown.split())
    left_out = flat.partition("left out, too wide for this terminal: ")[2]
    assert bool(left_out) == (width < 200)
    words = shown.split()
    for name in "bcdefgh":
        assert (f"A column named {name}" in left_out) != (name in words[: words.index("first")]), name


def test_items_are_a_list_and_a_formula_has_a_line_of_its_own(drawn):
    shown = drawn(
        Block("heading", "Data"),
        Block("item", "SQuAD, a collection of questions that are asked of articles", (PAGE_2,)),
        Block("item", "MNLI"),
        Block("formula", "E = mc²", (), "We get\nthis:"),
        Block("text", "One.\nTwo."),
    )
    assert bare(shown) == (
        "Data\n\n"
        "• SQuAD, a collection of questions that are asked of\n  articles (bees.pdf, p.2) [1]\n• MNLI\n\n"
        "We get this:\n   E = mc²\n\n"
        "One.\nTwo.\n"
    )


@pytest.mark.parametrize("width", [20, 40, 60])
@pytest.mark.parametrize("kind", ["text", "heading", "quote", "table", "formula", "item"])
@pytest.mark.parametrize("is_brief", [False, True])
def test_wide_characters_and_controls_stay_within_the_terminal(drawn, kind, width, is_brief):
    text = "我们使用优化器，学习率为零。" * 6 + "\x1b[2J\x9b\u202e"
    text = f"| {text} | {text} |\n|---|---|\n| {text} | 1 |" if kind == "table" else text
    shown = drawn(Block(kind, text, (), "导\x1b[2J论" * 9, is_brief=is_brief), width=width, question="学习率\x1b[2J")
    assert all(cell_len(line) <= width for line in bare(shown).splitlines())
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "\x9b" not in shown
