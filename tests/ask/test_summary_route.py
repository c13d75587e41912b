"""Summaries: sentences of the paper that say what it asks, does, uses, finds and leaves open."""

import pytest

from ragscience.ask.router import route
from ragscience.core.records import Filters
from tests.ask.paper_library import context, make_library

BEES = [
    (1, "title", "BeeNet: A Model of Dances"),
    (1, "authors", "A. Keeper, B. Keeper"),
    (1, "heading", "Abstract", 1),
    (
        1,
        "abstract",
        "Predicting where bees fly is a challenging problem for farmers. "
        "We propose BeeNet, a model that reads the angle of each dance. "
        "BeeNet outperforms the best earlier model by 12.5% on two hives.",
    ),
    (1, "heading", "1 Introduction", 1),
    (1, "text", "Bees have danced for a long time and many people have seen it. Our contributions are as follows:"),
    (1, "list", "• We introduce a model that reads the angle of a dance."),
    (1, "list", "• We show that two hives are enough to train this model."),
    (2, "heading", "2 Experiments", 1),
    (2, "text", "We trained on a data set of 4,000 films of dances from two hives in one summer."),
    (2, "figure", "0 10 20 30 results improve significantly"),
    (2, "heading", "3 Limitations", 1),
    (2, "text", "Scope. The model has seen the dances of one species of bees in one summer only."),
    (2, "heading", "References", 1),
    (2, "reference", "A. Ant. We propose AntNet, a model of steps that outperforms all. 2001."),
    (3, "text", "We propose nothing here that matters, as it stands behind the references of the paper."),
]
TRIAL = [
    (
        1,
        "abstract",
        "Background The role of honey in coughs is controversial and few trials exist. "
        "Methods Two hundred children were given honey or nothing in this trial. "
        "Results Coughs were shorter with honey by 2.1 days (95% CI 1.0 to 3.2). "
        "Conclusions Honey is effective against coughs in children above two years.",
    )
]
EMPTY = [(1, "text", "Nothing.")]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    papers = {
        "bees.pdf": ("BeeNet: A Model of Dances", BEES),
        "trial.pdf": ("Honey against coughs: a trial", TRIAL),
        "empty.pdf": ("Nothing at all", EMPTY),
    }
    with make_library(tmp_path_factory.mktemp("home"), papers) as library:
        yield library


@pytest.fixture(scope="module")
def ask(library):
    return lambda question, **filters: route(question, context(library, Filters(**filters)))


def parts(routed):
    """The quotes under each heading."""
    found = {}
    for block in routed.blocks:
        if block.kind == "heading":
            found[block.text] = []
        else:
            found.setdefault(next(reversed(found), ""), []).append(block.text)
    return found


def test_a_summary_has_the_method_data_results_and_limits(ask):
    routed = ask("Please summarize the BeeNet paper")
    assert parts(routed) == {
        "Method": ["We propose BeeNet, a model that reads the angle of each dance."],
        "Data": ["We trained on a data set of 4,000 films of dances from two hives in one summer."],
        "Results": ["BeeNet outperforms the best earlier model by 12.5% on two hives."],
        "Limits": ["The model has seen the dances of one species of bees in one summer only."],
    }
    assert routed.confidence == "high"
    assert routed.for_llm
    assert {hit.chunk.page_start for hit in routed.hits} == {1, 2}


def test_each_line_is_cited_with_its_words(ask, library):
    for block in ask("What is BeeNet about?").blocks:
        for cited in block.citations:
            page = library.contents(1).page(cited.page)
            assert (
                library.contents(1).text(cited.page)[cited.start - page.start : cited.end - page.start] == cited.quote
            )


