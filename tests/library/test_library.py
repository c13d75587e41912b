import json
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import LibraryUnavailable, NothingFound, RagScienceError
from ragscience.core.records import Chunk, Document, EmbedderIdentity, Filters, Page
from ragscience.library.filter_selection import match_papers
from ragscience.library.paper_contents import page_breaks
from ragscience.library.paper_rows import short_names
from ragscience.library.store import Home, Library, NewPaper, keyword_scores, known_files, require_identity, text_hash

from .making import CHUNKER, DIMENSION, EMBEDDER, add, contents, numbered_paper, paper_of, unit_rows


def files_under(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_home_without_a_library_is_empty_and_stays_untouched(home):
    with Library.open(home) as library:
        assert (library.about.papers, library.about.chunks, library.about.version) == (0, 0, 0)
        assert (library.about.embedder, library.about.chunker) == (None, None)
        assert (
            library.papers() == library.chunks([1]) == library.paper_chunks(1) == list(library.contents(1).pages) == []
        )
        assert known_files(library) == library.vectors.by_hash([b"x"]) == {}
        assert library.paper(md5="x") is library.paper(path="/x") is library.select(Filters()) is None
        assert list(library.texts(10)) == []
        assert not library.dense.is_stale()
        assert library.vectors.of()[0].size == library.keywords.search("word", 3, None)[0].size == 0
        assert library.dense.search(np.zeros(3, np.float32), 3, None)[0].size == 0
        require_identity(library, EMBEDDER, CHUNKER)
        with pytest.raises(NothingFound):
            library.select(Filters(papers=("a",)))
    assert not home.root.exists()


def test_a_reader_sees_a_library_that_is_made_after_it_was_opened(home):
    with Library.open(home) as reader:
        assert reader.about.chunks == 0
        with Library.open_for_writing(home) as writer:
            add(writer, numbered_paper(1))
            assert reader.about.chunks == writer.about.chunks == 4


def test_a_database_without_tables_as_a_killed_first_run_leaves_it_is_empty(home):
    home.vectorstore.mkdir(parents=True)
    home.database.touch()
    with Library.open(home) as library:
        assert library.about.chunks == 0
    with Library.open_for_writing(home) as library:
        add(library, numbered_paper(1))
    with Library.open(home) as library:
        assert library.about.papers == 1


def test_a_library_in_use_but_without_embedder_finds_nothing(home):
    with Library.open_for_writing(home) as library:
        assert library.dense.search(np.zeros(3, np.float32), 3, None)[0].size == 0
        assert library.keywords.search("word", 3, None)[0].size == 0
        library.refresh_indexes()
        library.rebuild_indexes()
        made = numbered_paper(1)
        with pytest.raises(RagScienceError, match="embedder"):
            library.add_paper(
                NewPaper(
                    path=made.path,
                    md5=made.md5,
                    size_bytes=1,
                    modified_ns=1,
                    document=made.document,
                    chunks=made.chunks,
                    vectors=made.vectors,
                )
            )


def test_a_paper_comes_back_as_it_was_given(home):
    text = "First page.\nSecond page is here.\n\nThird."
    document = Document(
        text, (Page(1, 0, 11), Page(2, 12, 32, "half of it is an image"), Page(3, 34, 40)), "A title", ("slow",)
    )
    chunks = (
        Chunk(0, text[:20], 0, 20, 1, 2, "Introduction", "text"),
        Chunk(1, text[14:], 14, 40, 2, 3, "Methods", "table"),
    )
    vectors = unit_rows(np.random.default_rng(0), 2)
    with Library.open_for_writing(home) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        paper = library.add_paper(
            NewPaper(
                path="/p/a.pdf",
                md5="abc",
                size_bytes=7,
                modified_ns=8,
                document=document,
                chunks=chunks,
                vectors=vectors,
            )
        )
    with Library.open(home) as library:
        assert library.papers() == [paper] == [library.paper(md5="abc")] == [library.paper(path="/p/a.pdf")]
        assert (paper.file, paper.title, paper.pages, paper.chunks, paper.warnings) == (
            "a.pdf",
            "A title",
            3,
            2,
            ("slow",),
        )
        assert known_files(library) == {"/p/a.pdf": (7, 8, "abc", paper.paper_id)}
        assert library.contents(paper.paper_id).pages == document.pages
        assert [library.contents(paper.paper_id).text(number) for number in (1, 2, 3)] == [
            "First page.",
            "Second page is here.",
            "Third.",
        ]
        first, second = library.paper_chunks(paper.paper_id)
        assert (first.text, first.page_breaks, first.section, first.kind) == (
            text[:20],
            ((0, 1), (12, 2)),
            "Introduction",
            "text",
        )
        assert (second.start, second.end, second.page_breaks) == (14, 40, ((0, 2), (20, 3)))
        assert library.chunks([second.chunk_id, 99, first.chunk_id]) == [second, first]
        ids, stored = library.vectors.of()
        assert ids.tolist() == [first.chunk_id, second.chunk_id]
        np.testing.assert_array_equal(stored, vectors)
        assert list(library.texts(1)) == [([first.chunk_id], [first.text]), ([second.chunk_id], [second.text])]
        assert (library.about.embedder, library.about.chunker) == (EMBEDDER, CHUNKER)
        with pytest.raises(NothingFound, match="no page 4"):
            library.contents(paper.paper_id).text(4)


def test_page_breaks_leave_out_pages_without_a_character_in_the_chunk():
    pages = (Page(1, 0, 10), Page(2, 10, 10), Page(3, 11, 20), Page(4, 20, 30))
    assert page_breaks(Chunk(0, "x" * 15, 5, 20, 1, 3), pages) == [(0, 1), (6, 3)]
    assert page_breaks(Chunk(0, "x" * 5, 20, 25, 4, 4), pages) == [(0, 4)]


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4), unique_by=tuple, max_size=8))
def test_short_names_tell_papers_apart_and_are_as_short_as_can_be(parts):
    paths = ["/" + "/".join(path) for path in parts]
    names = short_names(paths)
    assert len(set(names.values())) == len(paths)
    for path, name in names.items():
        assert path == name or path.endswith("/" + name)
        shorter = name.split("/", 1)[1:]
        if shorter and name != path:
            assert any(other != path and ("/" + other).endswith("/" + shorter[0]) for other in paths)


