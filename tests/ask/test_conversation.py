"""What a turn of a conversation means, by the turns before it, over a small real library."""

import pytest

from ragscience.ask.conversation import asked_last, state_after, understand
from ragscience.ask.decomposition import in_its_papers, parts_of
from ragscience.core.records import Turn
from ragscience.library.store import Home, Library
from ragscience.models.question_parts import QuestionParts
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


AND_KILN = Turn("and KTR?", f"Cheap ({KILN}, p.1).")
BEFORE = ABOUT_TIDE.question


@pytest.mark.parametrize(
    ("turns", "question", "searched", "files"),
    [
        ([], "how does it work?", "how does it work?", ()),
        ([], "hello", "hello", ()),
        ([ABOUT_TIDE], "thanks a lot!", "thanks a lot!", ()),
        ([ABOUT_TIDE], "ok thanks, is it fast?", f"{BEFORE} → is it fast?", (TIDE,)),
        ([ABOUT_TIDE], "fine-tuning data?", f"{BEFORE} → fine-tuning data?", (TIDE,)),
        ([ABOUT_TIDE], "how many layers does it have?", f"{BEFORE} → how many layers does it have?", (TIDE,)),
        ([ABOUT_TIDE, AND_KILN], "is it fast?", f"{BEFORE} → and KTR? → is it fast?", (KILN,)),
        ([ABOUT_TIDE, AND_KILN], "back to TideNet: how many layers?",
         f"{BEFORE} → and KTR? → back to TideNet: how many layers?", (TIDE,)),
        ([ABOUT_TIDE, Turn("thanks", "Ask me."), Turn("why?", f"So ({TIDE}, p.1).")], "and then?",
         f"{BEFORE} → why? → and then?", (TIDE,)),
        ([ABOUT_BOTH], "when was the second one published?",
         "Which papers use sensors? → when was the second one published?", (KILN,)),
        ([ABOUT_BOTH], "who made them?", "Which papers use sensors? → who made them?", (TIDE, KILN)),
    ],
)  # fmt: skip
def test_the_first_reading_of_a_turn(names, turns, question, searched, files):
    reading = understand(question, turns, names)[0]
    assert (" ".join(reading.searched.split()), reading.files) == (searched, files)


def test_a_turn_is_also_read_as_it_stands_in_the_paper_in_focus_and_in_all(names):
    assert [
        (" ".join(each.searched.split()), each.files)
        for each in understand("what does it read at night?", [ABOUT_TIDE], names)
    ] == [
        (f"{BEFORE} → what does it read at night?", (TIDE,)),
        ("what does it read at night?", (TIDE,)),
        ("what does it read at night?", ()),
    ]
    (only,) = understand("and base?", [ABOUT_TIDE], names)
    assert (only.before, only.files) == ((BEFORE,), (TIDE,))


def test_a_pronoun_beside_a_name_is_the_paper_in_focus(names):
    texts = [each.text for each in understand("how is that different from KTR?", [ABOUT_TIDE], names)]
    assert "how is TideNet different from KTR?" in texts


def test_the_library_is_asked_about_all_papers_only_by_who_says_so(names):
    asked = {turn: understand(turn, [ABOUT_TIDE], names)[-1].is_only_searched for turn in
             ("and how many wide rivers?", "how many papers are there in the library?", "and KTR?",
              "what else is in this folder on tides?", "anything else in here on tides?", "what do I have on tides?",
              "how many rivers does it have here?")}  # fmt: skip
    assert asked == {
        "and how many wide rivers?": True,
        "how many papers are there in the library?": False,
        "and KTR?": False,
        "what else is in this folder on tides?": False,
        "anything else in here on tides?": False,
        "what do I have on tides?": False,
        "how many rivers does it have here?": True,
    }


def test_a_name_is_asked_about_in_its_paper(names):
    readings = understand("and KTR?", [ABOUT_TIDE], names)
    asked = [(" ".join(each.searched.split()), each.files) for each in readings]
    assert asked == [(f"{BEFORE} → and KTR?", (KILN,)), ("and KTR?", ())]


def test_only_the_last_question_is_the_one_that_is_asked(names):
    assert asked_last(understand("is A → B fast?", [ABOUT_TIDE], names)[0].searched) == "is A → B fast?"
    assert asked_last("is A → B fast?") == "is A → B fast?"


def test_the_focus_follows_names_answers_and_what_a_person_says(names):
    assert state_after([ABOUT_TIDE], names).focus == (TIDE,)
    assert state_after([ABOUT_TIDE, Turn("how many?", f"Two ({TIDE}, p.1).")], names).focus == (TIDE,)
    assert state_after([ABOUT_TIDE, Turn("what is dimmed?", f"A lamp ({STAGE}, p.1).")], names).focus == (STAGE,)
    assert state_after([ABOUT_BOTH], names).focus == ()
    assert state_after([ABOUT_BOTH], names).listed == (TIDE, KILN)
    assert understand("is it fast?", [ABOUT_TIDE], names, [KILN])[0].files == (KILN,)
    assert understand("is it fast?", [ABOUT_TIDE], names, ())[0].files == ()


@pytest.mark.parametrize(
    ("question", "papers"),
    [
        ("what does TideNet read by day, and what does Lantern dim at night?", [(TIDE,), (STAGE,)]),
        ("error of TideNet on harbours versus KTR on kilns", [(TIDE,), (KILN,)]),
        ("how many waves does TideNet read, and how long was it trained?", [(TIDE,), (TIDE,)]),
        ("how old is the pier, and who owns the boats?", [(), ()]),
        ("how is TideNet different from KTR?", [(TIDE,), (KILN,)]),
        ("what does TideNet read?", []),
    ],
)
def test_each_part_of_a_question_is_looked_for_in_its_own_paper(names, model_cache, question, papers):
    split = QuestionParts(cache_folder=model_cache, on_warning=pytest.fail)
    assert [part.papers for part in parts_of(question, names, split)] == papers


def test_a_query_is_for_the_papers_that_it_names(names):
    assert [each.papers for each in in_its_papers("waves of TideNet", names)] == [(TIDE,)]
    assert [each.papers for each in in_its_papers("waves", names)] == [()]
    sides = in_its_papers("error: TideNet vs KTR", names)
    assert [(each.text, each.papers) for each in sides] == [("error: TideNet vs", (TIDE,)), ("error: vs KTR", (KILN,))]
