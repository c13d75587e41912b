"""What a turn of a conversation means, by the turns before it, over a small real library."""

import pytest

from ragscience.ask.conversation import state_after, understand
from ragscience.ask.sides import in_its_papers, sides
from ragscience.core.records import Turn
from ragscience.library.store import Home, Library
from ragscience.search.names import PaperNames
from tests.search.library_of_papers import add_paper

TIDE, KILN, STAGE = "tide_2101.00001.pdf", "kiln.pdf", "stage.pdf"
ABOUT_TIDE = Turn("Which optimizer does TideNet use?", f"It uses a simple one ({TIDE}, p.1).")
ABOUT_BOTH = Turn("Which papers use sensors?", f"- Predicting Tides ({TIDE}, p.1)\n- Kiln ({KILN}, p.2)")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    with Library.open_for_writing(home) as library:
        add_paper(library, TIDE, "Predicting Tides from Harbours",
                  ["We introduce TideNet, a network for tides. TideNet reads water.", "TideNet was trained with waves.",
                   "The optimizer of TideNet is simple."],
                  authors=("Ada Moreau", "Bo Lind"), year=2021)  # fmt: skip
        add_paper(library, KILN, "KTR: Kiln Temperature Regression for Potters",
                  ["We propose Kiln Temperature Regression (KTR), a method.", "KTR has sensors.", "KTR is cheap.",
                   "It beats LampNet (Moreau and Lind, 2021), and LampNet (Moreau and Lind, 2021) again."],
                  authors=("Carl Xu", "Dee Fox", "Eve Gray"), year=2019)  # fmt: skip
        add_paper(
            library,
            STAGE,
            "Light on the Stage",
            ["We present Lantern, a system for lights.", "Lantern dims.", "In Lantern, a lamp is a node."],
        )
        library.refresh_indexes()
    with Library.open(home) as library:
        yield PaperNames.of(library)


@pytest.mark.parametrize(
    ("turns", "question", "kind", "text", "files"),
    [
        ([], "how does it work?", "new", "how does it work?", ()),
        ([], "hello", "small talk", "hello", ()),
        ([ABOUT_TIDE], "thanks a lot!", "small talk", "thanks a lot!", ()),
        ([ABOUT_TIDE], "great, that was what I needed", "small talk", "great, that was what I needed", ()),
        ([ABOUT_TIDE], "ok, what was it?", "follow-up", "what was TideNet?", (TIDE,)),
        ([ABOUT_TIDE], "how many layers does it have?", "follow-up", "how many layers does TideNet have?", (TIDE,)),
        ([ABOUT_TIDE], "what are its limits", "follow-up", "what are TideNet's limits", (TIDE,)),
        ([ABOUT_TIDE], "who are the authors?", "follow-up", "who are the authors?", (TIDE,)),
        ([ABOUT_TIDE], "who wrote that", "follow-up", "who wrote TideNet", (TIDE,)),
        ([ABOUT_TIDE], "any limits?", "follow-up", "any limits?", (TIDE,)),
        ([ABOUT_TIDE], "which papers use sensors?", "new", "which papers use sensors?", ()),
        ([ABOUT_TIDE, Turn("and KTR?", f"Cheap ({KILN}, p.1).")], "back to TideNet: how many layers?",
         "new", "How many layers?", (TIDE,)),
        ([ABOUT_TIDE], "and KTR, what optimizer does that one need?", "new", "What optimizer does KTR need?", (KILN,)),
        ([ABOUT_TIDE], "summarise that paper", "follow-up", "summarise the TideNet paper", (TIDE,)),
        ([ABOUT_TIDE], "and KTR?", "follow-up", "Which optimizer does KTR use?", (KILN,)),
        ([ABOUT_TIDE], "what about Lantern", "follow-up", "Which optimizer does Lantern use?", (STAGE,)),
        ([ABOUT_TIDE], "no, I meant KTR", "correction", "Which optimizer does KTR use?", (KILN,)),
        ([ABOUT_TIDE], "ok and what does Lantern dim?", "new", "What does Lantern dim?", ()),
        ([ABOUT_TIDE], "What is a kiln made of?", "new", "What is a kiln made of?", ()),
        ([ABOUT_TIDE], "Where does the heat that KTR needs come from?", "new",
         "Where does the heat that KTR needs come from?", ()),
        ([ABOUT_TIDE], "why?", "follow-up", "Why? Which optimizer does TideNet use?", (TIDE,)),
        ([ABOUT_TIDE], "why not a faster one?", "follow-up", "Why not a faster one? Which optimizer does TideNet use?",
         (TIDE,)),
        ([Turn("Who wrote TideNet?", f"Ada ({TIDE}, p.1).")], "and when?", "follow-up", "When? Who wrote TideNet?",
         (TIDE,)),
        ([ABOUT_TIDE], "how is that different from KTR?", "follow-up", "how is TideNet different from KTR?", ()),
        ([ABOUT_TIDE], "How long did it take to fire KTR?", "new", "How long did it take to fire KTR?", ()),
        ([ABOUT_BOTH], "when was the second one published?", "follow-up", "when was KTR published?", (KILN,)),
        ([ABOUT_TIDE, Turn("and KTR?", f"Cheap ({KILN}, p.1).")], "is it fast?", "follow-up", "is KTR fast?", (KILN,)),
        ([Turn("Which error has TideNet on harbours?", f"Low ({TIDE}, p.1).")], "and on rivers?", "follow-up",
         "Which error has TideNet on harbours on rivers?", (TIDE,)),
    ],
)  # fmt: skip
def test_the_likeliest_reading_of_a_turn(names, turns, question, kind, text, files):
    understood = understand(question, turns, names)
    assert (understood.kind, understood.readings[0].text, understood.readings[0].files) == (kind, text, files)