@pytest.mark.parametrize(
    ("question", "quotes"),
    [
        (
            "What are the main contributions of BeeNet?",
            [
                "We propose BeeNet, a model that reads the angle of each dance.",
                "Our contributions are as follows:",
                "• We introduce a model that reads the angle of a dance.",
                "• We show that two hives are enough to train this model.",
            ],
        ),
        ("limitations of the BeeNet paper according to its authors", [
            "The model has seen the dances of one species of bees in one summer only."]),
        ("So what's BeeNet?", ["We propose BeeNet, a model that reads the angle of each dance."]),
    ],
)  # fmt: skip
def test_one_thing_can_be_asked_for(ask, question, quotes):
    assert [block.text for block in ask(question).blocks] == quotes


@pytest.mark.parametrize(
    "question",
    [
        "What is the difference between BeeNet and Honey against coughs?", "Compare BeeNet with Honey against coughs.",
        "How do BeeNet and Honey against coughs differ?", "BeeNet vs. Honey against coughs",
    ],
)  # fmt: skip
def test_papers_that_are_compared_as_a_whole_are_summarised_side_by_side(ask, question):
    routed = ask(question)
    assert (routed.route, routed.confidence, routed.for_llm) == ("comparison", "medium", True)
    headings = [block.text for block in routed.blocks if block.kind == "heading"]
    assert headings == ["BeeNet: A Model of Dances", "Honey against coughs: a trial"]


@pytest.mark.parametrize(
    "question",
    [
        "Summarize these papers", "Summarise both papers, please", "Can you summarize them?",
        "Give me an overview of the two papers.", "What are the main findings of these papers?",
        "What do these two articles show?",
    ],
)  # fmt: skip
def test_these_papers_are_those_that_the_question_is_kept_to(ask, question):
    routed = ask(question, papers=("bees.pdf", "trial.pdf"))
    assert routed.route == "summary"
    headings = [block.text for block in routed.blocks if block.kind == "heading"]
    assert headings == ["BeeNet: A Model of Dances", "Honey against coughs: a trial"]


def test_more_papers_than_a_summary_has_room_for_are_grouped(tmp_path):
    papers = {f"{number}.pdf": (f"Number {number} of many", BEES) for number in range(7)}
    with make_library(tmp_path, papers) as library:
        assert route("Summarize these papers", context(library, Filters())).route == "library"
        assert route("Summarize these papers", context(library, Filters(papers=("1.pdf", "2.pdf")))) is not None


@pytest.mark.parametrize(
    "question",
    [
        "What is dropout about?", "What do these papers say about bees?", "What is BeeNet-Large?",
        "What are the results of BeeNet on two hives?", "Summarize how bees dance", "What is the limit of honey?",
        "What does BeeNet predict about bees?",
    ],
)  # fmt: skip
def test_other_questions_are_searched_for(ask, question):
    assert ask(question) is None


def test_how_sure_a_definition_is_depends_on_whether_it_names_the_work(ask, tmp_path):
    said = "We propose a model that reads the angle of every dance in a hive."
    unnamed = [
        (1, "abstract", said),
        (1, "heading", "1 Ants", 1),
        (1, "text", "AntNet walks in summer, and AntNet rests."),
    ]
    with make_library(tmp_path, {"ants.pdf": ("AntNet: Steps of Ants", unnamed)}) as library:
        assert route("What is AntNet?", context(library)).confidence == "medium"
    assert ask("What is BeeNet?").confidence == "high"


@pytest.mark.parametrize(
    ("limits", "confidence"),
    [
        ("The hall was warm all year.", None),
        ("Our model cannot count the ants that sleep below the leaves.", "medium"),
        (
            "However, our model is limited to ants that walk. We leave others to future work, as data is missing.",
            "high",
        ),
    ],
)
def test_limits_are_sure_where_two_sentences_say_them(tmp_path, limits, confidence):
    parts = [
        (1, "abstract", "We propose AntNet, which counts ants."),
        (1, "heading", "5 Limitations", 1),
        (1, "text", limits),
    ]
    with make_library(tmp_path, {"ants.pdf": ("AntNet: Steps of Ants", parts)}) as library:
        found = route("What are the limitations of AntNet?", context(library))
    assert (found and found.confidence) == confidence
