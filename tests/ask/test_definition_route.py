"""What something is: by the paper that is named after it, else by any sentence that says so."""

import pytest

from ragscience.ask.definition_route import answer
from ragscience.ask.router import RouteContext, route
from ragscience.core.records import Filters, Found
from tests.ask.paper_library import context, make_library

BEES = [
    (1, "title", "BeeNet: A Model of Dances"),
    (1, "heading", "Abstract", 1),
    (
        1,
        "abstract",
        "Predicting where bees fly is a challenging problem for farmers. "
        "We propose BeeNet, a model that reads the angle of each dance. "
        "In BeeNet, the queen is of no importance to the angle of a dance.",
    ),
    (1, "heading", "1 Introduction", 1),
    (1, "text", "Bees have danced for a long time. The next section introduces BeeNet in all of its many details."),
    (
        2,
        "text",
        "A waggle dance on a comb is a figure of eight that tells where the food is. "
        "Waggle dances are counted by hand. In rain many bees lose their way by some degrees. "
        "We refer to this loss of direction as dance drift, and measure it in degrees.",
    ),
    (2, "heading", "3 Robbing", 1),
    (2, "text", "Robbing bees do not dance" + " and fly" * 65 + ". Nobody knows why they would not dance at all."),
]
HIVES = [
    (1, "title", "Hives in winter"),
    (1, "text", "We use brood frames, a kind of shelf on which young bees grow, in each of the nine hives."),
    (1, "text", "The waggle dance, also called wag-tail run, is the process by which bees tell each other of food."),
    (2, "heading", "2.1 Robbing mechanism", 2),
    (2, "text", "Hungry bees of one hive take food out of another one. It ends when the entrance is made small."),
    (2, "text", "Robbing is worst in autumn, and weak hives suffer most of all from what the others take."),
    (2, "heading", "3 Rules", 1),
    (2, "text", "We define nurse bees as bees that feed the brood. Many of them are young."),
    (
        2,
        "text",
        "Here we use the term dead zone to refer to a frame without bees. "
        "Smoke allows a keeper to open a hive without being stung.",
    ),
    (2, "text", "To call the night guard for the hive we ring a bell. A trained bee costs more than a wild one does."),
]