def test_a_fragment_that_says_enough_is_a_question_of_its_own(names):
    turn = "and the largest model's number of layers?"
    readings = understand(turn, [Turn("Which of the waves does TideNet use?", f"A few ({TIDE}, p.1).")], names).readings
    assert max(readings, key=lambda one: one.prior).text == "the largest model's number of layers?"


def test_a_fragment_is_asked_by_itself_and_together_with_the_last_question(names):
    last = Turn("How does TideNet 7B do on HarbourQA?", f"Well ({TIDE}, p.1).")
    alone, both, plain = understand("what about RiverBench?", [last], names).readings
    assert (alone.text, alone.files) == ("RiverBench?", (TIDE,))
    assert (both.text, both.files) == ("How does TideNet 7B do on HarbourQA? RiverBench?", (TIDE,))
    assert (plain.text, plain.files) == ("what about RiverBench?", ())


def test_a_whole_question_after_a_fragment_is_left_alone(names):
    turns = [
        Turn("How long is a layer of TideNet?", f"Long ({TIDE}, p.1)."),
        Turn("And the waves?", f"Short ({TIDE}, p.1)."),
    ]
    assert understand("How long is a chunk?", turns, names).readings[0].text == "How long is a chunk?"


def test_the_focus_follows_names_answers_and_what_a_person_says(names):
    assert [paper.file for paper in state_after([ABOUT_TIDE], names).focus] == [TIDE]
    assert state_after([ABOUT_BOTH], names).focus == ()
    both = Turn("how is that different from KTR?", f"Cheap ({STAGE}, p.1).")
    assert [paper.file for paper in state_after([ABOUT_TIDE, both], names).focus] == [TIDE, KILN]
    assert understand("is it fast?", [ABOUT_TIDE, both], names).readings[0].text == "is TideNet fast?"
    assert [paper.file for paper in state_after([ABOUT_BOTH], names).listed] == [TIDE, KILN]
    assert understand("is it fast?", [ABOUT_TIDE], names, [KILN]).readings[0].text == "is KTR fast?"
    assert understand("is it fast?", [ABOUT_TIDE], names, ()).kind == "new"


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Do TideNet and KTR need sensors?", {TIDE: "Do TideNet need sensors?", KILN: "Do KTR need sensors?"}),
        ("What does TideNet read by day, and what does Lantern dim at night?",
         {TIDE: "What does TideNet read by day?", STAGE: "What does Lantern dim at night?"}),
        ("How many waves does TideNet read and how many KTR?",
         {TIDE: "How many waves does TideNet read?", KILN: "How many waves does KTR read?"}),
        ("best error of TideNet on harbours versus KTR on kilns",
         {TIDE: "Best error of TideNet on harbours?", KILN: "Best error of KTR on kilns?"}),
        ("In which harbours is TideNet used, and in which kilns is KTR tested with heat?",
         {TIDE: "In which harbours is TideNet used?", KILN: "In which kilns is KTR tested with heat?"}),
        ("step size: small TideNet vs. the KTR-2 sensor", {TIDE: "Step size: small TideNet?",
                                                          KILN: "Step size: the KTR-2 sensor?"}),
        ("What does TideNet read?", {}),
    ],
)  # fmt: skip
def test_each_paper_of_a_comparison_has_its_own_question(names, question, parts):
    assert {each.papers[0]: each.text for each in sides(question, names)} == parts


def test_a_query_is_for_the_papers_that_it_names(names):
    assert [each.papers for each in in_its_papers("waves of TideNet", names)] == [(TIDE,)]
    assert [each.papers for each in in_its_papers("waves", names)] == [()]
