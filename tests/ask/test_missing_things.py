"""What a question asks for and a paper does not have."""

import pytest

from ragscience.ask.confidence import missing_sentences, things_of
from ragscience.core.tokenizing import tokenize
from ragscience.search.reranking import WordPresence

from .passages import hit


class Words(WordPresence):
    """Papers of one passage each, by their numbers."""

    def __init__(self, *texts):
        self.papers = {number: set(tokenize(text)) for number, text in enumerate(texts, start=1)}

    def passages_with(self, terms, paper_ids):
        return {term: sum(term in self.papers[paper] for paper in paper_ids) for term in terms}


def found(question, text):
    """By its word, whether each thing of the question is in a paper of this text."""
    return {each.text: each.is_there for each in things_of(question, (), Words(text), [1], [hit(text)])}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("eradicated", "After eradication of it."), ("pre-training", "We pretrain it."),
        ("English-German", "From English to German."), ("ReAct", "REACT is a prompt that reacts."),
        ("ZeRO", "It is ZeRO-DP that we use."),
    ],
)  # fmt: skip
def test_presence_does_not_hang_on_the_spelling(asked, said):
    assert all(found(f"How much of the {asked} does it have?", said).values())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("GPT-4", "We compare GPT-3 and 4 others."),
        ("English-Russian", "From English to German."),
        ("watts", "It takes 3 hours."),
        ("50 pregnant women", "Of 40 women, all were old."),
    ],
)
def test_what_is_not_there_is_not_there(asked, said):
    assert not all(found(f"How much of the {asked} does it have?", said).values())


def test_what_is_missing_is_said_with_the_papers_that_lack_it():
    gone = things_of("What do Rust and Zab cost for 5,000 pages?", (), Words(""), [1], [])
    assert missing_sentences([each for each in gone if each.kind != "word"], ["a.pdf", "b.pdf"]) == (
        "‘Rust’, ‘Zab’ and ‘5,000’ do not occur in a.pdf or b.pdf.",
    )
    assert missing_sentences([], ["a.pdf"]) == ()
