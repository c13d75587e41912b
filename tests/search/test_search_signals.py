"""What a search tells about itself, against a plain count over the texts."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.tokenizing import tokenize
from ragscience.library.store import Home, Library
from ragscience.search.first_pass import TOGETHER, Scope, signals
from tests.library.making import WORDS, add, numbered_paper


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    with Library.open_for_writing(home) as library:
        for number in range(8):
            add(library, numbered_paper(number))
        library.refresh_indexes()
        library.remove_papers([library.papers()[2].paper_id])
        add(library, numbered_paper(9))
    with Library.open(home) as library:
        yield library


def texts_of(library, file=None):
    return {
        chunk.chunk_id: chunk.text
        for paper in library.papers()
        if file in (None, paper.file)
        for chunk in library.paper_chunks(paper.paper_id)
    }


def told(library, question, order, *, allowed=None, cosines=None, maxsims=None, rerank=None):
    return signals(
        question, order, Scope(library, allowed), cosines=cosines or {}, maxsims=maxsims or {}, rerank=rerank
    )


def plainly(question, order, texts, everything):
    """keyword_match and missing_term by counting words."""
    terms = Counter(tokenize(question))
    counts = {chunk_id: Counter(tokenize(text)) for chunk_id, text in everything.items()}
    lengths = {chunk_id: sum(found.values()) for chunk_id, found in counts.items()}
    mean = sum(lengths.values()) / len(lengths)
    passages = max(len(texts), 1000)
    rarity = {
        term: math.log((passages + 1) / (sum(term in counts[chunk_id] for chunk_id in texts) + 0.5)) for term in terms
    }
    whole = sum(times * rarity[term] for term, times in terms.items())
    matches = [
        sum(
            times
            * rarity[term]
            * counts[chunk_id][term]
            / (counts[chunk_id][term] + 1.5 * (0.25 + 0.75 * lengths[chunk_id] / mean))
            for term, times in terms.items()
        )
        / whole
        for chunk_id in order
    ]
    missing = [rarity[term] for term in terms if not any(counts[chunk_id][term] for chunk_id in order[:TOGETHER])]
    return max(matches), max(missing, default=0.0) / math.log((passages + 1) / 0.5)


@given(words=st.lists(st.sampled_from([*WORDS, "etcd", "7.25"]), min_size=1, max_size=8), data=st.data())
def test_the_lexical_signals_are_what_counting_gives(library, words, data):
    question = " ".join(words)
    if not tokenize(question):
        return
    file = data.draw(st.sampled_from([None, library.papers()[3].file]))
    everything = texts_of(library)
    texts = texts_of(library, file)
    allowed = None if file is None else np.array(sorted(texts), np.int64)
    order = data.draw(st.lists(st.sampled_from(sorted(texts)), min_size=1, max_size=12, unique=True))
    seen = told(library, question, order, allowed=allowed)
    match, missing = plainly(question, order, texts, everything)
    assert seen["keyword_match"] == pytest.approx(match, abs=1e-6)
    assert seen["missing_term"] == pytest.approx(missing, abs=1e-6)
    assert seen["terms"] == len(set(tokenize(question)))


def test_a_name_that_the_papers_do_not_know_is_wholly_missing(library):
    order = sorted(texts_of(library))[:6]
    assert told(library, "attention of etcd", order)["missing_term"] == 1.0
    assert told(library, "protein genome", sorted(texts_of(library)))["missing_term"] < 1.0
