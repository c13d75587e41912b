"""Which papers use or mention something, or are about it."""

import pytest

from ragscience.ask import mentions_route
from ragscience.ask.phrase_search import Phrase
from ragscience.ask.router import route
from ragscience.ask.slots import slots_of
from ragscience.core.records import Filters
from ragscience.core.settings import load_settings
from ragscience.engine import AskRequest, Engine
from tests.ask.paper_library import context
from tests.pdf_factory import make_pdf


def test_who_uses_it_is_said_in_the_papers_words(ask):
    intro, *items = ask("Which papers use honey traps?").split("\n")
    assert intro == "3 papers have “honey traps” in the text."
    assert "2 times: “We used honey traps" in items[0]
    assert any("1 time: “We do not use honey traps" in item for item in items)
    assert any("1 time: “Earlier work on honey traps" in item for item in items)


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
    assert said.startswith("1 paper cites “Warm Hives in Cold Winters”.\nWaggle (2016): “B. Lind. Warm hives")


def test_a_work_that_the_library_lacks_is_found_by_its_rare_words_in_an_entry(ask):
    said = ask("Which papers cite Adam (Bees)?")
    assert said.startswith("1 paper cites “Adam (Bees)”.\nWaggle (2016): “")
    assert "Adam Moor. Bees. 1999.”" in said
    bees = ask("Which papers cite the work on bees, the one by Adam Moor and friends?")
    assert bees.endswith("Adam Moor. Bees. 1999.”")
    assert "Warm hives in cold" in ask("who cites the paper on warm hives by Lind and others?")
    nearest = ask("Which papers cite Adam (Wasps)?")
    assert nearest.startswith("1 paper cites what comes nearest to “Adam (Wasps)”; “Wasps” is in no entry.")
    assert ask("Which papers cite Wasps?") == "I found “Wasps” in the references of no other paper."


def test_the_year_of_a_citing_paper_is_asked_for(ask):
    assert ask("Which papers from 2016 cite Adam (Bees)?").startswith("1 paper cites “Adam (Bees)”.")
    assert ask("Which papers cite Adam (Bees, 1999)?").endswith("Adam Moor. Bees. 1999.”")
    assert ask("Which papers from 2018 cite Adam (Bees)?").startswith("I found “Adam (Bees)” in the references of no")


def test_an_acronym_counts_with_what_it_stands_for(ask):
    said = ask("Which papers mention a queen excluding gate?")
    assert said.startswith("2 papers have “queen excluding gate” (also as “QEG”) in the text")


def test_a_name_is_found_by_its_plural_in_a_description_and_with_its_marks(ask):
    assert ask("Which papers mention QEGs?").startswith("2 papers have “QEG")
    assert ask("who used QEGs instead of Walls?").startswith("2 papers have “QEG")
    assert Phrase("C++").in_text("in C++, not in C") == [(3, 6)]


def test_of_words_that_no_text_has_together_the_rarest_are_looked_for(ask):
    assert ask("Which papers mention cheap honey traps?").startswith("3 papers have “honey traps”")


def test_a_long_name_is_not_looked_for_in_all_its_parts(ask, monkeypatch):
    looked = []
    find = mentions_route.find_phrases
    monkeypatch.setattr(mentions_route, "find_phrases", lambda *given: looked.append(given[0]) or find(*given))
    ask(f"Which papers mention {' '.join(f'wasp{number}' for number in range(80))}?")
    assert 1 <= len(looked) <= 12


def test_conditions_and_filters_narrow_it(ask):
    assert ask("Which papers from 2016 mention honey traps?").startswith("1 paper has")
    assert ask("Which papers mention honey traps?", Filters(papers=("sleep",))).startswith("1 paper has")


@pytest.mark.parametrize(
    "question",
    [
        "is pollen mentioned anywhere?", "in which papers does pollen occur?", "Where is pollen mentioned?",
        "papers about pollen", "who mentions pollen?", "do I have anything on pollen?", "list all mentions of pollen",
        "how often is pollen mentioned?", "How many papers mention pollen?",
        "Are there any papers that talk about pollen?",
    ],
)  # fmt: skip
def test_ways_to_ask(ask, question):
    assert ask(question).startswith("1 paper has “pollen” in the text")


