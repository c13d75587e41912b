"""What a question asks for and a paper does not have."""

import pytest

from ragscience.ask.missing_things import missing_sentences, sought, things_of
from ragscience.core.tokenizing import tokenize
from ragscience.search.reranking import WordPresence

from .passages import hit


class Words(WordPresence):
    """Papers of one passage each, by their numbers."""

    def __init__(self, *texts):
        self.papers = {number: set(tokenize(text)) for number, text in enumerate(texts, start=1)}

    def passages_with(self, terms, paper_ids):
        return {term: sum(term in self.papers[paper] for paper in paper_ids) for term in terms}


def things(question, subject=()):
    return things_of(question, subject)


def found(question, text):
    """By its word, whether each thing of the question is in a paper of this text."""
    return {each.thing.word: each.is_there for each in sought(things(question), Words(text), [1], [hit(text)])}


@pytest.mark.parametrize(
    ("question", "text", "beside"),
    [
        ("How does stage 1 reduce memory?", "stage 1", ("stage",)),
        ("What does it cost to train 12 layers?", "12 layers", ("layer",)),
        ("Was it run at 50 watt?", "50 watt", ("watt",)),
        ("What recall@100 does REALM have?", "recall@100", ("recal",)),
    ],
)
def test_a_number_belongs_to_what_it_counts_or_to_what_it_numbers(question, text, beside):
    (number,) = [each for each in things(question) if each.kind == "number"]
    assert (number.text, number.beside) == (text, beside)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("milliseconds", "It takes 3 ms."),
        ("tokenisation", "By tokenization of words."),
        ("corpora", "The corpus has words."),
        ("eradicated", "After eradication of it."),
        ("pre-training", "We pretrain it."),
        ("English-German", "From English to German."),
        ("ReAct", "REACT is a prompt that reacts."),
        ("ZeRO", "It is ZeRO-DP that we use."),
        ("ImageNet", "Imagenet has images."),
    ],
)
def test_presence_does_not_hang_on_the_spelling(asked, said):
    assert all(found(f"How much of the {asked} does it have?", said).values())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("GPT-4", "We compare GPT-3 and 4 others."),
        ("English-Russian", "From English to German."),
        ("watts", "It takes 3 hours."),
        ("pregnant women", "Of 40 women, all were old."),
    ],
)
def test_what_is_not_there_is_not_there(asked, said):
    assert not all(found(f"How much of the {asked} does it have?", said).values())


def test_what_is_missing_is_said_with_the_papers_that_lack_it():
    gone = things("What do Rust and Zab cost for 5,000 pages?")
    assert missing_sentences([each for each in gone if each.word in ("Rust", "Zab", "5,000")], ["a.pdf", "b.pdf"]) == (
        "‘Rust’ and ‘Zab’ do not occur in a.pdf or b.pdf.",
        "‘5,000 pages’ does not occur near this.",
    )
    assert missing_sentences([], ["a.pdf"]) == ()
