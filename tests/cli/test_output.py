"""Lines of a terminal's width, and what goes into a pipe."""

import io
import re
from itertools import pairwise
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from ragscience.cli.output import WordStream, link_style, print_table, put

PROSE = "Adam is a method for efficient stochastic optimization that only requires first-order gradients."
WIDTHS = st.integers(20, 120)
TEXTS = st.lists(st.text("abc学é-.,(", min_size=1, max_size=16), min_size=1, max_size=20).map(" ".join)


def shown(act, *what, width=20, tty=True, **more):
    out = io.StringIO()
    act(*what, Console(file=out, width=width, force_terminal=tty, color_system=None), **more)
    return out.getvalue()


def lines(*what, **more):
    return shown(lambda *given: put(given[-1], *given[:-1]), *what, **more).splitlines()


def test_a_text_is_put_after_a_sign_and_wrapped_below_its_own_beginning():
    assert lines("one two three four five six", "[1] ") == ["[1] one two three", "    four five six"]
    assert lines("one two three\nfour five six", width=10) == ["one two", "three", "four five", "six"]


@given(TEXTS, WIDTHS, st.sampled_from(["", "[1] ", "  • "]))
def test_no_line_is_wider_than_the_screen_and_no_word_is_broken(text, width, sign):
    made = lines(text, sign, width=width)
    assert all(cell_len(line) <= width for line in made)
    words = " ".join(line[len(sign) :] for line in made).split()
    fits = [word for word in text.split() if cell_len(word) <= width - len(sign)]
    assert "".join(words) == "".join(text.split())
    assert [word for word in words if word in fits][: len(fits)] == fits or len(fits) < len(text.split())


@given(TEXTS)
def test_nothing_is_wrapped_in_a_pipe(text):
    assert lines(text + "  ", "[1] ", tty=False) == [f"[1] {text}"]


def test_a_table_wraps_titles_on_a_screen_and_has_tabs_in_a_pipe():
    rows = [("a_long_name_2017.pdf", PROSE), ("b.pdf", "Short")]
    made = shown(print_table, ("file", "title"), rows, width=60, wraps=("title",))
    assert "a_long_name_2017.pdf" in made
    assert set(PROSE.split()) <= set(made.split())
    assert max(map(len, made.splitlines())) <= 60
    piped = shown(print_table, ("file", "title"), rows, tty=False, wraps=("title",))
    assert piped == f"a_long_name_2017.pdf\t{PROSE}\nb.pdf\tShort\n"


@given(TEXTS, WIDTHS, st.lists(st.integers(1, 60), max_size=8))
def test_a_stream_gives_the_same_lines_however_it_is_cut(text, width, cuts):
    stream, whole = WordStream(width), WordStream(width)
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    made = "".join(stream.feed(text[a:b]) for a, b in pairwise(edges)) + stream.finish()
    assert made == whole.feed(text) + whole.finish()
    assert made.split() == text.split() or any(cell_len(word) >= width for word in text.split())
    assert all(cell_len(line) <= width for line in made.splitlines()) or "学" in text


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Console(file=io.StringIO(), force_terminal=True)


@pytest.mark.parametrize("name", ["a b.pdf", "\x1b]8;;evil\x07#?.pdf", "论文.pdf"])
def test_a_link_holds_the_name_and_nothing_else(terminal, tmp_path, name):
    path = tmp_path / name
    assert link_style(str(path), 3, terminal).link is None
    path.touch()
    link = link_style(str(path), 3, terminal).link
    assert re.fullmatch(r"file:///[!-~]+", link)
    parts = urlsplit(link)
    assert (parts.fragment, parts.query) == ("page=3", "")
    assert unquote_to_bytes(parts.path) == str(path).encode()


def test_there_are_no_links_in_a_pipe_or_where_nobody_wants_colours(terminal, tmp_path, monkeypatch):
    path = tmp_path / "a.pdf"
    path.touch()
    assert link_style("a.pdf", 3, terminal).link is None
    assert link_style(str(path), 3, Console(file=io.StringIO())).link is None
    monkeypatch.setenv("NO_COLOR", "1")
    assert link_style(str(path), 3, Console(file=io.StringIO(), force_terminal=True)).link is None
