"""Which papers use or mention something."""

import pytest

from ragscience.ask.phrase_search import Phrase
from ragscience.ask.router import route
from ragscience.core.records import Filters
from tests.ask.paper_library import context


@pytest.fixture
def ask(bees):
    def ask(question, filters=None):
        routed = route(question, context(bees, filters))
        return None if routed is None else "\n".join(block.text for block in routed.blocks)

    return ask


def test_who_uses_it_is_said_in_the_papers_words(ask):
    intro, *items = ask("Which papers use honey traps?").split("\n")
    assert intro == "3 papers have “honey traps” in the text."
    assert "2 times: “We used honey traps" in items[0]
    assert any("1 time: “We do not use honey traps" in item for item in items)
    assert any("1 time: “Earlier work on honey traps" in item for item in items)


def test_a_mention_claims_no_use(ask):
    assert ask("which papers mention honey traps").startswith("3 papers have “honey traps” in the text.")


def test_each_quote_is_cited_on_its_page(bees):
    routed = route("Which papers mention label smoothing?", context(bees))
    assert [(c.file, c.page) for block in routed.blocks for c in block.citations] == [("waggle.pdf", 2)]
    assert [hit.chunk.file for hit in routed.hits] == ["waggle.pdf"]


def test_references_are_no_mentions(ask):
    said = ask("Which papers use the Adam optimizer?")
    assert said.startswith("1 paper has “Adam” in the text")
    assert "Adams" not in said
    assert "references" not in said, "Adam Moor is a person"


def test_a_paper_of_the_library_is_apart_from_those_that_name_it(ask):
    said = ask("Which papers compare with Waggle?")
    assert said.startswith("1 other paper has “Waggle” in the text.")
    assert "It is introduced in “Waggle: Dances That Tell Distance” (waggle.pdf)." in said


def test_who_cites_a_paper_is_read_from_the_references(ask):
    said = ask("Which papers cite Warm Hives in Cold Winters?")
    assert said.startswith("1 paper has “Warm Hives in Cold Winters” in the references.")
    assert "Waggle" in said


def test_an_acronym_counts_with_what_it_stands_for(ask):
    said = ask("Which papers mention a queen excluding gate?")
    assert said.startswith("2 papers have “queen excluding gate” (also as “QEG”) in the text")


def test_several_things_at_once(ask):
    said = ask("Does any paper use both honey traps and label smoothing?")
    assert said.startswith("1 paper has “honey traps” and “label smoothing” in the text.")


def test_nothing_is_said_in_so_many_words(bees):
    routed = route("Does any paper mention quantum computing?", context(bees))
    assert routed.nothing_found
    assert "I found “quantum computing” in no text of the 5 papers" in routed.blocks[0].text


def test_conditions_and_filters_narrow_it(ask):
    assert ask("Which papers from 2016 mention honey traps?").startswith("1 paper has")
    assert ask("Which papers mention honey traps?", Filters(papers=("sleep",))).startswith("1 paper has")


@pytest.mark.parametrize(
    "question",
    [
        "is pollen mentioned anywhere?",
        "in which papers does pollen occur?",
        "Where is pollen mentioned?",
        "papers about pollen",
        "who mentions pollen?",
        "do I have anything on pollen?",
        "how often is pollen mentioned?",
        "list all mentions of pollen",
        "How many papers mention pollen?",
        "Are there any papers that talk about pollen?",
    ],
)
def test_ways_to_ask(ask, question):
    assert ask(question).startswith("1 paper has “pollen” in the text")


@pytest.mark.parametrize(
    "question",
    [
        "What do the papers say about the limits of honey traps?",
        "Which papers use more traps than hives?",
        "Which paper has the best results on GLUE?",
        "Who uses the honey that bees make in winter?",
        "How do the bees use honey?",
        "Does Waggle use honey traps?",
        "Which traps are used?",
        "Which papers use a method that needs no bees at all for long flights?",
    ],
)
def test_other_questions_are_left_alone(ask, question):
    assert ask(question) is None


@pytest.mark.parametrize(
    ("phrase", "text", "is_there"),
    [
        ("label smoothing", "We use label-\nsmoothing", True),
        ("pre-training", "pretraining and", True),
        ("pretraining", "pre-training", True),
        ("GPT-3", "GPT3 and", True),
        ("GPT-3", "GPT-31", False),
        ("GLUE", "with glue", False),
        ("LSTMs", "an LSTM", True),
        ("transformer", "Transformers are", True),
        ("Adam", "Adams", False),
        ("normalisation", "layer normalization", True),
        ("normalization", "normal", False),
        ("generalization", "better generalization of", True),  # of which the stem is "gener"
        ("rationalization", "rationalizations, not", True),
        ("dropout", "drop-\nouts", True),
        ("BERT", "RoBERTa", False),
        ("Waggle: Dances That Tell", "Waggle: dances that tell", True),
        ("Waggle: Dances That Tell", "Waggle. Dances\nthat tell", True),
        ("machine learning", "machine. Learning", False),
        ("€", "€", False),
    ],
)
def test_forms_of_a_phrase(phrase, text, is_there):
    assert bool(Phrase(phrase).in_text(text)) == is_there


def test_overlapping_passages_count_once(tmp_path):
    import numpy as np

    from ragscience.core.records import Chunk, Document, EmbedderIdentity, Page
    from ragscience.library.atomic_files import Home
    from ragscience.library.paper_contents import NewPaper
    from ragscience.library.store import Library

    text = "Bees sleep. Nectar flows. Ants walk."
    with Library.open_for_writing(Home(tmp_path)) as library:
        library.set_identity(EmbedderIdentity("embedded", "none", "0", 4), "none")
        chunks = [Chunk(0, text[:26], 0, 26, 1, 1), Chunk(1, text[12:], 12, len(text), 1, 1)]
        vectors = np.tile(np.array([1, 0, 0, 0], np.float32), (2, 1))
        document = Document(text, (Page(1, 0, len(text)),), "Ants", ())
        library.add_paper(NewPaper(str(tmp_path / "a.pdf"), "0" * 32, 1, 1, document, chunks, vectors))
        routed = route("Which papers mention nectar?", context(library))
    assert ": 1 time: “Nectar flows.”" in routed.blocks[1].text


def test_a_large_library_is_cut_and_says_so(bees, monkeypatch):
    monkeypatch.setattr("ragscience.ask.mentions_route._MOST_SHOWN", 1)
    monkeypatch.setattr("ragscience.ask.phrase_search.MOST_PASSAGES", 2)
    routed = route("Which papers mention honey traps?", context(bees))
    texts = [block.text for block in routed.blocks]
    assert texts[0].startswith("At least 2 papers have")
    assert texts[-1] == "And 1 more."
