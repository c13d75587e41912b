"""A library in LanceDB whose files are not what was written, and changes that others come before."""

import random
import resource
import shutil
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ragscience.core.errors import DiskProblem, LibraryBusy, LibraryDamaged, RagScienceError
from ragscience.core.records import Metadata
from ragscience.core.settings import Settings
from ragscience.engine import Engine
from ragscience.library import lance_database
from ragscience.library.lance_repair import begin_anew_if_damaged
from ragscience.library.lance_tables import as_table, columns_of, schema_of
from ragscience.library.store import Home
from ragscience.models.token_codes import CODE_BYTES
from tests.store.making import CHUNKER, EMBEDDER, add, numbered_paper

from .stores import Place
from .test_store_conformance import assert_whole, everything, rich_paper

pytest.importorskip("lancedb", reason="lancedb is not installed: libraries in LanceDB are not tried")


@pytest.fixture
def place(tmp_path):
    return Place(Home(tmp_path / "home"), f"lance://{tmp_path / 'lance'}")


@pytest.fixture
def filled(place):
    """A place with two papers that have everything, and a source and a row of the graph."""
    with place.open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        for number in (1, 2):
            library.add_paper(rich_paper(number))
        library.graph.put("toy", "1", [(1, '{"found": 1}')])
        library.sources.put(rich_paper(1).md5, Metadata(url="https://x.org/1"))
    return place


def change_value(place, role, where, **values):
    """Alter the values of rows as a disk does: their checksums stay as they were."""
    with place.open(writing=True) as library, library._writing() as change:
        names = [*columns_of(role), *schema_of(role, change.state.dimension).names[len(columns_of(role)) :]]
        table = change.before.arrow(role, names, where)
        change.delete(role, where)
        rows = [row | values for row in table.to_pylist()]
        change.append_table(role, type(table).from_pylist(rows, schema=table.schema))


@pytest.mark.parametrize(
    ("role", "where", "values", "said"),
    [
        ("passages", "chunk_id = 1", {"text": "what nobody wrote"}, "rich-1.pdf is damaged in the library (1 passage)"),
        ("pages", "paper_id = 2 AND number = 1", {"text": "x"}, "rich-2.pdf is damaged in the library (1 page)"),
        ("vectors", "chunk_id = 5", {"text_hash": b"1" * 16}, "rich-2.pdf is damaged in the library (1 vector)"),
        ("papers", "paper_id = 1", {"sketch": b"12345678"}, "rich-1.pdf is damaged in the library (its structure)"),
        ("sources", "true", {"url": "https://y.org"}, "The fetched metadata are damaged"),
    ],
)
def test_a_row_that_is_not_what_was_written_is_left_out_and_told_of(filled, role, where, values, said):
    with filled.open() as library:
        before = everything(library)
    change_value(filled, role, where, **values)
    with filled.open() as library:
        ((message, fix),) = library.verify()
        assert message.startswith(said)
        assert "`python ingest.py" in fix
        assert library.damage() == (f"{message} {fix}",)
    with filled.open() as library:
        texts = [chunk for paper in library.papers() for chunk in library.paper_chunks(paper.paper_id)]
        assert [one for one in texts if one not in before["passages"]] == []
        assert len(texts) == 8 - (role == "passages")
        if role == "passages":
            assert library.damage()[0].startswith(said)
        if role == "pages":
            with pytest.raises(LibraryDamaged, match="Page 1 of rich-2"):
                library.page_text(2, 1)


@pytest.mark.parametrize("role", ["passages", "pages"])
def test_a_damaged_paper_that_is_read_again_is_whole(filled, role):
    key = "chunk_id = 2" if role != "pages" else "paper_id = 1 AND number = 2"
    change_value(filled, role, key, paper_id=99)
    with filled.open(writing=True) as library:
        with library.snapshot():
            assert library.verify()
        library.add_paper(replace(rich_paper(1), replaces=(1,)))
        assert library.verify() == []
        assert library.chunk_count == 8


def test_a_damaged_row_of_the_graph_and_of_token_vectors_is_dropped_where_they_are_made_again(filled):
    change_value(filled, "graph", "chunk_id = 1", extractor="toys")
    change_value(filled, "tokens", "chunk_id = 1", chunk_id=7_000)
    with filled.open(writing=True) as library:
        with library.snapshot():
            assert len(library.verify()) == 2
        assert library.graph.clear("toy") == 1
        library.passages_without_tokens()
        library.compact_tokens()
        assert library.verify() == []
        ids = [chunk.chunk_id for chunk in library.paper_chunks(1)]
        whole = [*library.token_vectors(ids), *library.token_vectors([5, 6, 7, 8])]
        assert library.token_bytes() == sum(len(one.tobytes()) for one in library.token_vectors(range(9)).values())
        assert 1 not in whole


