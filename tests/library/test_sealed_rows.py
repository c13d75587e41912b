"""Each kind of damaged row is named and left out, and what repairs it is said; an old library is said to be old."""

import sqlite3
from contextlib import closing

import pytest

from ragscience.core.errors import LibraryDamaged
from ragscience.library.sealed_rows import opened, sealed
from ragscience.library.store import Library, damage_of, put_aside


def alter(home, statement):
    with closing(sqlite3.connect(home.database)) as db, db:
        db.execute(statement)


def test_a_row_is_bound_to_its_key():
    row = sealed(("chunk", 1), b"text")
    assert opened(("chunk", 1), row) == b"text"
    assert opened(("chunk", 2), row) is None
    for damaged in (row[:-1], row + b"x", b"", None, "text", 7, bytes(len(row))):
        assert opened(("chunk", 1), damaged) is None


@pytest.mark.parametrize("bit", range(0, 8 * len(sealed(("a",), b"words")), 3))
def test_no_flipped_bit_is_taken(bit):
    row = bytearray(sealed(("a",), b"words"))
    row[bit // 8] ^= 1 << bit % 8
    assert opened(("a",), bytes(row)) is None


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
