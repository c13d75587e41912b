"""What the doctor finds: libraries that are broken in one place each, and what it says to do."""

import hashlib
import shlex
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from ragscience.library.store import Home, Library
from ragscience.models.model_servers import Ollama
from ragscience.upkeep.doctor import examine
from ragscience.upkeep.machine_checks import Given, network, worst
from tests.conftest import NOBODY
from tests.library.making import CHUNKER, EMBEDDER, new_paper, paper_of, unit_rows
from tests.sources.fault_server import FaultServer, Reply

NOW = datetime.now(UTC) + timedelta(hours=1)  # after whatever a run of the tests writes
VECTORS = unit_rows(np.random.default_rng(1), 2)
NAMES = ("bees", "kilns", "tides")


@pytest.fixture
def home(tmp_path):
    """A home whose papers have real files, with nothing wrong about it."""
    home = Home(tmp_path / "a 'home'")
    home.papers.mkdir(parents=True)
    with Library.open_for_writing(home) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        for name in NAMES:
            put(library, home.papers / f"{name}.pdf")
        library.refresh_indexes()
    return home


def put(library, path):
    """Write a file and add it as a paper of two pages."""
    path.write_bytes(b"%PDF-1.7 " + path.name.encode())
    made = paper_of(str(path), [f"All that is known of {path.stem}.", "More."], VECTORS)
    made = replace(made, md5=hashlib.md5(path.read_bytes()).hexdigest())
    stat = path.stat()
    return library.add_paper(replace(new_paper(made), size_bytes=stat.st_size, modified_ns=stat.st_mtime_ns))


def sql(home, *statements):
    with closing(sqlite3.connect(home.database)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def look(home, **changed):
    """What is found in the home; what a system without limits on memory says of itself is in tests/commands."""
    return [one for one in examine(home, Given(**{"now": NOW, **changed})) if one.area != "memory"]


def grave(home, **changed):
    """What is no good news."""
    return [one for one in look(home, **changed) if one.severity != "ok"]


def only(home, **changed):
    """The one finding that is no good news."""
    (one,) = grave(home, **changed)
    return one


def content(home):
    """Every file but those that SQLite keeps beside a database that is read."""
    return {
        path.relative_to(home.root): (path.stat().st_mtime_ns, path.read_bytes())
        for path in home.root.rglob("*")
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def test_nothing_is_wrong_and_nothing_is_written(home):
    before = content(home)
    found = look(home)
    assert worst(found) == "ok"
    assert {one.area for one in found} == {
        "disk", "database", "contents", "leftovers", "papers", "ledger", "indexes"
    }  # fmt: skip
    assert not any(one.remedy for one in found)
    assert content(home) == before


@pytest.mark.parametrize("damage", ["header", "pages", "foreign", "newer"])
def test_a_damaged_database_is_one_error_and_never_a_crash(home, damage):
    if damage == "foreign":
        home.database.unlink()
        with closing(sqlite3.connect(home.database)) as db:
            db.execute("CREATE TABLE recipes (name)")
    elif damage == "newer":
        sql(home, "PRAGMA user_version = 99")
    else:
        whole = bytearray(home.database.read_bytes())
        first, last = (0, 100) if damage == "header" else (8192, len(whole))
        whole[first:last] = b"\xaa" * (last - first)
        home.database.write_bytes(whole)
    one = only(home)
    assert (one.area, one.severity) == ("database", "error")
    assert one.remedy


def test_what_was_left_behind_is_told_when_it_is_old(home):
    for path in (home.parts / "abc.pdf", home.root / "ingested.json.17.tmp", home.vectorstore / "x.tmp"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * 2**20)
    assert grave(home) == []
    one = only(home, now=NOW + timedelta(hours=2))
    assert (one.severity, one.message) == ("info", "3 files of killed runs or downloads, 3.0 MiB.")
    assert shlex.quote(str(home.root / "ingested.json.17.tmp")) in one.remedy


def test_files_that_are_gone_changed_out_of_reach_or_new(home):
    (home.papers / "bees.pdf").unlink()
    (home.papers / "kilns.pdf").write_bytes(b"%PDF-1.7 other and longer")
    (home.papers / "tides.pdf").rename(home.papers / "tides")
    (home.papers / "tides.pdf").symlink_to("tides.pdf")
    (home.papers / "tides").rename(home.papers / "copy.pdf")
    (home.papers / "more").mkdir()
    (home.papers / "more" / "new.pdf").write_bytes(b"%PDF-1.7 new")
    said = [one.message for one in grave(home)]
    assert said[:2] == ["bees.pdf is in the library, but its file is gone.", "kilns.pdf has changed since it was read."]
    assert said[2].startswith("tides.pdf is in the library, but its file cannot be reached")
    assert "more/new.pdf is in papers/ and not in the library." in said
    assert not any("copy.pdf" in text for text in said)


@pytest.mark.parametrize(("code", "severity"), [(200, "ok"), (400, "ok"), (429, "warning"), (503, "warning")])
def test_arxiv_is_asked_once_and_judged_by_its_answer(code, severity):
    with FaultServer() as server:
        url = server.on("/api/query", Reply(status=code))
        arxiv, ollama = network(url, Ollama(NOBODY, timeout_seconds=5, offline=False), [])
        assert arxiv.severity == severity
        assert [asked.path for asked in server.requests] == ["/api/query"]
    assert (ollama.severity, ollama.area) == ("info", "network")
    assert "ollama serve" in ollama.remedy