def test_papers_named_alike_are_told_apart_by_their_folders(home):
    with Library.open_for_writing(home) as library:
        alone = add(library, numbered_paper(1, "/p/2017/a.pdf"))
        assert alone.file == "a.pdf"
        second = add(library, numbered_paper(2, "/p/2018/a.pdf"))
        add(library, numbered_paper(3, "/p/2018/b.pdf"))
        assert [paper.file for paper in library.papers()] == ["2017/a.pdf", "2018/a.pdf", "b.pdf"]
        assert second.file == "2018/a.pdf"
        assert {chunk.file for chunk in library.paper_chunks(alone.paper_id)} == {"2017/a.pdf"}


def test_a_changed_paper_takes_the_place_of_the_old_one_and_ids_are_never_reused(home):
    with Library.open_for_writing(home) as library:
        old = add(library, numbered_paper(1))
        old_ids = {chunk.chunk_id for chunk in library.paper_chunks(old.paper_id)}
        generation = library.about.version
        new = add(library, replace(numbered_paper(2), path=old.path), replaces=[old.paper_id])
        assert library.about.version > generation
        assert library.papers() == [new]
        new_ids = {chunk.chunk_id for chunk in library.paper_chunks(new.paper_id)}
        assert not old_ids & new_ids
        assert library.chunks(sorted(old_ids)) == []
        library.remove_papers([new.paper_id, 12345])
        assert (library.about.papers, library.about.chunks, library.vectors.of()[0].size) == (0, 0, 0)
        third = add(library, numbered_paper(3))
        assert min(chunk.chunk_id for chunk in library.paper_chunks(third.paper_id)) > max(new_ids)


