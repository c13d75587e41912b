"""What only a library in LanceDB does: its index of vectors, compaction, and the setting that names it."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.settings import Settings
from ragscience.engine import Engine
from ragscience.library import lance_database, lance_nearest, lance_vectors
from ragscience.library.changes import Change
from ragscience.library.generations import Snapshot
from ragscience.library.store import Home
from ragscience.models.token_codes import CODE_BYTES, DIMENSION, encode
from tests.store.making import CHUNKER, EMBEDDER, add, numbered_paper, paper_of, random_texts, unit_rows

from .stores import Place
from .test_store_conformance import assert_whole, rich_paper

pytest.importorskip("lancedb", reason="lancedb is not installed: libraries in LanceDB are not tried")


@pytest.fixture
def place(tmp_path):
    return Place(Home(tmp_path / "home"), f"lance://{tmp_path / 'lance'}")


def test_from_a_size_on_the_vectors_have_an_index_that_finds_nearly_the_same(place):
    rng = np.random.default_rng(3)
    made = paper_of("/papers/large.pdf", random_texts(rng, 900), unit_rows(rng, 900))
    with place.open(writing=True, index_from=500) as library:
        add(library, made)
        queries = unit_rows(rng, 20)
        exact = [library.search_dense(query, 10, None) for query in queries]
        assert library.dense_index_info().form == "flat"
        library.refresh_indexes()
        assert library.dense_index_info() is None
        add(library, numbered_paper(1))  # is found without being in the index
        (ids, scores) = library.search_dense(numbered_paper(1).vectors[0], 1, None)
        assert library.chunks(ids.tolist())[0].path == numbered_paper(1).path and scores[0] == pytest.approx(1)
        library.remove_papers([2])
        found = [library.search_dense(query, 10, None) for query in queries]
    shares = [np.isin(one[0], other[0]).mean() for one, other in zip(exact, found, strict=True)]
    assert np.mean(shares) > 0.5  # vectors at random lie anywhere, which is the worst case for lists


@pytest.mark.parametrize("most_papers", [5000, 1])
def test_a_filter_is_kept_by_the_index_whether_its_papers_are_few_or_many(place, monkeypatch, most_papers):
    monkeypatch.setattr(lance_nearest, "_FEW", 10)
    monkeypatch.setattr(lance_nearest, "_MOST_PAPERS", most_papers)
    rng = np.random.default_rng(4)
    with place.open(writing=True, index_from=500) as library:
        for number in range(4):
            add(library, paper_of(f"/papers/{number}.pdf", random_texts(rng, 300), unit_rows(rng, 300)))
        library.refresh_indexes()
        ids, rows = library.vectors()
        for allowed in (ids[ids % 3 == 0], ids[300:600], np.concatenate([ids[20:40], ids[900:950]])):
            query = unit_rows(rng, 1)[0]
            found, scores = library.search_dense(query, 10, allowed)
            assert found.size == 10 and np.isin(found, allowed).all()
            true = np.sort(rows[np.isin(ids, allowed)] @ query)[::-1][:10]
            assert np.isclose(scores, true, atol=1e-6).mean() >= 0.8


def test_a_reader_asks_for_newer_versions_only_where_the_folder_says_so(place, monkeypatch):
    versions = place.home.root.parent / "lance" / "generations.lance" / "_versions"
    with place.open(writing=True) as library:
        add(library, numbered_paper(1))
    with place.open() as reader:
        assert reader.paper_count == 1
        os.utime(versions, (1, 1))
        assert reader.paper_count == 1
        opened = []
        checked = type(reader._database._generations).checkout_latest
        monkeypatch.setattr(
            type(reader._database._generations), "checkout_latest", lambda t: opened.append(t) or checked(t)
        )
        assert [reader.paper_count, reader.chunk_count] == [1, len(numbered_paper(1).chunks)]
        assert not opened
        with place.open(writing=True) as library:
            add(library, numbered_paper(2))
        opened.clear()
        assert reader.paper_count == 2
        assert opened


def test_of_the_papers_that_a_reader_knows_only_the_changed_ones_are_read_again(place, monkeypatch):
    read = []
    intact = Snapshot.intact

    def noted(at, role, rows, checksum="checksum"):
        found = intact(at, role, rows, checksum)
        read.extend(row["paper_id"] for row in found if role == "papers")
        return found

    with place.open(writing=True) as library:
        for number in range(6):
            add(library, numbered_paper(number))
    with place.open() as reader:
        before = reader.papers()
        with place.open(writing=True) as library:
            add(library, numbered_paper(6))
            library.remove_papers([2])
            library.rename_papers([(3, "/papers/other.pdf", 5)])
            expected = library.papers()
        monkeypatch.setattr(Snapshot, "intact", noted)
        assert reader.papers() == expected != before
        assert sorted(read) == [3, 7]


def test_compaction_keeps_what_readers_of_the_last_hour_have_open_and_drops_what_is_older(place, monkeypatch):
    def versions():
        return sorted((place.home.root.parent / "lance" / "passages.lance" / "_versions").iterdir())

    with place.open(writing=True) as library:
        for number in range(6):
            add(library, numbered_paper(number))
        with place.open() as reader, reader.snapshot():
            before = [paper.path for paper in reader.papers()]
            add(library, numbered_paper(6))
            library.rebuild_indexes()
            assert [paper.path for paper in reader.papers()] == before
            assert [len(reader.paper_chunks(paper.paper_id)) for paper in reader.papers()] == [
                len(numbered_paper(number).chunks) for number in range(6)
            ]
        many = len(versions())
        library.rebuild_indexes()
        assert len(versions()) >= many
        monkeypatch.setattr(lance_database, "KEEP_SECONDS", -1.0)
        monkeypatch.setattr(lance_database, "MARGIN_SECONDS", 0.0)
        library.rebuild_indexes()
        assert len(versions()) < many
    with place.open() as library:
        assert_whole(library, 7)


def test_what_was_written_and_not_committed_is_never_seen_and_taken_back(place):
    with place.open(writing=True) as library:
        add(library, numbered_paper(0))

        class Cut(Exception):
            pass

        def vectors():
            yield [1], unit_rows(np.random.default_rng(1), 1), {}
            raise Cut

        with pytest.raises(Cut):
            library.replace_vectors(EMBEDDER, vectors())
        with pytest.raises(Cut), library._writing() as change:
            change.delete("passages", "true")
            change.append("sources", [("x", "u", "t", "{}")])
            raise Cut
        with place.open() as reader:
            assert_whole(reader, 1)
            assert reader.sources.all() == []
        add(library, numbered_paper(1))
    with place.open() as reader:
        assert_whole(reader, 2)
        assert reader.sources.all() == []


def test_a_writer_that_has_not_seen_the_identity_of_another_one_keeps_its_vectors(place, tmp_path):
    with place.open(writing=True) as one, place.open(Home(tmp_path / "second"), writing=True) as other:
        other._database._settled = 60.0  # as with object storage, where asking costs a round trip
        assert other.embedder is None
        add(one, numbered_paper(0))
        assert other.embedder is None
        add(other, numbered_paper(1))
    with place.open() as library:
        assert_whole(library, 2)


@pytest.fixture
def older(place, monkeypatch):
    """A library of the format whose token vectors are int8; and the codes of each passage, by id."""
    monkeypatch.setattr(lance_vectors, "_PAPERS_AT_ONCE", 2)
    with place.open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        for number in range(1, 4):
            library.add_paper(rich_paper(number))
        ids = [chunk.chunk_id for paper in library.papers() for chunk in library.paper_chunks(paper.paper_id)]
        counts = {one: len(codes) for one, codes in library.token_vectors(ids).items()}
        int8 = {one: np.rint(unit_rows(np.random.default_rng(one), count, 64) * 127) for one, count in counts.items()}
        with library._writing() as change:
            owners = {
                row["chunk_id"]: row["paper_id"] for row in change.before.rows("tokens", ["chunk_id", "paper_id"])
            }
            change.delete("tokens", "true")
            rows = [(one, owners[one], made.size, made.astype(np.int8).tobytes()) for one, made in int8.items()]
            change.append("tokens", rows)
            change.note(format=1, token_bytes=sum(made.size for made in int8.values()))
    return place, {one: encode(made.astype(np.float32) / np.float32(127)).tolist() for one, made in int8.items()}


def tokens_of(library, ids):
    return {one: codes.tolist() for one, codes in library.token_vectors(list(ids)).items()}


def test_token_vectors_of_an_earlier_format_are_codes_to_a_reader_and_become_codes_for_a_writer(older):
    place, codes = older
    with place.open() as reader, reader.snapshot():
        assert tokens_of(reader, codes) == codes
        size = reader.token_bytes() // DIMENSION * CODE_BYTES
        with place.open(writing=True) as writer:
            assert (tokens_of(writer, codes), writer.token_bytes()) == (codes, size)
        assert tokens_of(reader, codes) == codes
    with place.open() as reader:
        assert (tokens_of(reader, codes), reader.token_bytes()) == (codes, size)
        number = reader.generation
    with place.open(writing=True) as writer:
        assert (tokens_of(writer, codes), writer.generation) == (codes, number)


def test_a_change_of_format_that_fails_half_way_changes_nothing(older, monkeypatch):
    place, codes = older

    class Cut(Exception):
        pass

    def cut(change):
        raise Cut

    with monkeypatch.context() as patched:
        patched.setattr(Change, "commit", cut)
        with pytest.raises(Cut):
            place.open(writing=True)
    for writing in (False, True, False):
        with place.open(writing=writing) as library:
            assert tokens_of(library, codes) == codes


def test_an_engine_reads_and_answers_from_the_library_that_the_setting_names(place):
    settings = Settings(home=place.home.root, library=place.uri)
    with place.open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        library.add_paper(rich_paper(1))
    with Engine.open(place.home.root, settings) as engine:
        assert [paper.file for paper in engine.papers.list()] == ["rich-1.pdf"]
        assert engine.papers.page("rich-1", 2).text.startswith("| Cas9")
        findings = {one.area: one for one in engine.doctor(fast=True).findings}
        assert "can be read" in findings["database"].message
        assert [paper.file for paper in engine.ingest.remove(["rich-1"])] == ["rich-1.pdf"]
        assert engine.papers.list() == []
    assert not place.home.database.exists()


def test_doctor_tells_of_a_library_that_cannot_be_read(place):
    with place.open(writing=True) as library:
        add(library, numbered_paper(0))
    for path in (place.home.root.parent / "lance" / "papers.lance" / "data").iterdir():
        path.write_bytes(path.read_bytes()[:40])
    with Engine.open(place.home.root, Settings(home=place.home.root, library=place.uri)) as engine:
        (finding,) = [one for one in engine.doctor(fast=True).findings if one.area == "database"]
        assert finding.severity == "error"
        with pytest.raises(RagScienceError):
            engine.papers.list()


def test_a_place_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(ValueError, match="library"):
        Settings(home=tmp_path, library="lance://relative")
    with pytest.raises(UsageError):
        Place(Home(tmp_path), "lance://relative").open(writing=True)


def test_the_usual_library_imports_none_of_it(tmp_path):
    code = (
        "import sys; from ragscience.engine import Engine; from ragscience.core.settings import Settings\n"
        f"Engine.open({str(tmp_path)!r}, Settings(home={str(tmp_path)!r})).papers.list()\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('lancedb', 'pyarrow')], sys.modules\n"
        "assert 'ragscience.library.lance_store' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
