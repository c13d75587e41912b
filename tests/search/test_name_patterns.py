"""What a passage says that its paper introduces."""

import pytest

from ragscience.search.introduced_names import introduced
from ragscience.search.names_of_paper import is_shaped


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We introduce Adam, an algorithm for optimization.", ["Adam"]),
        ("We propose Low-Rank Adaptation, or LoRA, which freezes weights.", ["Low-Rank Adaptation", "LoRA"]),
        ("We propose a new simple network architecture, the Transformer, based solely on attention.", ["Transformer"]),
        ("In this paper we present a new model called BERT.", ["BERT"]),
        ("We propose a new mechanism, which we call Batch Normalization, that normalizes.", ["Batch Normalization"]),
        ("We call the resulting models InstructGPT.", ["InstructGPT"]),
        ("Our largest model, GPT-2, is a Transformer.", ["GPT-2"]),
        ("Our approach, REALM, is inspired by others.", ["REALM"]),
        ("This paper describes PageRank, a method for rating pages.", ["PageRank"]),
    ],
)
def test_what_a_paper_introduces(text, names):
    found = list(introduced(text, abstract=False))
    assert [name for name, _, _ in found] == names
    assert all(text[start:end] == name for name, start, end in found)


@pytest.mark.parametrize(
    "text",
    [
        "We use BERT and evaluate it on SQuAD.",
        "We describe briefly the framework, called RNN Encoder-Decoder, proposed by Cho et al.",
        "We propose a variant of the coverage vector (Tu et al., 2016) here.",
        "We built a web search engine called Google [12].",
        "We propose tiling to reduce the reads between GPU high bandwidth memory (HBM) and others.",
        "We present results in Figure 3.",
        "A kind of network called LSTM (Hochreiter and Schmidhuber, 1997) is used.",
    ],
)
def test_what_others_introduced_is_no_name(text):
    assert list(introduced(text, abstract=False)) == []


def test_what_something_is_names_it_in_an_abstract_alone():
    text = "Raft is a consensus algorithm."
    assert [name for name, _, _ in introduced(text, abstract=True)] == ["Raft"]
    assert list(introduced(text, abstract=False)) == []


def test_shaped_words():
    assert [word for word in ("LoRA", "GPT-2", "TW-IDF", "Word2vec", "BERT") if not is_shaped(word)] == []
    assert [word for word in ("Adam", "Pre-Training", "Language Models", "raft", "Zero-Shot") if is_shaped(word)] == []
