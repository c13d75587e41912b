import signal
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing

import numpy as np
import pytest
from ragscience.library.content_checks import mark_unkept
from ragscience.library.row_checksums import row_checksum, seal_meta

from ragscience.core.settings import Settings
from ragscience.engine.open_store import open_store
from ragscience.library import token_vectors
from ragscience.library.store import Library, text_hash
from ragscience.library.token_vectors import Tokens
from ragscience.models.token_codes import CODE_BYTES, DIMENSION, encode
from tests.conftest import ROOT
from tests.store.making import add, contents, numbered_paper


@pytest.fixture
def db():
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);"
        "CREATE TABLE vectors (chunk_id INTEGER PRIMARY KEY, text_hash BLOB);"
        "CREATE TABLE tokens"
        " (text_hash BLOB PRIMARY KEY, start INTEGER, bytes INTEGER, checksum INTEGER, row_checksum INTEGER);"
    )
    connection.executemany("INSERT INTO vectors VALUES (?, ?)", [(n, b"text%d" % (n % 4)) for n in range(1, 7)])
    yield connection
    connection.close()


def rows(seed, count):
    return np.random.default_rng(seed).integers(0, 256, (count, CODE_BYTES), np.uint8)


@pytest.fixture
def kept():
    return {b"text1": rows(1, 5), b"text2": rows(2, 0), b"text3": rows(3, 9)}


def equal(found, kept):
    assert {chunk_id: array.tolist() for chunk_id, array in found.items()} == {
        chunk_id: kept[b"text%d" % (chunk_id % 4)].tolist() for chunk_id in found
    }


