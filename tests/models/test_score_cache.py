"""The cache of scores: bounded, shared, and never in the way."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from ragscience.models.score_cache import ScoreCache
from tests.conftest import ROOT


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scores?#%.sqlite"


def cache_at(path, warnings, most=100):
    return ScoreCache(path, most=most, on_warning=warnings.append)


def test_scores_come_back_and_unknown_keys_do_not(path, warnings):
    cache = cache_at(path, warnings)
    assert cache.get([b"a"]) == {}
    assert not path.exists()
    cache.put({b"a": 3.0, b"b": 0.5})
    cache.put({b"a": 4.0})
    assert cache_at(path, warnings).get([b"a", b"b", b"c"]) == {b"a": 4.0, b"b": 0.5}
    assert warnings == []


def test_nothing_to_keep_makes_no_file(path, warnings):
    cache_at(path, warnings).put({})
    assert not path.exists()


def test_the_last_ones_are_kept(path, warnings):
    cache = cache_at(path, warnings, most=5)
    for number in range(20):
        cache.put({b"%d" % number: float(number)})
    keys = [b"%d" % number for number in range(20)]
    assert set(cache.get(keys)) == {b"15", b"16", b"17", b"18", b"19"}
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT COUNT(*) FROM scores_1").fetchone() == (5,)


def test_many_keys_are_no_trouble(path, warnings):
    cache = cache_at(path, warnings, most=10_000)
    scores = {b"%d" % number: float(number) for number in range(1700)}
    cache.put(scores)
    assert cache.get(list(scores)) == scores


def test_a_damaged_file_is_set_aside_and_a_new_one_begun(path, warnings):
    path.write_bytes(b"no database at all" * 100)
    cache = cache_at(path, warnings)
    assert cache.get([b"a"]) == {}
    assert path.with_name(f"{path.name}.damaged").read_bytes().startswith(b"no database")
    assert "set aside" in warnings[0]
    cache.put({b"a": 1.0})
    assert cache.get([b"a"]) == {b"a": 1.0}
    assert len(warnings) == 1


def test_a_file_that_is_damaged_inside_is_set_aside_too(path, warnings):
    cache = cache_at(path, warnings, most=10_000)
    cache.put({os.urandom(32): 1.0 for _ in range(2000)})
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    assert cache.get([b"a" * 32]) == {}
    cache.put({b"a": 1.0})
    assert cache.get([b"a"]) == {b"a": 1.0}
    assert len(warnings) == 1


def test_values_that_are_no_scores_are_left_out(path, warnings):
    cache = cache_at(path, warnings)
    cache.put({b"a": 1.0})
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO scores_1 VALUES (?, ?)", (b"b", "ten"))
        db.execute("INSERT INTO scores_1 VALUES (?, ?)", (b"c", float("inf")))
    assert cache.get([b"a", b"b", b"c"]) == {b"a": 1.0}


def test_another_database_is_left_as_it_is(path, warnings):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE scores_1 (other TEXT)")
    before = path.read_bytes()
    cache = cache_at(path, warnings)
    cache.put({b"a": 1.0})
    assert cache.get([b"a"]) == {}
    assert (path.read_bytes(), warnings) == (before, [])


def test_a_writer_that_holds_the_file_keeps_nobody_waiting(path, warnings):
    cache = cache_at(path, warnings)
    cache.put({b"a": 1.0})
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert cache.get([b"a"]) == {b"a": 1.0}
        cache.put({b"b": 2.0})
        db.execute("ROLLBACK")
    assert cache.get([b"a", b"b"]) == {b"a": 1.0}
    assert warnings == []


def test_a_folder_that_is_not_there_is_no_trouble(tmp_path, warnings):
    cache = cache_at(tmp_path / "nowhere" / "scores.sqlite", warnings)
    cache.put({b"a": 1.0})
    assert cache.get([b"a"]) == {}
    assert warnings == []


def test_a_killed_writer_leaves_what_was_committed(path, warnings):
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from ragscience.models.score_cache import ScoreCache\n"
        "cache = ScoreCache(Path(sys.argv[1]), most=10**6, on_warning=print)\n"
        "for number in range(10**6):\n"
        "    cache.put({b'%d-%d' % (number, part): 1.0 for part in range(50)})\n"
        "    print(number, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=ROOT, stdout=subprocess.PIPE) as process:
        told = [int(process.stdout.readline()) for _ in range(5)]
        process.kill()
    cache = cache_at(path, warnings)
    keys = [b"%d-%d" % (number, part) for number in told for part in range(50)]
    assert len(cache.get(keys)) == 250
    cache.put({b"after": 2.0})
    assert cache.get([b"after"]) == {b"after": 2.0}
    assert warnings == []
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