def test_a_paper_whose_entry_is_damaged_begins_the_library_anew(filled):
    change_value(filled, "papers", "paper_id = 1", title="Another")
    with filled.open() as library:
        assert [paper.file for paper in library.papers()] == ["rich-2.pdf"]
        assert "entry of a paper is damaged" in library.damage()[0]
    damage, left = begin_anew_if_damaged(filled.home, filled.uri)
    assert "entry of a paper" in damage.why
    assert [path.name for path in damage.files] == ["rich-1.pdf", "rich-2.pdf"]
    assert left == ""
    with filled.open(writing=True) as library:
        assert (library.papers(), library.paper_count, library.chunk_count) == ([], 0, 0)
        library.add_paper(rich_paper(1))
        assert library.verify() == []
    assert begin_anew_if_damaged(filled.home, filled.uri) is None


def test_a_reader_that_left_a_damaged_entry_out_goes_on_after_a_change(filled):
    change_value(filled, "papers", "paper_id = 1", title="Another")
    with filled.open() as reader:
        assert [paper.file for paper in reader.papers()] == ["rich-2.pdf"]
        with filled.open(writing=True) as library:
            added = add(library, numbered_paper(7))
        assert {paper.file for paper in reader.papers()} == {"rich-2.pdf", added.file}
        assert reader.damage()


@pytest.mark.parametrize("table", ["papers", "vectors_*", "generations"])
def test_a_table_that_cannot_be_read_begins_the_library_anew(filled, table):
    (folder,) = Path(filled.uri.removeprefix("lance://")).glob(f"{table}.lance")
    for path in (folder / "data").iterdir():
        path.write_bytes(path.read_bytes()[:40])
    with Engine.open(filled.home.root, Settings(home=filled.home.root, library=filled.uri)) as engine:
        with pytest.raises(RagScienceError) as refused:
            engine.library.verify()
        assert "rebuild" in refused.value.fix
        found = [one.severity for one in engine.doctor().findings if one.area in ("database", "contents")]
        assert found.count("error") == 1
    damage, left = begin_anew_if_damaged(filled.home, filled.uri)
    assert {"rich-1.pdf", "rich-2.pdf"} <= {path.name for path in damage.files}
    assert left == ("lance.damaged-1" if table == "generations" else "")
    with filled.open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        library.add_paper(rich_paper(1))
        assert library.verify() == []


def test_papers_without_the_table_that_describes_them_are_lost_and_not_written_over(filled):
    shutil.rmtree(Path(filled.uri.removeprefix("lance://")) / "generations.lance")
    for writing in (False, True):
        with pytest.raises(LibraryDamaged, match="lacks its own description"), filled.open(writing=writing) as library:
            library.papers()


def shown(library):
    """The words of a library, and its vectors."""
    papers = library.papers()
    passages = [chunk for paper in papers for chunk in library.paper_chunks(paper.paper_id)]
    ids, vectors = library.vectors()
    pages = []
    for paper in papers:
        for page in library.pages(paper.paper_id):
            with suppress(LibraryDamaged):
                pages.append(library.page_text(paper.paper_id, page.number))
    return [*papers, *passages, *pages, *zip(ids.tolist(), vectors.tolist(), strict=True)]


@contextmanager
def files_limited_to(count):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_the_disk_cuts_short_is_not_committed(place, tmp_path):
    """LanceDB takes a write whose last bytes are missing for done."""
    rng = np.random.default_rng(2)
    made = rich_paper(2)
    large = {key: rng.integers(0, 256, (2_000, CODE_BYTES), np.uint8) for key in made.tokens}
    with Place(Home(tmp_path / "second"), f"lance://{tmp_path / 'whole'}").open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        library.add_paper(replace(made, tokens=large))
    size = max(path.stat().st_size for path in (tmp_path / "whole").rglob("*.lance") if path.is_file())
    with place.open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        library.add_paper(rich_paper(1))
        with files_limited_to(size - 100), pytest.raises(DiskProblem, match="was not written whole"):
            library.add_paper(replace(made, tokens=large))
        assert library.verify() == []
        assert library.paper_count == 1
        library.add_paper(replace(made, tokens=large))
        assert library.verify() == []
        assert {len(one) for one in library.token_vectors([5, 6, 7]).values()} == {2_000}


def test_a_description_that_the_disk_cuts_short_is_taken_back(filled, tmp_path):
    """The table of generations is the last one that is written, and alone where passages stay as they are."""

    def forget(library, word):
        with library._writing() as change:
            change.note(removed={word: "x"})

    folder = Path(filled.uri.removeprefix("lance://"))
    shutil.copytree(folder, tmp_path / "whole")
    with Place(Home(tmp_path / "second"), f"lance://{tmp_path / 'whole'}").open(writing=True) as library:
        forget(library, "a" * 50_000)
    size = max(path.stat().st_size for path in (tmp_path / "whole" / "generations.lance" / "data").iterdir())
    with filled.open(writing=True) as library, filled.open() as reader:
        before = everything(library)
        with files_limited_to(size - 100), pytest.raises(DiskProblem, match="was not written whole"):
            forget(library, "b" * 50_000)
        with filled.open() as other:
            assert everything(library) == everything(reader) == everything(other) == before
        forget(library, "c" * 50_000)
        assert list(library.removed()) == list(reader.removed()) == ["c" * 50_000]
        assert library.verify() == []


