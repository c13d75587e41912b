import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import LibraryUnavailable, RagScienceError
from ragscience.core.records import EmbedderIdentity, Filters
from ragscience.library.filter_selection import match_papers
from ragscience.library.paper_rows import short_names
from ragscience.library.store import Library, keyword_scores

from .making import CHUNKER, EMBEDDER, add, contents, numbered_paper, paper_of, unit_rows


def test_a_database_without_tables_as_a_killed_first_run_leaves_it_is_empty(home):
    home.vectorstore.mkdir(parents=True)
    home.database.touch()
    with Library.open(home) as library:
        assert library.about.chunks == 0
    with Library.open_for_writing(home) as library:
        add(library, numbered_paper(1))
    with Library.open(home) as library:
        assert library.about.papers == 1


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
