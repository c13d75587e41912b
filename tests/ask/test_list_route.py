"""Lists of what a paper uses: data sets, baselines, tasks, hyperparameters."""

import pytest

from ragscience.ask.router import route
from tests.ask.paper_library import context, make_library

BEES = [
    (1, "title", "Bees dance"),
    (1, "heading", "1 Introduction", 1),
    (1, "text", "Other people like data sets such as AntBench and WaspBench, which nobody needs here at all."),
    (1, "text", "Tasks such as finding flowers, telling the way, and choosing a home are what we look at here."),
    (2, "heading", "2 Experiments", 1),
    (2, "heading", "2.1 Data", 2),
    (
        2,
        "text",
        "We evaluate on four data sets: HiveNet (Keeper et al., 2001), (2) Dance100 [4], the Flower "
        "Corpus (FC) and WiggleQA. The HiveNet data set has films, "
        "Dance100 has sounds, the Flower Corpus has maps, WiggleQA has words.",
    ),
    (2, "text", "We report the accuracy of the dance model on all four of them."),
    (2, "caption", "Figure 1: Accuracy of each hive."),
    (2, "text", "Others look at the map of hives or at recall, which we do not."),
    (2, "heading", "2.2 Baselines", 2),
    (2, "text", "Random walk (RW) is a baseline that knows nothing of the sun or the way."),
    (2, "text", "Straight flight is what bees do that have no dance to follow at all."),
    (3, "heading", "A Settings", 1),
    (3, "text", "The values for the dance model are as follows and were chosen by hand:"),
    (3, "list", "• Batch size: 16, 32"),
    (3, "list", "• Learning rate: 0.001"),
    (3, "text", "We train for 3 epochs with a learning rate of 0.001 and a batch size of 16 on each hive."),
    (3, "caption", "Table 1: The hyperparameters of each hive."),
    (3, "table", "| Hive | Batch size | Epochs |\n|---|---|---|\n| Apis | 16 | 3 |"),
]


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    papers = {"bees.pdf": ("Bees dance", BEES), "ants.pdf": ("Ants walk", [(1, "text", "Ants walk a lot.")])}
    with make_library(tmp_path_factory.mktemp("home"), papers) as library:
        yield lambda question: route(question, context(library))


def said(routed):
    return [(block.kind, block.text[:14]) for block in routed.blocks]


def test_the_names_of_data_sets_are_first_and_then_the_sentence_with_most(ask):
    routed = ask("Which data sets does the Bees dance paper use?")
    names, first = routed.blocks[:2]
    assert "name HiveNet, Dance100, Flower Corpus, WiggleQA" in names.text
    assert (names.citations[0].page, first.text[:14]) == (2, "We evaluate on")
    assert routed.for_llm
    assert routed.hits


def test_hyperparameters_come_from_tables_and_sentences_with_figures(ask):
    blocks = said(ask("What are the hyperparameters of the Bees dance paper?"))
    assert blocks[0] == ("table", "| Hive | Batch")
    assert {("quote", "We train for 3"), ("quote", "• Batch size: ")} <= {*blocks}


def test_measures_are_those_that_results_name(ask):
    assert said(ask("Which metrics does the Bees dance paper report?"))[0] == ("quote", "We report the ")


@pytest.mark.parametrize(
    "question",
    [
        "Which data sets does Ants walk use?", "Which data sets are there?", "Which languages does Bees dance use?",
        "Which data sets of Bees dance were collected by submarine robots under polar ice?",
        "How large are the data sets of Bees dance?",
    ],
)  # fmt: skip
def test_what_is_not_listed_is_searched_for(ask, question):
    assert ask(question) is None