def test_one_or_the_other_is_enough(ask):
    intro, *items = ask("Which papers mention honey traps or pollen?").split("\n")
    assert intro == "4 papers have “honey traps” or “pollen” in the text."
    assert len(items) == 4


@pytest.mark.parametrize(("question", "files"), [
    ("do I have papers on dances or cold winters?", ["hives.pdf", "waggle.pdf"]),
    ("any papers about dances?", ["waggle.pdf"]),
    ("got any cold winter articles", ["hives.pdf"]),
])  # fmt: skip
def test_papers_on_a_subject_are_those_that_have_it_in_the_title(ask, question, files):
    intro, *items = ask(question).split("\n")
    assert intro.endswith("by title, abstract or meaning; others may touch on it.")
    assert sorted(item.rsplit(" · ", 1)[1] for item in items) == files


def test_a_large_library_is_cut_and_says_so(bees, monkeypatch):
    monkeypatch.setattr("ragscience.ask.library_route.MOST_SHOWN", 1)
    monkeypatch.setattr("ragscience.ask.phrase_search.MOST_PASSAGES", 2)
    routed = route("Which papers mention honey traps?", context(bees))
    texts = [block.text for block in routed.blocks]
    assert texts[0].startswith("At least 2 papers have")
    assert texts[-1] == "And 1 more."


def test_in_an_author_means_in_the_paper_and_by_an_author_does_not(bees):
    for question, files, authors in (
        ("show me Table 1 in Moor", ["sleep_2018.pdf"], ()),
        ("papers by Moor", [], ("Moor",)),
    ):
        slots = slots_of(question, context(bees))
        assert ([paper.file for paper in slots.papers], slots.conditions.authors) == (files, authors)


def test_what_a_question_is_about_is_read_as_one_name(ask):
    assert "written by Ana María Ruiz" in ask("who wrote the piece on distances that dances tell?")
    assert "written by Cy Moor" in ask("where does Moor work?")
    for question in ("where are warm hives in cold winters cited", "papers that reference Lind: warm hives in winters"):
        assert ask(question).startswith("1 paper cites “Warm Hives in Cold Winters”.")


SUBJECTS = {
    "bread": "Sourdough for Beginners\n\nWe knead flour and water, let the dough rise, and put it in the oven.",
    "bees": "Dances of the Hive\n\nHoneybees dance to tell each other where flowers with nectar are.",
    "tides": "Predicting High Water\n\nThe moon moves the sea; harbours need to know when the tide is high.",
    "chess": "Openings of Grandmasters\n\nThe queen's gambit gives a pawn for the centre of the board.",
    "magma": "Eruptions of Etna\n\nMagma rises below the volcano, and lava flows down its side.",
    "loans": "Interest and Inflation\n\nBanks lend money at a rate that follows the prices of goods.",
}


@pytest.fixture(scope="module")
def ask_subjects(tmp_path_factory):
    home = tmp_path_factory.mktemp("subjects")
    for name, text in SUBJECTS.items():
        make_pdf(home / "papers" / f"{name}.pdf", [text])
    settings = load_settings(home=home, offline=True, embedder="embedded", answerer="extractive")
    with Engine.open(home, settings) as engine:
        engine.ingest.add([home / "papers"])
        yield lambda question: engine.ask(AskRequest(question))


@pytest.mark.parametrize(("question", "papers"), [
    ("which papers are about baking?", ["bread"]),
    ("papers on insects", ["bees"]),
    ("do I have papers about the ocean or volcanoes?", ["magma", "tides"]),
])  # fmt: skip
def test_papers_on_a_subject_are_near_it_though_none_has_its_words(ask_subjects, question, papers):
    answer = ask_subjects(question)
    assert sorted(name for name in SUBJECTS if f"{name}.pdf" in answer.text) == papers


@pytest.mark.parametrize("subject", ["kidney failure", "graph neural networks"])
def test_no_paper_is_on_a_subject_that_none_is_near(ask_subjects, subject):
    assert "by title, abstract or meaning" not in ask_subjects(f"papers about {subject}").text


def test_passages_come_before_a_kind_that_is_not_sure(ask_subjects, monkeypatch):
    monkeypatch.setattr("ragscience.engine.asking.SURE", 1.1)
    for least, taken in ((0.0, "passages"), (1.1, "papers")):
        monkeypatch.setattr("ragscience.engine.asking.LOW", least)
        assert ask_subjects("papers on insects").route == taken
