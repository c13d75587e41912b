"""Lines of a terminal's width."""

import io
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ragscience.cli import line_wrap
from ragscience.cli.line_wrap import FIXED_BLANK, StreamedLines, put, width_of, wrapped, wrapped_words

PROSE = "Adam is a method for efficient stochastic optimization that only requires first-order gradients."


def lines(text, width):
    return [line.plain for line in wrapped(Text(text), width)]


def shown(*what, width=20, tty=True, **more):
    out = io.StringIO()
    put(Console(file=out, width=width, force_terminal=tty, color_system=None), *what, **more)
    return out.getvalue()


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


def test_a_wrapped_line_of_a_string_begins_as_far_in_as_the_first():
    assert wrapped_words("    - one two three", 14) == ["    - one two", "    three"]
    assert wrapped_words("", 14) == [""]


@given(st.text(alphabet="ab學。 ,(\n", max_size=60), st.integers(2, 12), st.lists(st.integers(1, 60), max_size=8))
def test_a_stream_gives_the_same_lines_however_it_is_cut_and_never_a_part_of_a_word(text, width, cuts):
    stream = StreamedLines(width)
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    given_back = "".join(stream.feed(text[a:b]) for a, b in pairwise(edges)) + stream.finish()
    whole = [line for paragraph in text.split("\n") for line in lines(paragraph, width)]
    assert [line.rstrip() for line in given_back.split("\n")] == [line.rstrip() for line in whole]


def test_a_stream_shows_a_word_when_it_is_whole():
    stream = StreamedLines(12)
    assert [stream.feed(piece) for piece in ("110M para", "me", "ters ", "in", "all\nB")] == [
        "110M",
        "",
        "\nparameters",
        "\n",
        "inall\n",
    ]
    assert stream.finish() == "B"


def test_a_text_is_put_behind_a_sign_and_wrapped_below_its_own_beginning():
    assert shown("one two three four five six", "[1] ") == "[1] one two three\n    four five six\n"
    assert shown("one\n  two three four five six", "- ") == "- one\n    two three four\n    five six\n"
    assert shown("one two three four five six", width=10) == "one two\nthree four\nfive six\n"
    assert shown("") == "\n"


def test_in_a_pipe_a_line_is_as_long_as_it_is_and_has_no_blanks_behind_it():
    assert shown(PROSE + "  ", "[1] ", tty=False) == f"[1] {PROSE}\n"
    assert shown(f"(a.pdf,{FIXED_BLANK}p.3)", tty=False) == "(a.pdf, p.3)\n"


def test_every_width_is_kept_and_no_word_is_broken():
    for width in range(20, 251):
        made = shown(PROSE, "  • ", width=width).splitlines()
        assert max(map(cell_len, made)) <= width
        assert " ".join(" ".join(made).replace("•", "").split()) == PROSE


def test_the_width_is_that_of_the_variable_then_of_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "111")
    assert width_of(io.StringIO()) == 111
    for wrong in ("0", "wide", "-3", ""):
        monkeypatch.setenv("COLUMNS", wrong)
        assert width_of(io.StringIO()) == 80


def test_nothing_leaves_it_to_the_terminal_to_break_a_line():
    """What `soft_wrap` prints is as long as it is, and a terminal breaks it within words."""
    folder = Path(line_wrap.__file__).parent
    users = {path.name for path in folder.glob("*.py") if "soft_wrap=True" in path.read_text(encoding="utf-8")}
    assert users == {"line_wrap.py"}
