"""A library of the schema before checksums is brought up to date, once, with what it holds."""

import sqlite3
from contextlib import closing

import pytest

from ragscience.errors import LibraryUnavailable
from ragscience.store import Library
from ragscience.store.library_schema import SCHEMA_VERSION, connect_for_reading
from ragscience.store.lock import WriterLock
from ragscience.store.row_checksums import CHECKED_COLUMNS

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
        for statement in statements:
            db.execute(statement)
        db.execute("PRAGMA user_version = 5")


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
