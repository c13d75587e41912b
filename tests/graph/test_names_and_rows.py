import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.graph.graph_records import canonical, decoded, encoded, folded, matched

from .making import found

SAME = [
    ("LSTM", "LSTMs"),
    ("GPT‑3", "GPT3"),
    ("co-occurrence", "Co occurrence"),
    ("GPUs", "gpu"),
    ("word embeddings", "Word Embedding"),
    ("losses", "loss"),
    ("patches", "patch"),
    ("attention matrices", "attention matrix"),
    ("“attention”", "attention"),
    ("ﬁne-tuning", "fine tuning"),
]
DIFFERENT = [
    ("C", "C++"),
    ("GPT-2", "GPT-3"),
    ("BERT", "RoBERTa"),
    ("F1", "F2"),
    ("networks of queues", "network of queue models"),
    ("top-5 accuracy", "top 1 accuracy"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_same_name(one, other):
    assert canonical(one) == canonical(other) != ""


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_names(one, other):
    assert canonical(one) != canonical(other)


@given(st.text(max_size=30))
def test_a_name_is_its_own_canonical_name(text):
    once = canonical(text)
    assert canonical(once) == once
    assert folded(folded(text)) == folded(text)
    assert bool(matched(text)) == bool(folded(text))
    assert '"' not in once


@given(found(7))
def test_what_was_found_comes_back_from_its_row(one):
    assert decoded(7, encoded(one)) == one
