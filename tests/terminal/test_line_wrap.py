"""Lines of a terminal's width."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from ragscience.terminal.line_wrap import wrapped


def lines(text, width):
    return [line.plain for line in wrapped(Text(text), width)]


def test_lines_end_between_words_and_a_long_word_is_cut():
    assert lines("one two three", 7) == ["one two", "three"]
    assert lines("abcdefghij k", 4) == ["abcd", "efgh", "ij k"]
    assert lines("", 5) == [""]
    assert lines("see (a.pdf,\u00a0p.3) now", 12) == ["see", "(a.pdf, p.3)", "now"]


def test_a_script_without_spaces_is_cut_between_characters_but_not_before_a_stop():
    assert lines("学习率为零。", 10) == ["学习率为", "零。"]
    assert lines("Adam 的学习率", 9) == ["Adam 的学", "习率"]
    assert lines("他说“好”。", 6) == ["他说", "“好”。"]


@given(st.text(), st.integers(2, 40))
def test_no_line_is_too_wide_and_nothing_but_blanks_is_lost(text, width):
    text = text.replace("\u00a0", "").replace("\t", " ")
    made = lines(text, width)
    assert all(cell_len(line) <= width for line in made)
    assert "".join("".join(made).split()) == "".join(Text(text).plain.split())


def test_colours_stay_where_they_were():
    text = Text("one two three")
    text.stylize("bold", 4, 7)
    first, second = wrapped(text, 7)
    assert [(span.start, span.end) for span in first.spans] == [(4, 7)]
    assert not second.spans