COMBS = [
    (1, "title", "CombSim: Combs by simulation"),
    (1, "heading", "Abstract", 1),
    (
        1,
        "abstract",
        "In this paper, we let simulated bees build combs from wax. "
        "Each bee follows three rules and sees nothing but the cells beside it. "
        "The result is called CombSim, and runs on any machine.",
    ),
    (1, "heading", "1 Introduction", 1),
    (1, "text", "Combs have been drawn by hand for many years. That takes a long time."),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    papers = {"bees.pdf": ("BeeNet: A Model of Dances", BEES), "hives.pdf": ("Hives in winter", HIVES)}
    papers["combs.pdf"] = ("CombSim: Combs by simulation", COMBS)
    with make_library(tmp_path_factory.mktemp("home"), papers) as library:
        yield library


@pytest.fixture(scope="module")
def ask(library):
    return lambda question, **filters: answer(question, context(library, Filters(**filters)))


@pytest.mark.parametrize(
    "question",
    ["What is BeeNet?", "what's beenet", "What is the BeeNet model?", "Explain BeeNet.", "define BeeNet"],
)
def test_what_a_paper_names_itself_after_is_what_it_says(ask, question):
    routed = ask(question)
    assert [block.text for block in routed.blocks] == ["We propose BeeNet, a model that reads the angle of each dance."]
    assert (routed.route, routed.confidence, routed.for_llm) == ("definition", "high", True)
    assert [(one.file, one.page) for one in routed.blocks[0].citations] == [("bees.pdf", 1)]


@pytest.mark.parametrize(
    ("question", "begins", "confidence"),
    [
        (
            "What is a waggle dance?",
            ["A waggle dance on a comb is a figure", "The waggle dance, also called wag-tail run, is the process"],
            "high",
        ),
        ("What are waggle dances?", ["A waggle dance on a comb", "The waggle dance, also called"], "high"),
        # It only names what the sentence before it tells.
        ("what does dance drift mean", ["In rain many bees lose their way by some degrees. We refer to this"], "high"),
        ("What is a nurse bee?", ["We define nurse bees as bees that feed the brood"], "high"),
        ("What is a dead zone?", ["Here we use the term dead zone to refer to a frame"], "high"),
        ("What is smoke?", ["Smoke allows a keeper to open a hive"], "high"),
        ("define wag-tail run", ["The waggle dance, also called wag-tail run"], "high"),
        ("What is a brood frame?", ["We use brood frames, a kind of shelf"], "medium"),
    ],
)
def test_any_other_thing_is_what_a_sentence_says_it_is(ask, question, begins, confidence):
    routed = ask(question)
    assert [text.text[: len(begin)] for text, begin in zip(routed.blocks, begins, strict=True)] == begins
    assert routed.confidence == confidence
    for block in routed.blocks:
        assert all(one.end - one.start == len(one.quote) for one in block.citations)


@pytest.fixture
def asked(library):
    """What is asked for with a search that finds nothing, and what was searched for."""
    searched = []

    def search(question, filters):
        searched.append((question, filters.paper_ids))
        return Found(question, "default", ())

    return lambda question: (answer(question, RouteContext(library, search, Filters())), searched)


@pytest.mark.parametrize("question", ["What is robbing?", "How does robbing work?", "Explain how the robbing works."])
def test_what_no_sentence_defines_is_how_the_section_of_that_name_begins(asked, question):
    routed, searched = asked(question)
    assert searched == [(question, (1, 2))]  # for a model to answer from
    long, block = routed.blocks
    assert (long.lead, block.lead) == ("3 Robbing", "2.1 Robbing mechanism")
    assert long.text.startswith("Robbing bees do not dance and fly")
    assert long.text.endswith("and fly.")  # the first sentence is whole
    assert block.text.startswith("Hungry bees of one hive take food out of another one. It ends")
    assert block.text.endswith("what the others take.")
    assert routed.confidence == "medium"
    assert {(one.file, one.page) for one in block.citations} == {("hives.pdf", 2)}
    assert [hit.rank for hit in routed.hits] == [1, 2]
    assert "Hungry bees" in routed.hits[1].chunk.text


@pytest.mark.parametrize("question", ["How does CombSim work?", "explain how the combsim model works"])
def test_how_the_work_of_a_paper_works_is_its_abstract_from_where_it_says_so(asked, question):
    routed, searched = asked(question)
    assert [block.text for block in routed.blocks] == [
        "In this paper, we let simulated bees build combs from wax. "
        "Each bee follows three rules and sees nothing but the cells beside it. "
        "The result is called CombSim, and runs on any machine."
    ]
    assert {(one.file, one.page) for one in routed.blocks[0].citations} == {("combs.pdf", 1)}
    assert (routed.confidence, routed.for_llm, searched) == ("medium", True, [(question, (3,))])


def test_a_paper_that_only_introduces_its_name_is_asked_what_it_does(library):
    routed = answer("What is CombSim?", context(library, Filters()))
    assert [block.text for block in routed.blocks] == [
        "The result is called CombSim, and runs on any machine.",
        "In this paper, we let simulated bees build combs from wax.",
        "Each bee follows three rules and sees nothing but the cells beside it.",
    ]
    assert routed.confidence == "medium"


@pytest.mark.parametrize(
    "question",
    [
        "What is a night guard?",  # "call the night guard" names nothing
        "What is a trained bee?",
        "What is a hive?",
        "What is BeeNet trained on?",
        "What is the angle of a waggle dance?",
        "What is the difference between a hive and a comb?",
        "What is a unicorn?",
        "Which dance is longest?",
    ],
)
def test_what_no_sentence_defines_is_searched_for(ask, question):
    assert ask(question) is None


def test_filters_hold(ask):
    routed = ask("What is a waggle dance?", papers=("hives*",))
    assert [block.citations[0].file for block in routed.blocks] == ["hives.pdf"]


def test_the_router_asks_it(library):
    assert route("What is a waggle dance?", context(library, Filters())).route == "definition"
