"""What counts as a database that is damaged as a whole."""

import pytest

from ragscience.store import damaged_database
from ragscience.store.damaged_database import damage_of


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
