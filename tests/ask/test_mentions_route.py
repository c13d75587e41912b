"""Which papers use or mention something."""

import pytest

from ragscience.ask.mention_sentences import DENIES, SAYS, best_quote
from ragscience.ask.phrase_search import Phrase, Place
from ragscience.ask.router import route
from ragscience.core.records import Filters, StoredChunk
from tests.ask.paper_library import context


@pytest.fixture
def ask(bees):
    def ask(question, filters=None):
        routed = route(question, context(bees, filters))
        return None if routed is None else "\n".join(block.text for block in routed.blocks)

    return ask


def test_use_is_told_from_mention_and_denial(ask):
    intro, *items = ask("Which papers use honey traps?").split("\n")
    assert intro == ("3 papers have “honey traps” in the text; 1 of them says that it uses it.")
    assert "2 times; says that it uses it: “We used honey traps" in items[0]
    assert "1 time: “Earlier work on honey traps" in items[1]
    assert "says that it does not: “We do not use honey traps" in items[2]


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
    assert said.startswith("1 other paper has “Waggle” in the text; 1 of them says")
    assert "It is introduced in “Waggle: Dances That Tell Distance” (waggle.pdf; 1 time)." in said


def test_who_cites_a_paper_is_read_from_the_references(ask):
    said = ask("Which papers cite Warm Hives in Cold Winters?")
    assert said.startswith("1 paper cites “Warm Hives in Cold Winters” (hives.pdf):")
    assert "Waggle" in said


def test_an_acronym_counts_with_what_it_stands_for(ask):
    said = ask("Which papers mention a queen excluding gate?")
    assert said.startswith("2 papers have “queen excluding gate” (also as “QEG”) in the text")


def test_results_with_a_number_are_an_evaluation(ask):
    said = ask("Which papers evaluate on GLUE?")
    assert said.startswith("1 paper has “GLUE” in the text; 1 of them says that it evaluates on it.")


def test_several_things_at_once(ask):
    said = ask("Does any paper use both honey traps and label smoothing?")
    assert said.startswith("1 paper mentions “honey traps” and “label smoothing”;")


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
    ("sentence", "stance"),
    [
        ("We use dropout in the decoder.", SAYS),
        ("The models were trained with dropout (Hinton et al., 2012) on eight cards.", SAYS),
        ("The dropout layer (Hinton et al., 2012) was applied to each input.", SAYS),
        ("We do not use dropout, following others.", DENIES),
        ("We use the same net without dropout this time.", DENIES),
        ("We did not find that dropout helps.", 0),
        ("Hinton et al. used dropout in their work on speech.", 0),
        ("Dropout is typically used to reduce overfitting.", 0),
        ("If we use dropout, the error may grow.", 0),
        ("We like regularizers such as dropout.", 0),
        ("We use a dropout-like procedure here.", 0),
        ("We adopt a gate that is shared by each place of the map and the layers above, akin to spatial dropout.", 0),
    ],
)
def test_what_a_sentence_says(sentence, stance):
    start = sentence.casefold().index("dropout")
    chunk = StoredChunk(1, 1, "a.pdf", "", 0, sentence, 0, len(sentence), 1, 1, "", "text", ((0, 1),))
    assert best_quote([Place(chunk, start, start + 7)], "use").stance == stance


def test_a_figures_labels_say_nothing():
    text = "Validation reward 60 0.6 (GPT) 0.8 50 Dataset 1 40 compared 3 2 GPT-3 0.1 0.2 0.3 steps."
    chunk = StoredChunk(1, 1, "a.pdf", "", 0, text, 0, len(text), 1, 1, "", "text", ((0, 1),))
    assert best_quote([Place(chunk, text.index("GPT-3"), text.index("GPT-3") + 5)], "compare").stance == 0


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
