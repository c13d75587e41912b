from itertools import pairwise

import numpy as np
import pytest
from ragscience.library.keyword_index import KeywordIndex
from ragscience.library.postings import Segment, build, merge, term_key, without
from rank_bm25 import BM25Okapi

from ragscience.core.tokenizing import tokenize

VOCABULARY = [f"w{number}" for number in range(300)]
ODDS = 1 / np.arange(1, 301)
ODDS /= ODDS.sum()


def text(rng):
    return " ".join(rng.choice(VOCABULARY, size=int(rng.integers(0, 40)), p=ODDS))


def reader(texts):
    return lambda ids: ((chunk_id, texts[chunk_id]) for chunk_id in ids)


def at(index, texts, generation=1):
    return index.updated(generation, np.array(sorted(texts), np.int64), reader(texts))


def assert_like_rank_bm25(index, texts, rng, queries, allowed=None):
    ids = sorted(texts)
    oracle = BM25Okapi([tokenize(texts[chunk_id]) for chunk_id in ids])
    for _ in range(queries):
        asked = [*rng.choice(VOCABULARY, size=int(rng.integers(1, 7)), p=ODDS).tolist(), "unheard"]
        expected = oracle.get_scores(asked)
        if allowed is not None:
            expected = np.where(np.isin(ids, allowed), expected, 0)
        found, scores = index.search(asked, len(ids), allowed)
        assert set(found.tolist()) == {ids[row] for row in np.flatnonzero(expected > 0)}
        by_id = dict(zip(ids, expected, strict=True))
        np.testing.assert_allclose(scores, [by_id[chunk_id] for chunk_id in found.tolist()], atol=1e-5, rtol=0)
        assert list(zip(-scores, found, strict=True)) == sorted(zip(-scores, found, strict=True))
        few, few_scores = index.search(asked, 7, allowed)
        assert few.tolist() == found[:7].tolist()
        assert few_scores.tolist() == scores[:7].tolist()


def test_scores_are_those_of_rank_bm25_through_adds_merges_and_removals(tmp_path):
    rng = np.random.default_rng(5)
    texts = {number: text(rng) for number in range(1, 401)}
    index = at(KeywordIndex.empty("one"), texts)
    assert_like_rank_bm25(index, texts, rng, 300)
    sizes = []
    next_id = 401
    for _ in range(12):
        for _ in range(int(rng.integers(1, 30))):
            texts[next_id] = text(rng)
            next_id += 1
        for gone in rng.choice(sorted(texts), size=int(rng.integers(0, 9)), replace=False).tolist():
            del texts[gone]
        index = at(index, texts, index.generation + 1).save(tmp_path)
        index = KeywordIndex.load(tmp_path, "one", index.generation)
        sizes.append(len(index.segments))
        assert_like_rank_bm25(index, texts, rng, 50)
    assert 1 < max(sizes) <= 4
    few = dict(list(texts.items())[::3])
    assert_like_rank_bm25(at(index, few, 99), few, rng, 100)


def test_filters_hold_inside_the_search():
    rng = np.random.default_rng(6)
    texts = {number: text(rng) for number in range(1, 200)}
    index = at(KeywordIndex.empty("one"), texts)
    allowed = np.array([*range(3, 150, 7), 100_000], np.int64)
    assert_like_rank_bm25(index, texts, rng, 100, allowed)
    assert index.search(["w0"], 5, np.empty(0, np.int64))[0].size == 0


def test_a_search_reads_the_postings_of_its_words_and_no_others():
    texts = {number: "common" if number % 4 else "common rare other" for number in range(1, 101)}
    index = at(KeywordIndex.empty("one"), texts)
    index.search(["rare", "unheard", "rare"], 5, None)
    assert index.postings_touched == 25


def test_postings_of_common_words_are_not_read_where_they_change_nothing():
    texts = {
        number: f"own{number}" + " common" * (number % 5 < 2) + " rare" * (number % 50 == 0)
        for number in range(1, 1001)
    }
    index = at(at(KeywordIndex.empty("one"), dict(list(texts.items())[:900])), texts)
    found, _ = index.search(["common", "rare"], 5, None)
    assert found.tolist() == [50, 100, 150, 200, 250]
    assert index.postings_touched == 20
    index.search(["common", "rare"], 21, None)  # more than have the rare word
    assert index.postings_touched == 420


