"""A library in LanceDB: its searches find what the embedded store finds, it is whole in S3, and its damage is told."""

import threading
import uuid
from dataclasses import replace

import numpy as np
import pytest

from ragscience.core.errors import LibraryUnavailable, RagScienceError
from ragscience.library.lance_store import put_lance_aside
from ragscience.library.store import Home, Library, NewPaper
from tests.library.making import CHUNKER, EMBEDDER, WORDS, Place, add, new_paper, numbered_paper, paper_of, unit_rows
from tests.s3_server import FaultyS3, access

from .test_store_conformance import assert_whole, rich_paper

pytest.importorskip("lancedb", reason="lancedb is not installed: libraries in LanceDB are not tried")


@pytest.fixture
def there(tmp_path):
    """A home, and a folder for its library in LanceDB."""
    return Place(Home(tmp_path / "home"), f"lance://{tmp_path / 'there'}")


def varied_paper(number: int) -> NewPaper:
    """A paper of 20 passages of 20 to 60 words, of which few are common, as in a text."""
    rng = np.random.default_rng(number)
    names = [*WORDS, *(f"name{one}" for one in range(300))]
    common = 1 / np.arange(1, len(names) + 1)
    texts = [" ".join(rng.choice(names, size=int(rng.integers(20, 60)), p=common / common.sum())) for _ in range(20)]
    return new_paper(paper_of(f"/papers/{number}.pdf", texts, unit_rows(rng, len(texts))))


def test_keywords_find_nearly_what_the_embedded_store_finds(there, tmp_path):
    """Not the same: Lance chooses the candidates by its own BM25."""
    rng, shared = np.random.default_rng(3), []
    with Library.open_for_writing(Home(tmp_path / "oracle")) as one, there.open(writing=True) as other:
        for library in (one, other):
            library.set_identity(EMBEDDER, CHUNKER)
            for number in range(20):
                library.add_paper(varied_paper(number))
            library.refresh_indexes()
        for _ in range(30):
            question = " ".join(f"name{rng.integers(0, 300)}" for _ in range(3)) + " " + str(rng.choice(WORDS[:22]))
            expected, found = (set(each.keywords.search(question, 20, None)[0].tolist()) for each in (one, other))
            shared.append(len(expected & found) / max(len(expected), 1))
    assert np.mean(shared) >= 0.9


@pytest.mark.s3
def test_a_library_in_s3_is_written_searched_and_opened_again(s3_server, tmp_path):
    del s3_server
    place = Place(Home(tmp_path / "home"), f"s3://libraries/{uuid.uuid4().hex}")
    with place.open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        for number in range(3):
            library.add_paper(rich_paper(number))
        library.refresh_indexes()
    with place.open(Home(tmp_path / "second"), writing=True) as library:
        library.remove_papers([library.papers()[0].paper_id])
    with place.open() as library:
        assert [paper.md5 for paper in library.papers()] == [f"{1:032x}", f"{2:032x}"]
        assert library.keywords.search("Cas9", 3, None)[0].size == 2
        assert library.dense.search(rich_paper(1).vectors[0], 1, None)[0].tolist() == [5]
        assert library.verify() == []


@pytest.mark.s3
def test_a_server_that_does_not_answer_is_not_taken_for_damage(s3_server, tmp_path, monkeypatch):
    server = FaultyS3(s3_server.get_host_and_port())
    place = Place(Home(tmp_path / "home"), f"s3://libraries/{uuid.uuid4().hex}")
    given_up_soon = {"OBJECT_STORE_CLIENT_MAX_RETRIES": "1", "OBJECT_STORE_CLIENT_RETRY_TIMEOUT": "5"}
    for name, value in {**access(server.url), **given_up_soon}.items():
        monkeypatch.setenv(name, value)
    try:
        with place.open(writing=True) as library:
            add(library, numbered_paper(0))
        server.spoil("/libraries", "503 SlowDown")
        with pytest.raises(LibraryUnavailable, match="is out of reach"):
            put_lance_aside(place.home, place.uri)
        server.heal()
        with place.open() as library:
            assert_whole(library, 1)
    finally:
        server.close()


def test_two_homes_that_make_the_library_at_once_share_it(there, tmp_path):
    for number in range(6):
        uri, start = f"lance://{tmp_path / f'there-{number}'}", threading.Barrier(2)
        failed, rows = [], {f"home-{number}-{name}": name for name in "ab"}

        def write(name, uri=uri, start=start, failed=failed, rows=rows):
            start.wait()
            try:
                with Place(Home(tmp_path / name), uri).open(writing=True) as library:
                    library._database.changed(lambda change: change.put_notes("kind", {name: rows[name]}))
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=write, args=(name,)) for name in rows]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        with Place(there.home, uri).open() as library, library._database.now() as at:
            assert at.notes("kind") == rows


def test_a_library_that_was_cut_off_while_it_was_made_is_made_again(there):
    with there.open(writing=True):
        pass
    folder = there.home.root.parent / "there"
    for path in folder.glob("library.lance/_versions/*"):
        path.write_bytes(b"")
    with there.open(writing=True) as library:
        add(library, numbered_paper(0))
    with there.open() as library:
        assert len(library.papers()) == 1
        assert library.verify() == []


def test_a_damaged_table_is_one_line_that_names_rebuild_and_is_put_aside(there):
    with there.open(writing=True) as library:
        for number in range(2):
            add(library, numbered_paper(number))
    assert put_lance_aside(there.home, there.uri) is None
    folder = there.home.root.parent / "there"
    for path in folder.glob("passages_*/data/*"):
        path.write_bytes(b"\xff" * path.stat().st_size)
    with there.open() as library, pytest.raises(RagScienceError) as raised:
        library.chunks([1, 2])
    assert "\n" not in raised.value.message
    assert "rebuild" in raised.value.fix
    damage, left = put_lance_aside(there.home, there.uri)
    assert (left, folder.exists()) == ("there.damaged-1", False)
    assert [path.as_posix() for path in damage.files] == [numbered_paper(number).path for number in range(2)]
    with there.open(writing=True) as library:
        assert library.papers() == []


def test_one_damaged_record_of_pages_is_named_and_the_others_stay(there):
    with there.open(writing=True) as library:
        for number in (1, 2):
            library.set_identity(EMBEDDER, CHUNKER)
            library.add_paper(rich_paper(number))
        library._database.changed(_spoil)
        assert [what for what, _ in library.verify()] == [
            "rich-1.pdf is damaged in the library, and what is damaged is left out."
        ]
        assert library.contents(2).text(1)
        library.add_paper(replace(rich_paper(1), replaces=[1]))
        assert library.verify() == []


def _spoil(change):
    change._step("papers", lambda table: table.update(where="paper_id = 1", values={"contents": b"no zlib"}))
