"""One flipped bit anywhere in the database: what it touches is left out and named, and nothing of it is shown."""

import sqlite3
import zlib
from contextlib import closing

import numpy as np
import pytest
from ragscience.library.row_checksums import CHECKED_COLUMNS, row_checksum

from ragscience.core.errors import LibraryDamaged
from ragscience.core.records import Filters
from ragscience.library.store import Library

from .making import WORDS, add, numbered_paper

QUERY = np.eye(12, dtype=np.float32)[0]


@pytest.fixture
def filled(home):
    """Six papers; no passage of one is a passage of another."""
    with Library.open_for_writing(home) as library:
        for number in range(6):
            add(library, numbered_paper(number))
        library.refresh_indexes()
    return home


def flip(path, content, *, bit=0, at=0):
    """Flip one bit of every place in the file that holds these bytes; the file's time stays."""
    data = bytearray(path.read_bytes())
    place, found = data.find(content), 0
    while place >= 0:
        data[place + at] ^= 1 << bit
        found += 1
        place = data.find(content, place + 1)
    assert found, content
    with path.open("r+b") as file:
        file.write(data)
    return found


def sql(home, *statements):
    with closing(sqlite3.connect(home.database)) as db, db:
        for statement in statements:
            db.execute(statement)


def test_an_altered_passage_is_left_out_and_its_paper_named(filled):
    text = numbered_paper(3).chunks[1].text
    with Library.open(filled) as library:
        first = library.papers()[3].paper_id
        ids = [chunk.chunk_id for chunk in library.paper_chunks(first)]
        assert library.damage() == ()
    flip(filled.database, text.encode())
    with Library.open(filled) as library:
        assert [chunk.chunk_id for chunk in library.chunks(ids)] == [ids[0], *ids[2:]]
        (warning,) = library.damage()
        assert "003.pdf" in warning
        assert "1 passage" in warning
        assert "`python ingest.py rebuild 003.pdf`" in warning


def test_text_that_is_no_longer_text_is_damage_and_no_crash(filled):
    text = numbered_paper(3).chunks[1].text
    flip(filled.database, text.encode(), bit=7)
    with Library.open(filled) as library:
        paper = library.papers()[3]
        assert len(library.paper_chunks(paper.paper_id)) == paper.chunks - 1
        with pytest.raises(LibraryDamaged, match=r"Page 2 of 003\.pdf"):
            library.contents(paper.paper_id).text(2)
        assert [page.number for page in library.contents(paper.paper_id).pages] == [1, *range(3, paper.pages + 1)]
        assert "1 page" in library.damage()[0]
        assert library.contents(paper.paper_id).text(1) == numbered_paper(3).chunks[0].text


def test_an_altered_paper_is_left_out_with_its_passages(filled):
    with Library.open(filled) as library:
        ids = [chunk.chunk_id for chunk in library.paper_chunks(library.papers()[3].paper_id)]
    flip(filled.database, b"Paper 3")
    with Library.open(filled) as library:
        assert [paper.title for paper in library.papers()] == [f"Paper {n}" for n in (0, 1, 2, 4, 5)]
        (warning,) = library.damage()
        assert "`python ingest.py rebuild`" in warning
        assert library.chunks(ids) == []
        assert library.fingerprints()[0].paper == "000.pdf"


def test_an_altered_vector_is_not_compared(filled):
    vector = numbered_paper(3).vectors[1]
    flip(filled.database, vector.tobytes(), at=3, bit=6)
    with Library.open(filled) as library:
        ids, rows = library.vectors.of()
        assert len(ids) == sum(paper.chunks for paper in library.papers()) - 1
        assert np.isfinite(rows).all()
        assert "003.pdf" in library.damage()[0]
    with Library.open(filled) as library:
        found, _ = library.dense.search(vector, 100, None)
        assert len(found) == len(ids)
        assert "003.pdf" in library.damage()[0]


def test_a_lost_row_of_a_passage_is_damage_and_one_of_a_removed_paper_is_none(filled):
    with Library.open_for_writing(filled) as library:
        removed = library.papers()[1]
        gone = [chunk.chunk_id for chunk in library.paper_chunks(removed.paper_id)]
        library.remove_papers([removed.paper_id])
        assert library.chunks(gone) == []
        assert library.damage() == ()
        ids = [chunk.chunk_id for chunk in library.paper_chunks(library.papers()[2].paper_id)]
    sql(filled, f"DELETE FROM chunks WHERE chunk_id = {ids[0]}")
    with Library.open(filled) as library:
        assert [chunk.chunk_id for chunk in library.chunks(ids)] == ids[1:]
        assert "003.pdf" in library.damage()[0]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM papers WHERE paper_id = 3",
        "UPDATE papers SET first_chunk = first_chunk + 1 WHERE paper_id = 6",
        "UPDATE papers SET chunks = chunks - 1 WHERE paper_id = 6",
        "UPDATE papers SET first_chunk = 'many' WHERE paper_id = 6",
    ],
)
def test_a_list_of_papers_that_is_not_whole_is_an_error(filled, change):
    sql(filled, change)
    with Library.open(filled) as library, pytest.raises(LibraryDamaged, match="list of papers") as refused:
        library.dense.search(QUERY, 5, None)
    assert "python ingest.py rebuild" in refused.value.fix