@pytest.mark.parametrize("how", ["md5", "path"])
def test_a_paper_that_is_there_is_refused_and_nothing_changes(filled, how):
    made = numbered_paper(2)
    twin = replace(made, path="/other.pdf") if how == "md5" else replace(made, md5="other")
    with Library.open_for_writing(filled) as library:
        before = contents(library), library.about.version
        with pytest.raises(RagScienceError, match=r"002\.pdf already"):
            add(library, twin)
        assert (contents(library), library.about.version) == before


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda rows: rows[:-1], "shape"),
        (lambda rows: rows[:, :-1], "shape"),
        (lambda rows: rows.astype(np.float64), "float64"),
        (lambda rows: rows * np.float32(1.1), "length 1"),
        (lambda rows: np.where(np.arange(DIMENSION) == 3, np.float32("nan"), rows).astype(np.float32), "not numbers"),
        (lambda rows: np.zeros_like(rows), "length 1"),
    ],
)
def test_vectors_that_are_not_unit_rows_are_refused(filled, spoil, said):
    made = numbered_paper(77)
    with Library.open_for_writing(filled) as library:
        before = contents(library)
        with pytest.raises(RagScienceError, match=said):
            add(library, replace(made, vectors=spoil(made.vectors)))
        assert contents(library) == before


def test_a_paper_without_passages_is_a_paper(home):
    with Library.open_for_writing(home) as library:
        paper = add(library, paper_of("/p/blank.pdf", [], np.empty((0, DIMENSION), np.float32)))
        add(library, numbered_paper(1))
        assert library.paper_chunks(paper.paper_id) == []
        assert library.about.chunks == 4


def test_text_that_utf8_cannot_hold_is_kept_in_length(home):
    odd = "half \ud800 a character, nul \x00, 注意 \U0001f600"
    with Library.open_for_writing(home) as library:
        paper = add(library, paper_of("/p/odd.pdf", [odd], unit_rows(np.random.default_rng(0), 1), odd))
        (chunk,) = library.paper_chunks(paper.paper_id)
        assert chunk.text == paper.title == odd.replace("\ud800", "\ufffd")
        assert library.contents(paper.paper_id).text(1) == chunk.text
        library.refresh_indexes()


def test_a_file_name_that_is_no_text_is_a_name(home):
    path = os.fsdecode(b"/p/caf\xe9.pdf")
    with Library.open_for_writing(home) as library:
        paper = add(library, numbered_paper(1, path))
        assert paper.path == path
        assert library.paper(path=path) == paper
    assert json.loads(home.ledger.read_text("utf-8"))["files"][paper.md5]["path"] == path


def test_a_moved_file_keeps_its_passages(filled):
    with Library.open_for_writing(filled) as library:
        paper = library.paper(path="/papers/002.pdf")
        chunks = library.paper_chunks(paper.paper_id)
        library.rename_papers([(paper.paper_id, "/elsewhere/two.pdf", 99)])
        moved = library.paper(path="/elsewhere/two.pdf")
        assert (moved.paper_id, moved.file, moved.modified_ns) == (paper.paper_id, "two.pdf", 99)
        assert library.paper_chunks(paper.paper_id) == [
            replace(chunk, file="two.pdf", path="/elsewhere/two.pdf") for chunk in chunks
        ]
        with pytest.raises(RagScienceError, match="777"):
            library.rename_papers([(777, "/x.pdf", 1)])


def test_two_files_that_changed_places_keep_their_papers(filled):
    with Library.open_for_writing(filled) as library:
        one, two = library.paper(path="/papers/001.pdf"), library.paper(path="/papers/002.pdf")
        library.rename_papers([(one.paper_id, two.path, 5), (two.paper_id, one.path, 6)])
        assert library.paper(path=two.path).paper_id == one.paper_id
        assert library.paper(path=one.path).paper_id == two.paper_id
        assert library.about.papers == 6


def test_a_paper_whose_file_another_one_overwrote_leaves(filled):
    with Library.open_for_writing(filled) as library:
        one, two = library.paper(path="/papers/001.pdf"), library.paper(path="/papers/002.pdf")
        library.rename_papers([(one.paper_id, two.path, 5)])
        assert library.paper(md5=two.md5) is None
        assert library.paper(path=two.path).paper_id == one.paper_id


def test_the_ledger_says_what_the_library_says_and_is_repaired(filled):
    with Library.open(filled) as library:
        papers = library.papers()
    ledger = json.loads(filled.ledger.read_text())
    assert ledger["schema"] == 1
    assert set(ledger["files"]) == {paper.md5 for paper in papers}
    assert ledger["files"][papers[2].md5] == {
        "file": "002.pdf",
        "path": "/papers/002.pdf",
        "pages": 5,
        "chunks": 5,
        "added_at": papers[2].added_at,
        "warnings": [],
    }
    good = filled.ledger.read_bytes()
    for damage in (b"", b"{", good[:50], good.replace(b'"pages": 5', b'"pages": 6'), None):
        filled.ledger.unlink() if damage is None else filled.ledger.write_bytes(damage)
        with Library.open_for_writing(filled) as library:
            assert library.papers() == papers
            assert filled.ledger.read_bytes() == good
        assert filled.ledger.read_bytes() == good