def test_a_file_that_another_process_is_writing_is_not_taken_for_one_that_the_disk_cut_short(filled):
    with filled.open(writing=True) as library, library._writing() as change:
        change.append("sources", [("0" * 32, "https://x.org/2", "", "{}")])
        (Path(filled.uri.removeprefix("lance://")) / "sources.lance" / "data" / ".tmpOther").write_bytes(b"half")
    with filled.open() as library:
        assert library.verify() == []
        assert library.sources.of("0" * 32) is not None


@pytest.mark.parametrize("cut", ["papers", "generations"])
def test_a_library_whose_making_was_cut_off_is_none_to_a_reader_and_made_by_the_next_writer(place, cut):
    with place.open(writing=True):
        pass
    folder = Path(place.uri.removeprefix("lance://"))
    for name in {cut, "generations"}:
        shutil.rmtree(folder / f"{name}.lance")
    (folder / f"{cut}.lance" / "data").mkdir(parents=True)
    for path in (folder / "pages.lance" / "_versions").iterdir():
        path.write_bytes(b"")
    with place.open() as library:
        assert library.papers() == []
    with place.open(writing=True) as library:
        add(library, numbered_paper(0))
        assert_whole(library, 1)


def test_a_damaged_table_of_a_library_without_papers_is_told_of_and_begun_anew(place):
    with place.open(writing=True):
        pass
    for path in Path(place.uri.removeprefix("lance://"), "pages.lance", "_versions").glob("*.manifest"):
        path.write_bytes(b"")
    with Engine.open(place.home.root, Settings(home=place.home.root, library=place.uri)) as engine:
        (found,) = [one for one in engine.doctor().findings if one.area == "contents"]
    assert (found.severity, ".rs:" in found.message) == ("error", False)
    assert "rebuild" in found.remedy
    assert begin_anew_if_damaged(place.home, place.uri) is not None
    with place.open(writing=True) as library:
        add(library, numbered_paper(0))
        assert_whole(library, 1)


def test_no_flipped_bit_shows_what_was_not_written(filled, tmp_path):
    """Seed 24: 8 flips, each in a data file of a copy; a difference is warned of, or an error."""
    with filled.open() as library:
        before = shown(library)
    whole = Path(filled.uri.removeprefix("lance://"))
    files = sorted(whole.rglob("data/*.lance"), key=lambda path: (path.parent.parent.name[:6], path.stat().st_mtime_ns))
    dice, told = random.Random(24), set()
    for number in range(8):
        path = dice.choice(files)
        content = bytearray(path.read_bytes())
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(whole, copy)
        (copy / path.relative_to(whole)).write_bytes(content)
        try:
            with Place(filled.home, f"lance://{copy}").open() as library, library.snapshot():
                now, damage = shown(library), library.damage()
        except RagScienceError as error:
            assert error.fix
            told.add("refused")
            continue
        assert [one for one in now if one not in before] == [], path
        if now != before:
            assert damage, path
            told.add("warned")
    assert told


def test_a_library_of_the_format_without_checksums_gets_them_with_the_next_writer(place, monkeypatch):
    with place.open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        library.add_paper(rich_paper(1))
        before = everything(library)
        with library._writing() as change:
            for role in ("pages", "passages", "vectors"):
                table = as_table(role, (), change.state.dimension).select(columns_of(role))
                rows = change.before.arrow(role, columns_of(role))
                name = f"{role}_older"
                change._handles[role] = change._database.create_table(name, schema=table.schema)
                change._named(role, name, 1)
                change.append_table(role, rows)
            change.note(format=2)
    with place.open() as reader, reader.snapshot():
        assert everything(reader) == before
        with place.open(writing=True) as writer:
            assert everything(writer) == before
            assert writer.verify() == []
        assert everything(reader) == before
    change_value(place, "passages", "chunk_id = 1", text="what nobody wrote")
    with place.open() as library:
        assert library.verify()


def test_a_change_that_another_writer_comes_before_is_made_on_what_that_one_left(place, tmp_path, monkeypatch):
    monkeypatch.setattr(lance_database, "_PAUSE_SECONDS", 0.0)
    with place.open(writing=True) as one, place.open(Home(tmp_path / "second"), writing=True) as other:
        add(one, numbered_paper(0))
        later = [1, 2]

        def act(change):
            if later:
                add(other, numbered_paper(later.pop()))
            change.note(apart=(*change.state.apart, "x"))

        one._changed(act)
        assert later == []
        assert one.graph.apart() == {"x"}
    with place.open() as library:
        assert_whole(library, 3)


def test_a_change_that_others_always_come_before_is_given_up_in_a_clear_line(place, tmp_path, monkeypatch):
    monkeypatch.setattr(lance_database, "_PAUSE_SECONDS", 0.0)
    with place.open(writing=True) as one, place.open(Home(tmp_path / "second"), writing=True) as other:
        add(one, numbered_paper(0))
        later = iter(range(1, 100))

        def act(change):
            add(other, numbered_paper(next(later)))
            change.note(apart=("x",))

        with pytest.raises(LibraryBusy, match="too late 6 times"):
            one._changed(act)
        assert next(later) == 7
        assert one.graph.apart() == frozenset()
    with place.open() as library:
        assert_whole(library, 7)