def test_a_paper_whose_place_is_no_number_has_no_passages_and_cannot_be_removed(filled):
    sql(filled, "UPDATE papers SET first_chunk = 'many', pages = 'many' WHERE paper_id = 3")
    with Library.open_for_writing(filled) as library:
        assert library.paper_chunks(3) == []
        assert library.chunks([1_000_000]) == []
        assert "entry of a paper" in library.damage()[0]
        with pytest.raises(LibraryDamaged, match="list of papers"):
            library.remove_papers([3])
        with pytest.raises(LibraryDamaged, match="list of papers"):
            library.verify()


def test_a_description_of_the_library_that_is_no_text_is_an_error(filled):
    sql(filled, "UPDATE meta SET key = x'00' WHERE key = 'papers'")
    with pytest.raises(LibraryDamaged, match="its own description was altered"), Library.open(filled) as library:
        library.papers()


def test_passages_that_are_lost_are_noted_where_the_graph_names_them(filled):
    sql(filled, "DELETE FROM chunks WHERE chunk_id = 4")
    with Library.open(filled) as library:
        whole = library.about.chunks
        assert len(library.graph.stable_ids()) == whole - 1
        assert "1 passage" in library.damage()[0]


def test_an_index_of_the_database_that_names_other_passages_is_an_error(filled):
    with Library.open(filled) as library:
        assert library.select(Filters(pages=(1, 1))) is not None
    sql(filled, "UPDATE chunks SET kind = 'reference' WHERE chunk_id = 4")
    for filters in (Filters(), Filters(pages=(1, 1))):
        with Library.open(filled) as library, pytest.raises(LibraryDamaged, match="index") as refused:
            library.select(filters)
        assert "rebuild" in refused.value.fix


def test_damage_that_was_repaired_is_forgotten(filled):
    text = numbered_paper(3).chunks[1].text
    flip(filled.database, text.encode())
    with Library.open(filled) as library:
        paper = library.papers()[3]
        library.paper_chunks(paper.paper_id)
        assert library.damage()
        with Library.open_for_writing(filled) as writer:
            add(writer, numbered_paper(3), replaces=[paper.paper_id])
        assert library.damage() == ()


def test_every_column_is_under_a_checksum(filled):
    """A column that is added later has to be named, too."""
    apart = {("papers", "sketch"), ("papers", "elements")}
    with closing(sqlite3.connect(filled.database)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in set(tables) - {"meta", "sqlite_sequence"}:
            columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
            covered = {name for columns in CHECKED_COLUMNS[table].values() for name in columns}
            checksums = set(CHECKED_COLUMNS[table])
            assert columns == covered | checksums, table
            assert not {(table, name) for name in covered} & apart or table == "papers"


def test_a_checksum_tells_every_single_bit():
    values = (7, "text with ü", b"\x00blob", None)
    whole = row_checksum(*values)
    for place in range(8 * 5):
        blob = bytearray(b"\x00blob")
        blob[place // 8] ^= 1 << place % 8
        assert row_checksum(7, "text with ü", bytes(blob), None) != whole
    assert row_checksum(6, *values[1:]) != whole
    assert row_checksum(7, "text with u", *values[2:]) != whole


def test_searches_say_the_same_with_and_without_checks(filled):
    with Library.open(filled) as library:
        assert all(library.keywords.search(word, 5, None)[0].size for word in WORDS[:3])
        assert library.damage() == ()


@pytest.mark.parametrize("text", ["plain", "ü and 漢", "half of a pair \ud800", "\udcff"])
def test_a_checksum_is_that_of_the_values_in_utf8_with_zero_bytes_between(text):
    joined = b"7\0" + text.encode("utf-8", "surrogatepass") + b"\0\xff\xfe\0None\x000.5"
    assert row_checksum(7, text, b"\xff\xfe", None, 0.5) == zlib.crc32(joined)


@pytest.mark.parametrize("lost", [(1,), (1, 2)])
def test_pages_that_are_lost_are_noted_when_they_are_read(home, lost):
    with Library.open_for_writing(home) as library:
        paper = add(library, numbered_paper(3))
        library.refresh_indexes()
    numbers = [number for number in range(1, paper.pages + 1) if number not in lost]
    with closing(sqlite3.connect(home.database)) as db, db:
        db.executemany("DELETE FROM pages WHERE number = ?", [(number,) for number in lost])
    with Library.open(home) as library:
        assert library.damage() == ()
        assert [page.number for page in library.contents(paper.paper_id).pages] == numbers
        (said,) = library.damage()
        assert paper.file in said