def test_papers_are_listed_for_the_ledger_only_where_it_is_of_another_state(filled, monkeypatch):
    listed, papers = [], Library.papers
    monkeypatch.setattr(Library, "papers", lambda self: listed.append(1) or papers(self))
    with Library.open_for_writing(filled):
        assert not listed
    # A home that was moved has other full paths, and a change other papers.
    filled.root.rename(filled.root.with_name("moved"))
    with Library.open_for_writing(Home(filled.root.with_name("moved"))) as library:
        assert len(listed) == 1
        library.remove_papers([1])
    assert len(listed) == 2


def test_the_ledger_is_written_now_and_then_and_is_whole_at_the_end_and_after_a_kill(home):
    written = set()
    with Library.open_for_writing(home) as library:
        for number in range(60):
            add(library, numbered_paper(number))
            stat = home.ledger.stat()
            written.add((stat.st_ino, stat.st_mtime_ns))
            listed = json.loads(home.ledger.read_text())["files"]
            assert number + 1 - len(listed) <= number // 10
    assert len(written) < 40
    behind = home.ledger.read_bytes()
    with Library.open(home) as library:
        papers = library.papers()
    assert json.loads(behind)["files"].keys() == {paper.md5 for paper in papers}
    library = Library.open_for_writing(home)
    library.remove_papers([papers[0].paper_id])
    assert home.ledger.read_bytes() == behind
    library._database.close()  # as a killed process leaves it
    with Library.open_for_writing(home):
        assert json.loads(home.ledger.read_text())["files"].keys() == {paper.md5 for paper in papers[1:]}


def test_identity_is_set_once_and_kept(filled):
    other = EmbedderIdentity("ollama", "nomic-embed-text", "ffff", 768)
    with Library.open_for_writing(filled) as library:
        generation = library.about.version
        library.set_identity(EMBEDDER, CHUNKER)
        assert library.about.version == generation
        with pytest.raises(LibraryUnavailable, match=r"toy .* not ollama nomic-embed-text") as refused:
            library.set_identity(other, CHUNKER)
        assert "rebuild --embeddings" in refused.value.fix
        with pytest.raises(LibraryUnavailable, match="nomic"):
            require_identity(library, other, CHUNKER)
        with pytest.raises(LibraryUnavailable, match="made with toy/40/0, not toy/50/0") as refused:
            require_identity(library, EMBEDDER, "toy/50/0")
        assert "`python ingest.py rebuild`" in refused.value.fix
        require_identity(library, EMBEDDER)
        library.set_identity(EMBEDDER, "toy/50/0")
        require_identity(library, EMBEDDER, "toy/50/0")
        library.remove_papers([paper.paper_id for paper in library.papers()])
        library.set_identity(other, CHUNKER)
        assert library.about.embedder == other


def test_vectors_are_found_again_by_the_text_they_are_of(filled):
    with Library.open(filled) as library:
        chunk = library.paper_chunks(3)[0]
        key = text_hash(chunk.text)
        found = library.vectors.by_hash([key, text_hash("never embedded"), key])
        assert list(found) == [key]
        np.testing.assert_array_equal(found[key], library.vectors.of([chunk.chunk_id])[1][0])
        many = library.vectors.by_hash([text_hash(str(number)) for number in range(1200)] + [key])
        assert list(many) == [key]


def test_own_hashes_are_kept(home):
    made = numbered_paper(1)
    with Library.open_for_writing(home) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        hashes = [text_hash(f"search_document: {chunk.text}") for chunk in made.chunks]
        library.add_paper(
            NewPaper(
                path=made.path,
                md5=made.md5,
                size_bytes=1,
                modified_ns=1,
                document=made.document,
                chunks=made.chunks,
                vectors=made.vectors,
                hashes=hashes,
            )
        )
        assert set(library.vectors.by_hash(hashes)) == set(hashes)


