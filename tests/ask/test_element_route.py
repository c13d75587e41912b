"""A table, figure, equation or section of a paper, whole, or what there is instead."""

import pytest

from ragscience.ask.answer_blocks import as_text
from ragscience.ask.router import route
from ragscience.core.records import Filters
from tests.ask.paper_library import context, make_library

TABLE = "| Hive | Dances | Flights |\n|---|---|---|\n" + "\n".join(
    f"| {name} | {n} | {2 * n} |"
    for n, name in enumerate(("Apis", "Bombus", "Osmia", "Vespa", "Xylocopa", "Megachile"), 1)
)
REST = "| Hive | Dances | Flights |\n|---|---|---|\n| Halictus | 7 | 14 |"
BEES = [
    (1, "title", "Bees dance"),
    (1, "heading", "Abstract", 1),
    (1, "abstract", "We watch bees. They dance."),
    (1, "heading", "1 Introduction", 1),
    (
        1,
        "text",
        "Bees are old. The dance is shown in Figure 1 and counted in Table 2, and it tells the way to the mini",
    ),
    (2, "text", "mal distance. Flowers wait."),
    (2, "caption", "Figure 1: A bee that dances."),
    (2, "figure", "0 10 20"),
    (2, "heading", "2 Counts", 1),
    (2, "text", "The angle follows from the sun as:"),
    (2, "equation", "a = s + d (1)"),
    (2, "text", "where s is the sun and d the way. More follows."),
    (2, "heading", "2.1 Hives", 2),
    (2, "caption", "Table 2: Dances of each hive."),
    (2, "table", TABLE),
    (3, "table", REST),
    (3, "text", "Table 2 has seven hives in all, and they differ."),
    (3, "heading", "3 Long", 1),
    *((3, "text", f"Sentence {n} begins it. " + "Then there is much more to say about bees. " * 8) for n in range(12)),
    (4, "heading", "4 Conclusions", 1),
    (4, "text", "Bees dance well."),
]
ANTS = [
    (1, "title", "Ants walk"),
    (1, "text", "Nothing is said."),
    (1, "caption", "Table 2. Steps of ants."),
    (1, "table", "| a | b |\n|---|---|\n| 1 | 2 |"),
]


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    papers = {"bees.pdf": ("Bees dance: a study of hives", BEES), "ants.pdf": ("Ants walk", ANTS)}
    with make_library(tmp_path_factory.mktemp("home"), papers) as library:
        yield lambda question, **filters: route(question, context(library, Filters(**filters)))


def of_kind(routed, kind):
    return [block for block in routed.blocks if block.kind == kind]


def test_a_table_comes_whole_with_its_caption_and_its_rest_on_the_next_page(ask):
    routed = ask("What does Table 2 in the Bees dance paper report?")
    (table,) = of_kind(routed, "table")
    assert table.lead == "Table 2: Dances of each hive."
    assert table.text == f"{TABLE}\n| Halictus | 7 | 14 |"
    assert [citation.page for citation in table.citations] == [2, 2, 3]
    assert routed.confidence == "high"
    assert "Table 2 has seven hives" in as_text(routed.blocks)


def test_a_figure_is_its_caption_and_the_sentences_that_mention_it(ask):
    routed = ask("show figure 1 of Bees dance")
    assert [block.text for block in routed.blocks] == [
        "Figure 1: A bee that dances.",
        "The dance is shown in Figure 1 and counted in Table 2, and it tells the way to the minimal distance.",
    ]
    assert [citation.page for citation in routed.blocks[1].citations] == [1, 2]


def test_an_equation_has_what_leads_to_it_and_what_explains_it(ask):
    blocks = ask("what is equation 1 in Bees dance").blocks
    assert [(block.kind, block.text) for block in blocks] == [
        ("quote", "The angle follows from the sun as:"),
        ("formula", "a = s + d (1)"),
        ("quote", "where s is the sun and d the way."),
    ]


def test_a_short_section_is_whole_and_a_long_one_says_what_is_left_out(ask):
    short = ask("What does section 2 of the Bees dance paper say?")
    assert [block.text for block in of_kind(short, "heading")] == ["2 Counts", "2.1 Hives"]
    assert "where s is the sun and d the way. More follows." in [block.text for block in short.blocks]
    long = ask("section 3 of Bees dance")
    assert 1 < len(of_kind(long, "quote")) < 12
    assert long.blocks[-1].text == "The section goes on to p.3."


def test_a_missing_element_says_what_there_is(ask):
    routed = ask("What does Table 9 of Bees dance show?")
    assert routed.confidence == "low"
    assert "has no table 9; it has table 2" in routed.blocks[0].text
    assert routed.blocks[1].kind == "item"
    assert "no section called “conclusion”" in as_text(ask("the conclusion of Ants walk").blocks)


@pytest.mark.parametrize(
    "question",
    [
        "Which loss does section 3 of the Bees dance paper minimize?",
        "What does Table 2 report for lions?",
        "What does Table 2 show?",
        "How do bees dance?",
        "What is the conclusion?",
        "What does the abstract of a painting look like?",
        "Compare Table 2 of Bees dance with the steps of Ants walk in a week",
    ],
)
def test_other_questions_are_searched_for(ask, question):
    assert ask(question) is None
