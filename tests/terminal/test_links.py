import io
import os
import re
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.cli.links import can_encode, can_link, link_style, page_uri


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def colours(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


NAMES = st.text(st.characters(exclude_characters="/\0"), min_size=1).filter(lambda name: name not in (".", ".."))


@given(NAMES, st.integers(1, 9999))
def test_an_uri_holds_the_name_and_nothing_else(name, page):
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return  # no file can be called that
    uri = page_uri(f"/papers/{name}", page)
    assert re.fullmatch(r"file:///[!-~]+", uri)
    parts = urlsplit(uri)
    assert parts.fragment == f"page={page}"
    assert parts.query == ""
    assert unquote_to_bytes(parts.path) == os.fsencode(f"/papers/{name}")


def test_names_of_other_bytes_and_with_commands_in_them():
    assert page_uri(os.fsdecode(b"/p/\xff.pdf"), 2) == "file:///p/%FF.pdf#page=2"
    assert page_uri("/p/\x1b]8;;evil\x07#?.pdf", 1) == "file:///p/%1B%5D8%3B%3Bevil%07%23%3F.pdf#page=1"


def test_there_are_no_links_to_what_has_no_place(colours):
    assert page_uri("bees.pdf", 1) == page_uri("", 1) == ""
    assert link_style("", 1, Terminal()).link is None


def test_links_are_for_terminals_alone_and_to_files_that_are_there(colours, tmp_path):
    path = tmp_path / "a.pdf"
    assert can_link(Terminal())
    assert not can_link(io.StringIO())
    assert link_style(str(path), 3, Terminal()).link is None
    path.touch()
    assert link_style(str(path), 3, Terminal()).link == f"{path.as_uri()}#page=3"
    assert link_style(str(path), 3, io.StringIO()).link is None


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "unknown"), ("TERM", None)])
def test_a_person_may_want_none(colours, monkeypatch, name, value):
    if value is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, value)
    assert not can_link(Terminal())


def test_what_an_encoding_has():
    assert can_encode("✓", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert not can_encode("✓", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    assert not can_encode("✓", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert can_encode("x", io.StringIO())
    assert not can_encode("✓", io.StringIO())
