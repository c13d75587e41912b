import sqlite3

import numpy as np
import pytest

from ragscience.store import Library, text_hash
from ragscience.store.content_checks import mark_unkept
from ragscience.store.token_vectors import ROW_BYTES, Tokens
from tests.store.making import add, numbered_paper


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
    return np.random.default_rng(seed).integers(-127, 128, (count, ROW_BYTES)).astype(np.int8)


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
    assert tokens.size_bytes(db) == 14 * ROW_BYTES


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
    assert tokens.compact(db) == 30 * ROW_BYTES + 20
    tokens.remove_others(db)
    assert only_file(tmp_path) != old
    equal(tokens.of_chunks(db, [1, 2, 3]), kept)
    assert tokens.size_bytes(db) == 14 * ROW_BYTES


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
