"""What counts as a database that is damaged as a whole."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from ragscience.library.damaged_database import damage_of
from ragscience.library.library_damage import READ_ALL_AGAIN, REBUILD_INDEXES

from ragscience.core.errors import LibraryDamaged
from ragscience.library import damaged_database, library_schema
from ragscience.library.store import Library
from ragscience.upkeep import doctor, library_checks


def test_a_sound_database_is_not_damaged(filled):
    assert damage_of(filled) is None


def test_a_read_that_failed_once_is_no_damage(filled, monkeypatch):
    """SQLite's check reports a page that the disk did not give as it reports a damaged one."""
    said = ["The database is damaged: Tree 2 page 3: unable to get the page. error code=10."]
    real = damaged_database._why
    monkeypatch.setattr(damaged_database, "_why", lambda *given: said.pop() if said else real(*given))
    assert damage_of(filled) is None
    assert said == []


@pytest.mark.parametrize("place", [100, 20_000])
def test_one_whose_pages_are_overwritten_is_damaged_and_its_papers_are_known(filled, place):
    content = bytearray(filled.database.read_bytes())
    content[place : place + 4000] = bytes(4000)
    filled.database.write_bytes(content)
    found = damage_of(filled)
    assert found is not None
    assert [path.name for path in found.files] == [f"{number:03}.pdf" for number in range(6)]


def test_an_index_of_the_database_that_lacks_a_row_is_made_again(filled):
    with closing(sqlite3.connect(filled.database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_papers_2'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
        (md5,) = db.execute("SELECT md5 FROM papers WHERE paper_id = 3").fetchone()
    content = bytearray(filled.database.read_bytes())
    place = content.index(md5.encode(), (page - 1) * size, page * size)
    content[place] ^= 1
    filled.database.write_bytes(content)
    given = doctor.Given(datetime.now(UTC), "eng")
    (found,) = library_checks.database(filled, given, lambda: Library.open(filled), is_here=True)
    assert (found.severity, found.remedy) == ("error", REBUILD_INDEXES)
    assert damage_of(filled) is None
    (found,) = library_checks.database(filled, given, lambda: Library.open(filled), is_here=True)
    assert found.severity == "ok"


def test_an_index_that_cannot_be_made_again_is_damage_of_the_whole(filled):
    """Two papers with one MD5: a flipped bit in the row of one, and in the index."""
    with closing(sqlite3.connect(filled.database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        old, new = (row[0].encode() for row in db.execute("SELECT md5 FROM papers WHERE paper_id IN (2, 3)"))
    filled.database.write_bytes(filled.database.read_bytes().replace(old, new))
    assert damage_of(filled) is not None
    with (
        pytest.raises(LibraryDamaged) as refused,
        Library.open_for_writing(filled) as library,
    ):
        library.rebuild_indexes()
    assert refused.value.fix == READ_ALL_AGAIN


@pytest.mark.parametrize("ledger", [b"\0" * 500, b"", None])
def test_a_database_that_is_gone_with_its_ledger_is_lost_where_indexes_tell_of_it(filled, ledger):
    filled.database.unlink()
    if ledger is None:
        filled.ledger.unlink()
    else:
        filled.ledger.write_bytes(ledger)
    with pytest.raises(LibraryDamaged, match="missing, and there are indexes of one: the library was lost"):
        Library.open(filled)
    found = damage_of(filled)
    assert found is not None
    assert "was lost" in found.why


def test_a_library_that_held_nothing_is_not_lost(home):
    with Library.open_for_writing(home) as library:
        library.refresh_indexes()
    home.database.unlink()
    with Library.open(home) as library:
        assert library.about.papers == 0


@pytest.mark.parametrize("statement", range(4))
def test_a_reader_that_comes_while_the_database_is_made_sees_none_or_the_whole(home, monkeypatch, statement):
    """Between any two statements of its own the writer may be done."""
    home.vectorstore.mkdir(parents=True)
    home.database.touch()
    made = []

    class Interrupted(library_schema.Database):
        def execute(self, *given):
            if len(made) == statement:
                monkeypatch.setattr(library_schema, "Database", whole)
                library_schema.connect_for_writing(home.database).close()
            made.append(given[0])
            return super().execute(*given)

    whole = library_schema.Database
    monkeypatch.setattr(library_schema, "Database", Interrupted)
    found = library_schema.connect_for_reading(home.database)
    assert made
    if found is not None:
        assert found.execute("SELECT COUNT(*) FROM papers").fetchone() == (0,)
        found.close()