def test_what_was_kept_comes_back_for_every_chunk_of_the_text(db, kept, tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    tokens.append(db, kept)
    found = tokens.of_chunks(db, [1, 2, 3, 4, 5, 6, 99])
    assert set(found) == {1, 2, 3, 5, 6}
    equal(found, kept)
    assert tokens.missing(db, [1, 2, 3, 4, 5, 6]) == ([4], [])
    mark_unkept(db)
    assert tokens.missing(db, [1, 2, 3, 4, 5, 6]) == ([], [4])
    assert set(tokens.of_chunks(db, [1, 4])) == {1}


def test_appending_keeps_what_was_there(db, kept, tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    for key, value in kept.items():
        tokens.append(db, {key: value})
        tokens.of_chunks(db, [1])
    equal(Tokens(tmp_path / "tokens").of_chunks(db, [1, 2, 3]), kept)
    assert tokens.size_bytes(db) == 14 * CODE_BYTES


def test_nothing_kept_is_nothing_found(db, tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    tokens.append(db, {})
    assert tokens.of_chunks(db, [1]) == {}
    assert tokens.size_bytes(db) == 0
    assert not (tmp_path / "tokens").exists()


def only_file(tmp_path):
    (path,) = (tmp_path / "tokens").iterdir()
    return path


def test_a_damaged_passage_is_not_there_and_the_others_are(db, kept, tmp_path):
    Tokens(tmp_path / "tokens").append(db, kept)
    content = bytearray(only_file(tmp_path).read_bytes())
    content[3] ^= 1
    only_file(tmp_path).write_bytes(content)
    assert set(Tokens(tmp_path / "tokens").of_chunks(db, [1, 2, 3])) == {2, 3}


def test_a_file_that_was_cut_loses_only_its_end(db, kept, tmp_path):
    Tokens(tmp_path / "tokens").append(db, kept)
    only_file(tmp_path).write_bytes(only_file(tmp_path).read_bytes()[:-1])
    assert set(Tokens(tmp_path / "tokens").of_chunks(db, [1, 2, 3])) == {1, 2}


def test_a_file_that_is_gone_is_no_error(db, kept, tmp_path):
    Tokens(tmp_path / "tokens").append(db, kept)
    only_file(tmp_path).unlink()
    assert set(Tokens(tmp_path / "tokens").of_chunks(db, [1, 2, 3])) == {2}, "a text without any has lost none"


def test_compacting_leaves_waste_and_damage_behind(db, kept, tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    tokens.append(db, kept | {b"of a removed paper": rows(9, 30)})
    old = only_file(tmp_path)
    with old.open("ab") as file:
        file.write(b"left by a killed run")
    assert tokens.compact(db) == 30 * CODE_BYTES + 20
    tokens.remove_others(db)
    assert only_file(tmp_path) != old
    equal(tokens.of_chunks(db, [1, 2, 3]), kept)
    assert tokens.size_bytes(db) == 14 * CODE_BYTES


def test_a_reader_whose_file_was_compacted_away_takes_the_new_one(home):
    with Library.open_for_writing(home) as writer, Library.open(home) as reader:
        gone = add(writer, numbered_paper(1))
        removed = [chunk.chunk_id for chunk in writer.paper_chunks(gone.paper_id)]
        ids = [chunk.chunk_id for chunk in writer.paper_chunks(add(writer, numbered_paper(2)).paper_id)]
        texts = [chunk.searched for chunk in writer.chunks(ids)]
        kept = {text_hash(text): rows(number, 3) for number, text in enumerate(texts)}
        writer.put_tokens(kept)
        with reader.snapshot():
            before = reader.papers()
            writer.remove_papers([gone.paper_id])
            writer.compact_tokens()
            writer.put_tokens({text_hash(texts[0]): rows(99, 2)})
            writer.compact_tokens()
            assert reader.papers() == before, "it still reads the old snapshot"
            found = reader.token_vectors([*ids, *removed])
        assert set(found) == set(ids)
        assert found[ids[0]].tolist() == rows(99, 2).tolist()
        assert found[ids[1]].tolist() == kept[text_hash(texts[1])].tolist()
        assert list(reader.damage()) == []


def unit_rows(seed, count):
    made = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.fixture
def older(home):
    """A library of schema 7, of two papers with token vectors of int8; and the codes of each passage, by id."""
    with Library.open_for_writing(home) as library:
        added = [add(library, numbered_paper(number)) for number in (1, 2)]
        ids = [chunk.chunk_id for paper in added for chunk in library.paper_chunks(paper.paper_id)]
        hashes = [text_hash(chunk.searched) for chunk in library.chunks(ids)]
    int8 = {key: np.rint(unit_rows(number, 3 + number) * 127).astype(np.int8) for number, key in enumerate(hashes)}
    content, places = b"", []
    for key, made in int8.items():
        data = made.tobytes()
        places.append((key, len(content), len(data), zlib.crc32(data)))
        content += data
    home.tokens.mkdir(exist_ok=True)
    (home.tokens / "old.int8").write_bytes(content)
    with closing(sqlite3.connect(home.database)) as db, db:
        db.execute("DELETE FROM tokens")
        db.executemany("INSERT INTO tokens VALUES (?, ?, ?, ?, ?)", [(*row, row_checksum(*row)) for row in places])
        db.execute("INSERT OR REPLACE INTO meta VALUES ('tokens_file', 'old.int8')")
        seal_meta(db)
        db.execute("PRAGMA user_version = 7")
    codes = {key: encode(made.astype(np.float32) / np.float32(127)).tolist() for key, made in int8.items()}
    return home, {chunk_id: codes[key] for chunk_id, key in zip(ids, hashes, strict=True)}


def listed(found):
    return {chunk_id: codes.tolist() for chunk_id, codes in found.items()}


def test_a_reader_of_an_older_library_makes_codes_of_its_int8_rows(older):
    home, codes = older
    with Library.open(home) as reader:
        assert listed(reader.token_vectors(list(codes))) == codes
        assert list(reader.damage()) == []
    assert [path.name for path in home.tokens.iterdir()] == ["old.int8"], "a reader changes no token vectors"


def test_how_far_the_codes_of_an_older_library_are_is_told(older, monkeypatch):
    home, codes = older
    monkeypatch.setattr(token_vectors, "_BATCH", 1)
    told = []
    with open_store(home, Settings(home=home.root), writing=True, on_event=told.append) as writer:
        assert listed(writer.token_vectors(list(codes))) == codes
    assert [(event.done, event.total) for event in told] == [(number + 1, len(codes)) for number in range(len(codes))]
    assert len(codes) > 1
    with open_store(home, Settings(home=home.root), writing=True, on_event=told.append):
        assert len(told) == len(codes), "the second time there is nothing to do"


def test_opening_an_older_library_for_writing_leaves_smaller_codes(older):
    home, codes = older
    size = (home.tokens / "old.int8").stat().st_size // DIMENSION * CODE_BYTES
    with Library.open(home) as reader, reader.snapshot():
        assert listed(reader.token_vectors(list(codes))) == codes
        with Library.open_for_writing(home) as writer:
            (path,) = home.tokens.iterdir()
            assert (path.suffix, path.stat().st_size, writer.token_bytes()) == (".codes", size, size)
            assert listed(writer.token_vectors(list(codes))) == codes
            assert writer.verify() == []
        assert listed(reader.token_vectors(list(codes))) == codes, "its old snapshot goes on"
    with Library.open_for_writing(home):
        assert list(home.tokens.iterdir()) == [path], "once is enough"


KILLED = """
import os, signal, sys
from pathlib import Path
import ragscience.library.token_vectors as token_vectors
from ragscience.library.store import Home, Library

token_vectors._BATCH = 2  # passages: there are more
{place} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Library.open_for_writing(Home(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("place", ["os.fsync", "token_vectors.Tokens.remove_others"])
def test_a_run_that_is_killed_while_it_makes_codes_loses_nothing(older, place):
    home, codes = older
    with Library.open(home) as library:
        before = contents(library)
    done = subprocess.run([sys.executable, "-c", KILLED.format(place=place), str(home.root)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert {path.suffix for path in home.tokens.iterdir()} == {".int8", ".codes"}
    for opened in (Library.open, Library.open_for_writing, Library.open):
        with opened(home) as library:
            assert listed(library.tokens.of(list(codes))) == codes
            assert (contents(library), library.verify(), list(library.damage())) == (before, [], [])
    with Library.open_for_writing(home) as library:
        library.tokens.compact()
    assert [path.suffix for path in home.tokens.iterdir()] == [".codes"]


def test_a_damaged_int8_row_is_not_there_and_that_is_told(older):
    home, codes = older
    content = bytearray((home.tokens / "old.int8").read_bytes())
    content[3] ^= 1
    (home.tokens / "old.int8").write_bytes(content)
    for opened in (Library.open, Library.open_for_writing):
        with opened(home) as library:
            assert listed(library.tokens.of(list(codes))) == dict(list(codes.items())[1:])
            assert any("rebuild --tokens" in line for line in library.damage())
