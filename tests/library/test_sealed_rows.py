"""Each kind of damaged row is named and left out, and what repairs it is said; an old library is said to be old."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import LibraryDamaged, NothingFound
from ragscience.core.records import Chunk, Document, Line, Page
from ragscience.library.paper_contents import PaperContents
from ragscience.library.sealed_rows import opened, sealed
from ragscience.library.store import Library, damage_of, put_aside
from tests.library.making import Made, add, numbered_paper, unit_rows


def alter(home, statement):
    with closing(sqlite3.connect(home.database)) as db, db:
        db.execute(statement)


def test_a_row_is_bound_to_its_key():
    row = sealed(("chunk", 1), b"text")
    assert opened(("chunk", 1), row) == b"text"
    assert opened(("chunk", 2), row) is None
    for damaged in (row[:-1], row + b"x", b"", None, "text", 7, bytes(len(row))):
        assert opened(("chunk", 1), damaged) is None


@pytest.mark.parametrize(
    "statement", ["DELETE FROM papers WHERE paper_id = 1", "UPDATE state SET row = zeroblob(200)", "DELETE FROM state"]
)
def test_a_damaged_list_of_papers_is_refused_and_read_again(filled, statement):
    assert damage_of(filled) is None
    alter(filled, statement)
    with Library.open(filled) as library, pytest.raises(LibraryDamaged) as refused:
        library.papers()
    assert "rebuild" in refused.value.fix
    damage = damage_of(filled)
    assert len(damage.files) == 6
    kept = put_aside(filled)
    assert kept.exists()
    assert not filled.database.exists()


@pytest.mark.parametrize("table", ["keywords_data", "keywords_docsize", "terms"])
def test_a_damaged_keyword_index_is_refused_and_made_again(filled, table):
    column = {"keywords_data": "block", "keywords_docsize": "sz", "terms": "passages"}[table]
    with Library.open(filled) as library:
        expected = library.keywords.search("attention energy model", 9, None)[0].tolist()
    key = "term = (SELECT MIN(term) FROM terms)" if table == "terms" else "id = (SELECT MAX(id) FROM " + table + ")"
    value = "passages + 1" if table == "terms" else f"zeroblob(length({column}))"
    alter(filled, f"UPDATE {table} SET {column} = {value} WHERE {key}")
    with Library.open(filled) as library, pytest.raises(LibraryDamaged, match="keyword index") as refused:
        library.keywords.search("attention energy model", 9, None)
    assert "rebuild --indexes" in refused.value.fix
    with Library.open_for_writing(filled) as library:
        library.refresh_indexes(anew=True)
    with Library.open(filled) as library:
        assert library.keywords.search("attention energy model", 9, None)[0].tolist() == expected


TEXT = "Bees steer.\nFog slows them.\nA wheel"
FIRST = Line(0, 11, (10.0, 20.0, 120.0, 32.0))
SECOND = Line(12, 27, (10.0, 40.0, 160.0, 52.0))
THIRD = Line(28, 35, (10.0, 20.0, 80.0, 32.0))
DOCUMENT = Document(TEXT, (Page(1, 0, 27, "", (FIRST, SECOND)), Page(2, 28, 35, "", (THIRD,))))


def boxes(start, end, page=DOCUMENT.pages[0], document=DOCUMENT):
    return PaperContents((page,), (document.text[page.start : page.end],)).boxes(page.number, start, end)


def test_part_of_a_line_is_a_part_of_its_box_and_a_letter_more():
    # A letter of half a font size is added on both sides; the line is 110 points wide.
    assert boxes(5, 10) == ((54.9, 20.0, 120.0, 32.0),)
    assert boxes(0, 4) == ((10.0, 20.0, 70.6, 32.0),)
    assert boxes(7, 16) == ((72.9, 20.0, 120.0, 32.0), (10.0, 40.0, 60.7, 52.0))


@given(st.integers(0, 35), st.integers(0, 35))
def test_every_box_lies_in_its_line(start, end):
    for page in DOCUMENT.pages:
        for left, top, right, bottom in boxes(start, end, page):
            home = [line.box for line in page.lines if line.box[1] == top]
            assert any(box[0] <= left < right <= box[2] and bottom == box[3] for box in home)


def with_lines(home):
    """A library of DOCUMENT, and of a paper whose lines are not known; their ids."""
    with Library.open_for_writing(home) as library:
        vectors = unit_rows(np.random.default_rng(0), 1)
        paper = add(library, Made("/p/a.pdf", "abc", DOCUMENT, (Chunk(0, TEXT, 0, 35, 1, 2),), vectors))
        return paper.paper_id, add(library, numbered_paper(1)).paper_id


def test_the_library_knows_where_a_quote_stands(home):
    paper, other = with_lines(home)
    with Library.open(home) as library:
        assert [library.contents(paper).page(number) for number in (1, 2)] == list(DOCUMENT.pages)
        assert library.contents(paper).text(2) == "A wheel"
        start = TEXT.index("wheel")
        assert library.contents(paper).boxes(2, start, start + 5) == ((19.6, 20.0, 80.0, 32.0),)
        assert library.contents(other).boxes(1, 0, 5) == ()
        assert library.contents(other).page(1).lines == ()
        for missing, number in ((paper, 3), (99, 1)):
            with pytest.raises(NothingFound, match="no page"):
                library.contents(missing).boxes(number, 0, 5)