def test_vectors_are_replaced_all_or_none(filled):
    other = EmbedderIdentity("ollama", "nomic-embed-text", "ffff", 20)
    rng = np.random.default_rng(0)

    def batches(library, size, *, fail_after=99):
        for number, (ids, texts) in enumerate(library.texts(size)):
            if number == fail_after:
                raise KeyboardInterrupt
            yield ids, unit_rows(rng, len(texts), 20), {}

    with Library.open_for_writing(filled) as library:
        before = contents(library), library.about.version
        with pytest.raises(KeyboardInterrupt):
            library.vectors.replace(other, batches(library, 7, fail_after=2))
        with pytest.raises(RagScienceError, match="got no new vector"):
            library.vectors.replace(other, list(batches(library, 7))[:-1])
        with pytest.raises(RagScienceError, match="does not have"):
            library.vectors.replace(other, [([999], unit_rows(rng, 1, 20), {})])
        with pytest.raises(RagScienceError, match="shape"):
            library.vectors.replace(other, [([1], unit_rows(rng, 1, 19), {})])
        assert (contents(library), library.about.version, library.about.embedder) == (*before, EMBEDDER)
        with Library.open(filled) as reader:
            reader.dense.search(unit_rows(rng, 1)[0], 3, None)
            library.vectors.replace(other, batches(library, 7))
            ids, vectors = library.vectors.of()
            assert vectors.shape == (ids.size, 20)
            for opened in (reader, library):
                found, scores = opened.dense.search(vectors[5], 1, None)
                assert (found[0], round(scores[0], 5)) == (ids[5], 1)
        assert library.dense.is_stale()
        library.refresh_indexes()
        assert not library.dense.is_stale()
        with pytest.raises(LibraryUnavailable, match="20 dimensions, the question's 12"):
            library.dense.search(unit_rows(rng, 1)[0], 3, None)


@pytest.fixture
def varied(home):
    with Library.open_for_writing(home) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        rng = np.random.default_rng(0)
        for path, title in (
            ("/p/2017/Attention.pdf", "Attention Is All You Need"),
            ("/p/2018/bert.pdf", "Pre-training of Transformers"),
            ("/p/2018/[draft] E\u0301tude.pdf", ""),
        ):
            made = paper_of(path, [f"{path} passage {number}" for number in range(4)], unit_rows(rng, 4), title)
            sections = ["Introduction", "2 Methods", "2.1 METHOD details", ""]
            kinds = ["text", "table", "text", "Equation"]
            chunks = tuple(
                replace(chunk, section=section, kind=kind)
                for chunk, section, kind in zip(made.chunks, sections, kinds, strict=True)
            )
            add(library, replace(made, chunks=chunks))
    return home


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(papers=("attention",)), [1, 2, 3, 4]),
        (Filters(papers=("ALL YOU",)), [1, 2, 3, 4]),
        (Filters(papers=("*.pdf",)), list(range(1, 13))),
        (Filters(papers=("b?rt*", "attention.pdf")), list(range(1, 9))),
        (Filters(papers=("2018/",)), list(range(5, 13))),
        (Filters(papers=("8/bert.pdf",)), [5, 6, 7, 8]),
        (Filters(papers=("/p/2017/*",)), [1, 2, 3, 4]),
        (Filters(papers=("[draft]",)), [9, 10, 11, 12]),
        (Filters(papers=("\u00c9TUDE",)), [9, 10, 11, 12]),
        (Filters(pages=(2, 3)), [2, 3, 6, 7, 10, 11]),
        (Filters(pages=(3, 2)), []),
        (Filters(kinds=("TABLE", "equation")), [2, 4, 6, 8, 10, 12]),
        (Filters(sections=("method",)), [2, 3, 6, 7, 10, 11]),
        (Filters(sections=("nowhere",)), []),
        (Filters(papers=("bert",), pages=(1, 2), sections=("intro", "methods"), kinds=("text",)), [5]),
    ],
)
def test_filters(varied, filters, expected):
    with Library.open(varied) as library:
        assert library.select(filters).tolist() == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("bert.pdf", ["/p/bert.pdf"]),
        ("/p/a/x.pdf", ["/p/a/x.pdf"]),
        ("a/x.pdf", ["/p/a/x.pdf"]),
        ("ba/x.pdf", ["/p/ba/x.pdf"]),
        ("A/x.pdf", ["/p/A/x.pdf"]),
        ("a/X.PDF", ["/p/A/x.pdf", "/p/a/x.pdf"]),
        ("p/a/x.pdf", ["/p/a/x.pdf"]),
        ("x.pdf", ["/p/A/x.pdf", "/p/a/x.pdf", "/p/ba/x.pdf"]),
        ("bert", ["/p/bert.pdf", "/p/sbert.pdf"]),
        ("a/", ["/p/A/x.pdf", "/p/a/x.pdf", "/p/ba/x.pdf", "/zp/a/x.pdf.d/y.pdf"]),
    ],
)
def test_a_papers_own_name_means_it_and_no_other(home, pattern, expected):
    with Library.open_for_writing(home) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        rng = np.random.default_rng(0)
        for path in ("/p/bert.pdf", "/p/sbert.pdf", "/p/a/x.pdf", "/p/ba/x.pdf", "/p/A/x.pdf", "/zp/a/x.pdf.d/y.pdf"):
            add(library, paper_of(path, [path], unit_rows(rng, 1), ""))
        ids = match_papers(library.papers(), [pattern])
        assert sorted(paper.path for paper in library.papers() if paper.paper_id in ids) == expected


