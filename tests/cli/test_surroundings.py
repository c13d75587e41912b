import io
from dataclasses import replace

import pytest
from rich.console import Console

from ragscience.cli.source_views import surroundings_view
from ragscience.core.errors import NothingFound
from ragscience.core.records import Citation
from ragscience.engine.places import surroundings
from ragscience.library.store import Home, Library
from tests.library.making import add, paper_of, unit_rows

from .answers import BEES_1, answer

LINES = [f"Line {number:02} says nothing much at all, and goes on for a while." for number in range(40)]
PAGE = "\n".join(LINES)


@pytest.fixture
def library(tmp_path):
    import numpy as np

    home = Home(tmp_path / "home")
    with Library.open_for_writing(home) as writable:
        add(writable, paper_of("/p/a.pdf", ["First page.", PAGE], unit_rows(np.random.default_rng(0), 2)))
    with Library.open(home) as opened:
        yield opened


def shown(view, *given, color=False, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    view(*given, Console(file=stream, highlight=False, markup=False, width=200, force_terminal=color))
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def cited(quote, **more):
    return answer(citations=[Citation("a.pdf", 2, quote, True, "/p/a.pdf", **more)])


def test_offsets_decide_where_a_quote_stands(library):
    start = len("First page.\n") + PAGE.index("Line 39")
    text = shown(surroundings_view, surroundings(cited("anything", start=start, end=start + 7), 1, library))
    assert "»Line 39«" in text
    assert not text.endswith("…\n")


def test_quotes_far_apart_have_windows_of_their_own(library):
    far = replace(cited(LINES[2]), citations=(*cited(LINES[2]).citations, *cited(LINES[38]).citations))
    text = shown(surroundings_view, surroundings(far, 1, library))
    assert text.count("»") == 2
    assert text.count("\n…\n") == 1
    assert LINES[20] not in text
    near = replace(far, citations=(*cited(LINES[2]).citations, *cited(LINES[4]).citations))
    assert shown(surroundings_view, surroundings(near, 1, library)).count("»") == 2


def test_a_quote_that_is_not_on_the_page_is_said_to_be_missing(library):
    text = shown(surroundings_view, surroundings(cited("Something else"), 1, library))
    assert LINES[0] in text
    assert "quote was not found in the library's text" in text


def test_a_paper_that_has_left_cannot_be_shown(library):
    for citation in (BEES_1, replace(BEES_1, path="")):
        with pytest.raises(NothingFound, match=r"bees.pdf is no longer in the library"):
            surroundings(answer(citations=[citation]), 1, library)
