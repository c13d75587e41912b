import os
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from ragscience.core.errors import LibraryUnavailable, RagScienceError
from ragscience.library.database import SCHEMA_VERSION
from ragscience.library.store import Library

from .making import WORDS, add, numbered_paper, unit_rows

OLDER = -1
QUERIES = unit_rows(np.random.default_rng(99), 8)


def results(library):
    """All that searches give, exactly."""
    dense = [library.dense.search(query, 7, None) for query in QUERIES]
    keywords = [library.keywords.search(word, 7, None) for word in WORDS]
    return [(ids.tolist(), scores.tolist()) for ids, scores in dense + keywords]


def flip(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


DAMAGE = {
    "missing": lambda data: None,
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "longer": lambda data: data + b"x",
    "a flipped byte": flip,
    "garbage of the same size": lambda data: bytes(len(data)),
    "pickle": lambda data: b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    "json of another shape": lambda data: b'{"index": [], "signature": 3, "format": 1, "segments": {}}',
}


@pytest.mark.parametrize("suffix", [".faiss", ".json"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cache_is_made_again_and_finds_the_same(filled, damage, suffix):
    with Library.open(filled) as library:
        expected = results(library)
    path = filled.faiss.with_suffix(suffix)
    data = DAMAGE[damage](path.read_bytes())
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)
        os.utime(path, ns=(1, 1))  # a file system's clock may be too coarse to tell the two versions apart
    with Library.open(filled) as library:
        assert results(library) == expected
    with Library.open_for_writing(filled) as library:
        library.refresh_indexes()
        assert not library.dense.is_stale()
        assert results(library) == expected


def test_what_a_killed_ingest_left_behind_is_made_up_for_by_readers_and_saved_by_the_next_writer(filled):
    with Library.open_for_writing(filled) as writer:
        writer.remove_papers([2])
        add(writer, numbered_paper(50))
        with Library.open(filled) as reader:
            assert reader.dense.is_stale()
            during = results(reader)
    with Library.open_for_writing(filled) as writer:
        writer.refresh_indexes()
        assert not writer.dense.is_stale()
        assert results(writer) == during
        writer.refresh_indexes(anew=True)
        assert results(writer) == during


def test_nothing_in_a_home_is_a_pickle(filled):
    for path in filled.root.rglob("*"):
        if path.is_file():
            assert not path.read_bytes().startswith(b"\x80"), path


@pytest.mark.parametrize(("other", "which", "fix"), [(1, "newer", "Update"), (OLDER, "older", "ingest.py")])
@pytest.mark.parametrize("opened", [Library.open, Library.open_for_writing])
def test_another_schema_is_refused(filled, opened, other, which, fix):
    with closing(sqlite3.connect(filled.database)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + other}")
    with pytest.raises(LibraryUnavailable, match=f"{which} version") as refused:
        opened(filled)
    assert fix in refused.value.fix


@pytest.mark.parametrize("opened", [Library.open, Library.open_for_writing])
def test_a_database_of_another_program_is_refused_and_left_alone(home, opened):
    home.vectorstore.mkdir(parents=True)
    with closing(sqlite3.connect(home.database)) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    content = home.database.read_bytes()
    with pytest.raises(RagScienceError, match="something else"):
        opened(home)
    assert home.database.read_bytes() == content
