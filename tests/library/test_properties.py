import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from ragscience.core.tokenizing import tokenize
from ragscience.library import keywords
from ragscience.library.store import Home, Library, keyword_scores

from .making import WORDS, add, contents, paper_of, random_texts, unit_rows
from .test_damage import results

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 9)),
        st.tuples(st.just("replace"), st.integers(0, 9)),
        st.tuples(st.just("remove"), st.integers(0, 9)),
        st.just(("refresh", 0)),
        st.just(("search", 0)),
        st.just(("reopen", 0)),
    ),
    max_size=14,
)


def assert_like_the_oracles(library):
    chunks = {chunk.chunk_id: chunk for paper in library.papers() for chunk in library.paper_chunks(paper.paper_id)}
    ids = sorted(chunks)
    tokens = [tokenize(chunks[chunk_id].text) for chunk_id in ids]
    if any(tokens):
        oracle = BM25Okapi(tokens)
        for question in (*WORDS, " ".join(WORDS), f"{WORDS[0]} {WORDS[1]} {WORDS[0]}"):
            expected = dict(zip(ids, oracle.get_scores(tokenize(question)), strict=True))
            by_filter = library.keywords.search(question, 1000, np.array(ids))
            with patch.object(keywords, "_ROWS_COUNTED", 0), patch.object(keywords, "_SMALL", 0):
                by_candidates = library.keywords.search(question, 1000, None)
            found, scores = library.keywords.search(question, 1000, None)
            assert found.tolist() == by_filter[0].tolist()
            assert set(found.tolist()) == set(by_candidates[0].tolist())
            np.testing.assert_allclose(by_candidates[1], scores, atol=1e-9)
            np.testing.assert_allclose(keyword_scores(library, question, ids), [*expected.values()], atol=1e-9)
            assert set(found.tolist()) == {chunk_id for chunk_id in ids if expected[chunk_id] > 0}
            np.testing.assert_allclose(scores, [expected[chunk_id] for chunk_id in found.tolist()], atol=1e-9)
    if ids:
        numbers, vectors = library.vectors.of()
        assert numbers.tolist() == ids
        query = unit_rows(np.random.default_rng(1), 1)[0]
        found, scores = library.dense.search(query, 1000, None)
        expected = vectors.astype(float) @ query.astype(float)
        assert found.tolist() == [ids[row] for row in np.lexsort((ids, -expected))]
        np.testing.assert_allclose(scores, np.sort(expected)[::-1], atol=1e-9)


@settings(max_examples=25)
@given(steps)
def test_whatever_happens_the_indexes_are_those_of_a_rebuilt_library(history):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        library = Library.open_for_writing(home)
        try:
            for number, (step, which) in enumerate(history):
                rng = np.random.default_rng([number, which])
                papers = library.papers()
                chosen = [papers[which % len(papers)].paper_id] if papers else []
                if step in {"add", "replace"}:
                    texts = random_texts(rng, which)
                    made = paper_of(f"/p/{number}.pdf", texts, unit_rows(rng, len(texts)))
                    add(library, made, replaces=chosen if step == "replace" else ())
                elif step == "remove":
                    library.remove_papers(chosen)
                elif step == "refresh":
                    library.refresh_indexes()
                elif step == "search":
                    results(library)
                else:
                    library.close()
                    library = Library.open_for_writing(home)
            assert_like_the_oracles(library)
            before = results(library)
            with Library.open(home) as reader:
                assert results(reader) == before
                assert contents(reader) == contents(library)
            library.refresh_indexes(anew=True)
            assert not library.dense.is_stale()
            assert results(library) == before
        finally:
            library.close()
