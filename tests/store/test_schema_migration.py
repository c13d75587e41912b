"""A library of the schema before checksums is brought up to date, once, with what it holds."""

import sqlite3
from contextlib import closing

import pytest
from ragscience.library.library_schema import SCHEMA_VERSION, connect_for_reading
from ragscience.library.row_checksums import CHECKED_COLUMNS, row_checksum

from ragscience.core.errors import LibraryUnavailable
from ragscience.library.lock import WriterLock
from ragscience.library.store import Library

from .making import add, contents, numbered_paper


@pytest.fixture
def filled(home):
    with Library.open_for_writing(home) as library:
        for number in range(6):
            add(library, numbered_paper(number))
        library.graph.put("local", "1", [(1, "{}")])
        library.refresh_indexes()
    return home


def as_of_schema_5(home, *statements):
    """Take out what schema 6 added."""
    with closing(sqlite3.connect(home.database, isolation_level=None)) as db:
        db.execute("DELETE FROM tokens WHERE start = -1")
        db.execute("DELETE FROM meta WHERE key IN ('checksum', 'papers')")
        for table, columns in CHECKED_COLUMNS.items():
            marks = ("references_mark", "filters_mark") if table == "papers" else ()
            for column in (*columns, *marks):
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        db.execute("ALTER TABLE papers DROP COLUMN publication")
        for statement in statements:
            db.execute(statement)
        db.execute("PRAGMA user_version = 5")


def as_of_schema_6(home, *statements):
    """Take out what schema 7 added."""
    columns = ", ".join(name for name in CHECKED_COLUMNS["papers"]["checksum"] if name != "publication")
    with closing(sqlite3.connect(home.database, isolation_level=None)) as db:
        db.execute("ALTER TABLE papers DROP COLUMN publication")
        for paper_id, *values in db.execute(f"SELECT paper_id, {columns} FROM papers").fetchall():
            db.execute("UPDATE papers SET checksum = ? WHERE paper_id = ?", (row_checksum(*values), paper_id))
        for statement in statements:
            db.execute(statement)
        db.execute("PRAGMA user_version = 6")


def version(home):
    with closing(sqlite3.connect(home.database)) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


@pytest.mark.parametrize("opened", [Library.open, Library.open_for_writing])
def test_it_holds_what_it_held_and_is_under_checksums(filled, opened):
    with Library.open(filled) as library:
        before, papers = contents(library), library.papers()
    as_of_schema_5(filled)
    with opened(filled) as library:
        assert (contents(library), library.papers()) == (before, papers)
        assert library.stale_indexes() == []
        assert library.verify() == []
        assert library.graph.rows() == [(1, 1, "local", "{}")]
    assert version(filled) == SCHEMA_VERSION
    with Library.open_for_writing(filled) as library:
        add(library, numbered_paper(7))
        library.remove_papers([2])
        assert library.verify() == []


def test_a_library_of_schema_6_holds_what_it_held_and_its_damage_shows(filled):
    with Library.open(filled) as library:
        before, papers = contents(library), library.papers()
    as_of_schema_6(filled)
    with Library.open(filled) as library:
        assert (contents(library), library.papers()) == (before, papers)
        assert library.verify() == []
    assert version(filled) == SCHEMA_VERSION
    as_of_schema_6(filled, "UPDATE papers SET venue = 'Nature' WHERE paper_id = 2")
    with Library.open(filled) as library:
        said = [message for message, _ in library.verify()]
    assert len(said) == 1
    assert "damaged in the library" in said[0]


def test_a_year_that_was_the_file_s_date_is_forgotten_and_a_printed_one_kept(filled):
    with Library.open(filled) as library:
        ids = [paper.paper_id for paper in library.papers()]
    as_of_schema_5(
        filled,
        'UPDATE papers SET year = 2004, confidence = \'{"year": 0.3, "title": 0.9}\' WHERE paper_id % 2 = 0',
        "UPDATE papers SET year = 2005, confidence = '{\"year\": 0.7}' WHERE paper_id % 2 = 1",
    )
    with Library.open(filled) as library:
        found = {paper.paper_id: (paper.metadata.year, dict(paper.metadata.confidence)) for paper in library.papers()}
        assert library.verify() == []
    assert found == {one: (2005, {"year": 0.7}) if one % 2 else (None, {"title": 0.9}) for one in ids}


def test_what_differs_from_its_page_already_counts_as_damaged(filled):
    as_of_schema_5(
        filled,
        "UPDATE chunks SET text = 'Z' || substr(text, 2) WHERE chunk_id = 2",
        "UPDATE vectors SET vector = zeroblob(48) WHERE chunk_id = 9",
    )
    with Library.open(filled) as library:
        said = [message for message, _ in library.verify()]
    assert len(said) == 2
    assert "000.pdf is damaged in the library (1 passage)" in said[0]
    assert "002.pdf is damaged in the library (1 vector)" in said[1]


def test_while_another_process_writes_it_is_left_alone(filled):
    as_of_schema_5(filled)
    with WriterLock.acquire(filled.lock):
        with pytest.raises(LibraryUnavailable, match="older version") as refused:
            Library.open(filled)
        assert "python ingest.py" in refused.value.fix
    assert version(filled) == 5
    with pytest.raises(LibraryUnavailable, match="older version"):
        connect_for_reading(filled.database)


def test_a_change_that_fails_half_way_changes_nothing(filled):
    as_of_schema_5(filled, "ALTER TABLE sources ADD COLUMN checksum TEXT")
    with pytest.raises(Exception, match="duplicate column"):
        Library.open(filled)
    assert version(filled) == 5
    with closing(sqlite3.connect(filled.database)) as db:
        assert "checksum" not in {row[1] for row in db.execute("PRAGMA table_info(chunks)")}