def test_no_filter_allows_all(varied):
    with Library.open(varied) as library:
        assert library.select(Filters()) is None


def test_a_pattern_that_fits_no_paper_is_answered_with_the_nearest_names(varied):
    with Library.open(varied) as library:
        with pytest.raises(NothingFound, match="atention") as nothing:
            library.select(Filters(papers=("bert", "atention")))
        assert "Attention.pdf" in nothing.value.fix
        with pytest.raises(NothingFound) as nothing:
            library.select(Filters(papers=("zzzzzz",)))
        assert "ingest.py list" in nothing.value.fix


def test_filters_hold_inside_both_searches(filled):
    with Library.open(filled) as library:
        allowed = library.select(Filters(papers=("003.pdf",)))
        _, vectors = library.vectors.of()
        assert sorted(library.dense.search(vectors[0], 100, allowed)[0].tolist()) == allowed.tolist()
        found, _ = library.keywords.search(
            "attention network gradient protein energy model query light graph", 100, allowed
        )
        assert set(found.tolist()) <= set(allowed.tolist())
        assert found.size


def test_only_a_writer_writes(filled):
    with Library.open(filled) as library:
        for change in (
            lambda: library.remove_papers([1]),
            lambda: library.set_identity(EMBEDDER, CHUNKER),
            library.refresh_indexes,
            library.rebuild_indexes,
        ):
            with pytest.raises(RuntimeError, match="not opened for writing"):
                change()
    with Library.open_for_writing(filled) as library, library.snapshot(), pytest.raises(RuntimeError, match="snapshot"):
        library.remove_papers([1])


def test_closing_twice_is_harmless(filled):
    library = Library.open_for_writing(filled)
    library.close()
    library.close()
    Library.open_for_writing(filled).close()


def test_paths_of_a_home(tmp_path):
    home = Home(tmp_path)
    assert home.papers == tmp_path / "papers"
    assert home.ledger == tmp_path / "ingested.json"
    inside = (home.database, home.faiss, home.names, home.history, home.lock)
    assert {path.parent for path in inside} == {home.vectorstore}
    assert len(set(inside)) == 5


def test_scores_of_given_passages_are_those_of_the_searches(filled):
    with Library.open(filled) as library:
        every = library.about.chunks
        query = library.vectors.of([4])[1][0]
        for ids, scores, given in (
            (*library.dense.search(query, every, None), lambda asked: library.dense.scores(query, asked)),
            (
                *library.keywords.search("model graph", every, None),
                lambda asked: keyword_scores(library, "model graph", asked),
            ),
        ):
            assert ids.size
            np.testing.assert_allclose(given(ids[::-1].tolist()), scores[::-1], rtol=1e-9)
            assert given([10**6, int(ids[0])]).tolist() == pytest.approx([0, scores[0]])
            assert given([]).shape == (0,)
        with pytest.raises(LibraryUnavailable, match="12 dimensions"):
            library.dense.scores(np.ones(3, np.float32), [1])


def test_an_empty_library_scores_nothing(home):
    with Library.open(home) as library:
        assert library.dense.scores(np.ones(3, np.float32), [1, 2]).tolist() == [0, 0]
        assert keyword_scores(library, "word", [1, 2]).tolist() == [0, 0]
        assert library.dense.info() is None