def test_few_allowed_passages_are_scored_without_reading_postings():
    texts = {number: "word common rare" if number in (8, 50) else f"word own{number}" for number in range(1, 101)}
    index = at(KeywordIndex.empty("one"), texts)
    found, _ = index.search(["rare", "common"], 5, np.array([7, 8, 9, 10, 1000], np.int64))
    assert found.tolist() == [8]
    assert index.postings_touched == 0


@pytest.mark.parametrize("passages", [40, 700])
def test_the_best_of_many_or_few_passages_are_those_of_rank_bm25(passages, monkeypatch):
    monkeypatch.setattr("ragscience.library.keyword_scores._FEW", 0)
    rng = np.random.default_rng(11)
    texts = {number: text(rng) for number in range(1, passages + 1)}
    index = at(at(KeywordIndex.empty("one"), dict(list(texts.items())[: passages // 3])), texts)
    assert_like_rank_bm25(index, texts, rng, 200)
    assert_like_rank_bm25(index, texts, rng, 200, np.arange(2, passages, 3))


def test_the_memory_of_files_is_given_back_and_what_was_in_it_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("ragscience.library.keyword_scores._RELEASED", 0)
    released = []
    whole = Segment.release
    monkeypatch.setattr(Segment, "release", lambda segment: released.append(segment) or whole(segment))
    rng = np.random.default_rng(13)
    texts = {number: text(rng) for number in range(1, 200)}
    index = at(KeywordIndex.empty("one"), texts).save(tmp_path)
    released.clear()
    assert_like_rank_bm25(index, texts, rng, 20)
    assert len(released) >= 40


def test_scores_of_any_passages_are_looked_up():
    rng = np.random.default_rng(10)
    texts = {number: text(rng) for number in range(1, 300) if number % 11}
    index = at(KeywordIndex.empty("one"), dict(list(texts.items())[:100]))
    index = at(index, dict(list(texts.items())[:120]), 2)
    index = at(index, texts, 3)
    ids = sorted(texts)
    oracle = BM25Okapi([tokenize(texts[chunk_id]) for chunk_id in ids])
    for _ in range(60):
        asked = rng.choice(VOCABULARY, size=3, p=ODDS).tolist()
        by_id = dict(zip(ids, oracle.get_scores(asked), strict=True))
        wanted = rng.integers(0, 310, 40)
        expected = [by_id.get(chunk_id, 0.0) for chunk_id in wanted.tolist()]
        np.testing.assert_allclose(index.scores_of(asked, wanted), expected, atol=1e-5, rtol=0)
    assert index.postings_touched == 0
    assert index.scores_of(["unheard"], np.array(ids[:3])).tolist() == [0, 0, 0]
    assert KeywordIndex.empty("one").scores_of(["word"], np.array([1, 2])).tolist() == [0, 0]


def test_counts_are_those_of_the_texts():
    rng = np.random.default_rng(12)
    texts = {number: text(rng) for number in range(1, 300) if number % 11}
    index = at(at(KeywordIndex.empty("one"), dict(list(texts.items())[:100])), texts)
    for allowed in (None, np.array(sorted(texts)[::3]), np.array(sorted(texts)[::2])):
        asked = [*rng.choice(VOCABULARY, size=5, p=ODDS).tolist(), "unheard"]
        wanted = rng.integers(0, 310, 20)
        found = index.counts_of(asked, wanted, allowed)
        tokens = {one: tokenize(each) for one, each in texts.items()}
        among = sorted(texts) if allowed is None else allowed.tolist()
        assert found.frequencies.tolist() == [sum(term in tokens[one] for one in among) for term in found.terms]
        alone = index.counts_of(asked, np.empty(0, np.int64), allowed)
        assert alone.frequencies.tolist() == found.frequencies.tolist() and alone.counts.shape == (len(found.terms), 0)
        assert found.counts.tolist() == [
            [tokens.get(one, []).count(term) for one in wanted.tolist()] for term in found.terms
        ]


def test_one_question_leaves_nothing_behind_for_the_next():
    texts = {number: "common" if number % 2 else "common rare other" for number in range(1, 41)}
    index = at(KeywordIndex.empty("one"), texts)
    first = index.search(["rare"], 50, None)
    index.search(["common", "other"], 50, None)
    for again, before in zip(index.search(["rare"], 50, None), first, strict=True):
        np.testing.assert_array_equal(again, before)
    assert index.search([], 50, None)[0].size == 0


def test_of_equal_scores_the_lower_ids_are_found():
    texts = {number: "same words here" if number > 5 else "gamma" for number in range(1, 41)}
    index = KeywordIndex.empty("one")
    for last in (10, 20, 30, 40):
        index = at(index, {number: value for number, value in texts.items() if number <= last})
    found, scores = index.search(["gamma"], 3, None)
    assert found.tolist() == [1, 2, 3]
    assert len(set(scores.tolist())) == 1


@pytest.mark.parametrize("k", [0, -1])
def test_none_wanted_none_found(k):
    assert at(KeywordIndex.empty("one"), {1: "word", 2: "other", 3: "third"}).search(["word"], k, None)[0].size == 0


def test_nothing_is_found_in_nothing():
    empty = KeywordIndex.empty("one")
    assert empty.search(["word"], 3, None)[0].size == 0
    index = at(empty, {1: "", 2: "the of"})
    assert index.search(["word"], 3, None)[0].size == 0
    assert at(index, {}).search(["word"], 3, None)[0].size == 0


def test_an_index_that_lost_earlier_chunks_is_made_anew():
    texts = {number: f"word{number} shared" for number in range(1, 9)}
    late = {number: value for number, value in texts.items() if number > 4}
    index = at(at(KeywordIndex.empty("one"), late), texts)
    assert index.search(["word2"], 3, None)[0].tolist() == [2]
    assert np.concatenate([segment.ids for segment in index.segments]).tolist() == sorted(texts)


def test_what_the_manifest_does_not_name_is_swept_away(tmp_path):
    index = at(KeywordIndex.empty("one"), {1: "some words", 2: "more", 3: "words"}).save(tmp_path)
    (tmp_path / "dead.segment").write_bytes(b"left by a killed process")
    (tmp_path / "half.segment.tmp").write_bytes(b"the same")
    (tmp_path / "notes.txt").write_text("not ours")
    at(index, {1: "some words", 3: "words"}, 2).save(tmp_path)
    names = sorted(path.suffix for path in tmp_path.iterdir())
    assert names == [".json", ".segment", ".txt"]


@pytest.mark.parametrize(("library_id", "generation"), [("other", 1), ("one", 0)])
def test_another_librarys_index_or_one_of_the_future_is_not_taken(tmp_path, library_id, generation):
    at(KeywordIndex.empty("one"), {1: "word"}).save(tmp_path)
    assert KeywordIndex.load(tmp_path, "one", 1)
    assert KeywordIndex.load(tmp_path, library_id, generation) is None


def test_merging_is_the_same_as_building_at_once_also_in_blocks():
    rng = np.random.default_rng(8)
    documents = [(number, text(rng).split()) for number in range(1, 120)]
    once = build(documents)
    for cuts in ([40], [1, 2, 60], [30, 30, 90]):
        edges = [0, *cuts, len(documents)]
        parts = [build(documents[low:high]) for low, high in pairwise(edges)]
        merged = merge(parts)
        for name in ("terms", "starts", "ids", "lengths", "rows", "counts"):
            np.testing.assert_array_equal(getattr(merged, name), getattr(once, name))


def test_leaving_out_is_the_same_as_never_having_had():
    rng = np.random.default_rng(9)
    documents = [(number, text(rng).split()) for number in range(1, 80)]
    gone = np.array([number % 3 == 0 for number, _ in documents])
    kept = [document for document, leaves in zip(documents, gone, strict=True) if not leaves]
    left, never = without(build(documents), gone), build(kept)
    for name in ("terms", "starts", "ids", "lengths", "rows", "counts"):
        np.testing.assert_array_equal(getattr(left, name), getattr(never, name))


def test_term_keys_fit_64_bits_and_take_any_text():
    assert len({term_key(term) for term in ("a", "b", "\ud800", "注意", "")}) == 5
    assert all(0 <= term_key(term) < 2**64 for term in ("a", "\ud800"))
