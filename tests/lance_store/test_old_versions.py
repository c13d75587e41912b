"""Descriptions of older versions that a disk damaged: nobody needs them, and the library's upkeep goes past them."""

import struct
import sys
from pathlib import Path

import pytest

from ragscience.core.errors import RagScienceError
from ragscience.library import lance_database
from ragscience.library.store import Home
from tests.store.making import CHUNKER, EMBEDDER, add, numbered_paper

from .stores import Place
from .test_store_conformance import assert_whole

pytest.importorskip("lancedb", reason="lancedb is not installed: libraries in LanceDB are not tried")
_PAPERS = 3


@pytest.fixture
def place(tmp_path):
    place = Place(Home(tmp_path / "home"), f"lance://{tmp_path / 'lance'}")
    with place.open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        for number in range(_PAPERS):
            add(library, numbered_paper(number))
    return place


def descriptions(place, table):
    """Those of all versions of a table, the newest first."""
    return sorted((Path(place.uri.removeprefix("lance://")) / f"{table}.lance" / "_versions").glob("*.manifest"))


@pytest.mark.parametrize("table", ["passages", "generations"])
def test_upkeep_goes_past_older_versions_that_are_damaged(place, table, monkeypatch):
    newest, *older = descriptions(place, table)
    older[0].write_bytes(b"")
    older[1].write_bytes(older[1].read_bytes()[:-40] + bytes(40))
    with place.open(writing=True) as library:
        library.rebuild_indexes()
        assert_whole(library, _PAPERS)
    left = descriptions(place, table)
    assert newest in left
    assert older[2] in left
    assert older[1] not in left
    monkeypatch.setattr(lance_database, "_COMMITS_BEFORE_TIDYING", 1)
    left[-1].write_bytes(b"")
    with place.open(writing=True) as library:
        add(library, numbered_paper(_PAPERS))
        assert_whole(library, _PAPERS + 1)


@pytest.mark.parametrize("table", ["passages", "generations"])
@pytest.mark.parametrize("length", [0, 2**31])
def test_upkeep_goes_past_older_versions_that_say_a_wrong_length(place, table, length):
    """Of none Lance opens the version, and lists none; at one beyond the file its code panics."""
    newest, older, *oldest = descriptions(place, table)
    content = bytearray(older.read_bytes())
    (start,) = struct.unpack_from("<Q", content, len(content) - 16)
    struct.pack_into("<I", content, start, length)
    older.write_bytes(content)
    with place.open(writing=True) as library:
        library.rebuild_indexes()
        assert_whole(library, _PAPERS)
    left = descriptions(place, table)
    assert older not in left
    assert {newest, *oldest[:1]} <= set(left)


@pytest.mark.skipif(sys.platform != "linux", reason="it needs a file that cannot be read by anybody")
def test_an_older_version_that_the_disk_does_not_give_at_all_is_not_taken_for_damaged(place):
    _, older, *_ = descriptions(place, "passages")
    older.unlink()
    older.symlink_to("/proc/self/mem")  # its first bytes cannot be read
    with place.open(writing=True) as library, pytest.raises(RagScienceError):
        library.rebuild_indexes()
    assert older.is_symlink()
    with place.open() as library:
        assert_whole(library, _PAPERS)
