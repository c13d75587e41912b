"""Answers without an LLM."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.ask import answer_blocks, extractive
from ragscience.ask.answer_blocks import as_text
from ragscience.ask.cells import without_headings
from ragscience.ask.extractive import Readers, ScoredUnit
from ragscience.ask.quote_candidates import Unit, units_of
from ragscience.ask.unit_scores import pieces_of
from ragscience.core.errors import ModelProblem
from ragscience.core.paper_records import page_parts
from ragscience.core.records import Found, QuestionPart
from ragscience.core.sentences import below_of
from ragscience.models.model_protocols import AnswerSpan
from ragscience.search.reranking import PassageMatches, TokenMatches
from tests.ask.passages import SAMPLING, TRAINING, hit


def extract(question, hits, *, limit, **models):
    """The chosen units without their scores, and the warnings."""
    return of_choice(extractive.extract(question, hits, readers=Readers(**models), limit=limit))


def of_choice(choice):
    return [one.unit for one in choice.units], choice.warnings


def quoted(units):
    """Blocks of units that were chosen in this order."""
    return answer_blocks.quoted([ScoredUnit(unit, 1.0, {}) for unit in units])


def shown_and_cited(units):
    """The quotes as the answer has them, and what they cite."""
    blocks = quoted(units)
    return as_text(blocks), tuple(citation for block in blocks for citation in block.citations)


QUESTION = "How many days did training of the big models take?"


def matches_of(question, words):
    """A matcher by which each of `words` fits the question's only word."""

    def matcher(asked, chunks):
        assert asked == question
        places = {chunk.chunk_id: [(m.start(), m.end()) for m in re.finditer(r"\w+", chunk.text)] for chunk in chunks}
        return TokenMatches(
            ((0, len(question)),),
            {
                chunk.chunk_id: PassageMatches(
                    np.array(places[chunk.chunk_id]),
                    np.array([[float(chunk.text[a:b] in words)] for a, b in places[chunk.chunk_id]]),
                )
                for chunk in chunks
            },
        )

    return matcher


def same_words(asked, chunks):
    """A matcher by which a word fits itself."""
    words = [(found.span(), found[0].lower()) for found in re.finditer(r"\w+", asked)]
    places = {chunk.chunk_id: [*re.finditer(r"\w+", chunk.text)] for chunk in chunks}
    return TokenMatches(
        tuple(span for span, _ in words),
        {
            key: PassageMatches(
                np.array([found.span() for found in every]),
                np.array([[float(found[0].lower() == word) for _, word in words] for found in every]),
            )
            for key, every in places.items()
        },
    )


def test_the_later_quotes_of_a_side_are_first_those_like_the_best_one_of_the_other_paper():
    oak = hit("Oak took four days of training on one machine.", rank=1)
    told = ("Fern has nine levels.", "Fern has leaves of one colour.", "Fern took four days on a machine.")
    ferns = [hit(text, rank=rank, start=100 * rank) for rank, text in enumerate(told, 2)]
    others = tuple(replace(fern, chunk=replace(fern.chunk, paper_id=2)) for fern in ferns)

    def of_fern(hits):
        parts = QuestionPart("How long did Oak take?", (oak,)), QuestionPart("What has Fern?", tuple(hits))
        found = Found("Oak and Fern", "default", (oak, *hits), parts=parts)
        units = extractive.extract_parts(found, readers=Readers(same_words), limit=9).units
        return [one.unit.text for one in units if one.part == 1]

    assert of_fern(ferns) == [told[0], told[1], told[2]], "parts of one paper ask different things"
    assert of_fern(others) == [told[0], told[2], told[1]]


def test_token_vectors_decide_where_words_cannot():
    filling = "Nothing of this kind is here, and it goes on and on for longer than anybody would like to read. " * 10
    one = hit(f"{filling}Alpha beta gamma delta. {filling}")
    units, _ = extract("zzz", [one], matcher=matches_of("zzz", {"gamma"}), limit=1)
    assert "gamma" in units[0].text
    units, _ = extract("zzz", [one], limit=1)
    assert "gamma" not in units[0].text


def test_a_quote_over_two_pages_cites_both_with_their_own_words():
    text = "The sentence begins on the page that comes first and it ends on the page that comes after it."
    cut = text.index("and it ends")
    one = hit(text, breaks=((0, 4), (cut, 5)))
    shown, citations = shown_and_cited(units_of(one))
    assert shown.endswith("(attention.pdf, p.4) (attention.pdf, p.5)")
    assert [(c.page, c.quote) for c in citations] == [(4, text[:cut].strip()), (5, text[cut:])]


MARKDOWN_TABLE = (
    "Table 3. Error of the kiln by its heat. "
    + "The sentence after it goes on for longer than what is quoted of a caption and tells "
    + "how each of the measurements was taken, by whom, on which day of the week and in what weather, " * 3
    + "in full.\n| Heat | Error |\n|---|---|\n"
    + "".join(f"| {1000 + 40 * i} degrees | {i}.{i + 1} percent |\n" for i in range(8))
)


def test_rows_of_a_markdown_table_are_a_table_under_its_caption_and_header():
    (passage,) = [hit(MARKDOWN_TABLE)]
    units, _ = extract("error of the kiln at 1240 degrees", [passage], limit=1)
    (block,) = quoted(units)
    assert (block.kind, block.lead) == ("table", "Table 3. Error of the kiln by its heat.")
    assert block.text.startswith("| Heat | Error |\n|---|---|\n")
    assert "| 1240 degrees | 6.7 percent |" in block.text
    assert [citation.page for citation in block.citations] == [3]


ROWS = [f"| kiln {number} | {number}.5 |" for number in range(10, 22)]
PARTS = "| Kiln |  |\n|---|---|\n| Name | Heat |\n" + "\n".join(ROWS)


def rows_of(text, *wanted, header=""):
    passage = hit(text)
    passage = replace(passage, chunk=replace(passage.chunk, header=header))
    starts = [text.index(row) for row in wanted]
    return [Unit(passage, start, start + len(row), "") for start, row in zip(starts, wanted, strict=True)]


def test_rows_of_one_table_are_one_table_that_says_what_is_left_out():
    (block,) = quoted(rows_of(f"Before.\n{PARTS}\nBehind.", ROWS[5], ROWS[7]))
    assert block.text.split("\n") == [
        "| Kiln |  |",
        "|---|---|",
        "| Name | Heat |",
        "| … 5 rows left out | |",
        *ROWS[5:8],
        "| … 4 rows left out | |",
    ]
    assert len(block.citations) == 2


@pytest.mark.parametrize(("count", "is_whole"), [(9, True), (10, True), (11, False)])
def test_a_short_table_is_whole(count, is_whole):
    rows = [f"| kiln {number} | {number}.5 |" for number in range(count)]
    (block,) = quoted(rows_of("\n".join(["| Kiln | Heat |", "|---|---|", *rows]), rows[0]))
    assert block.text.split("\n")[2 : 2 + count] == (rows if is_whole else [rows[0], "| … 10 rows left out | |"])
    assert [citation.quote for citation in block.citations] == [rows[0]]


@given(st.text(st.sampled_from("ab.9 \n-T"), max_size=300), st.lists(st.integers(0, 300), max_size=4))
def test_each_word_of_a_unit_is_on_exactly_one_page(text, offsets):
    breaks = [(0, 1)] + [(offset, page) for page, offset in enumerate(sorted(set(offsets) - {0}), start=2)]
    breaks = [(offset, page) for offset, page in breaks if offset < max(1, len(text))]
    one = hit(text, breaks=breaks)
    for unit in units_of(one):
        parts = list(page_parts(one.chunk, unit.start, unit.end))
        kept = "".join(text[start:end] for _, start, end in parts)
        assert re.sub(r"\s", "", kept) == re.sub(r"\s", "", unit.text)
        for page, start, _ in parts:
            assert page == max((p for offset, p in breaks if offset <= start), default=1)


ALONE = "and this sentence goes on for so long that no other one has room beside it in a quote, " * 4


def test_a_citation_says_where_in_the_document_its_words_stand():
    one = hit(" \n The first sentence is here. ", start=700, breaks=((0, 1), (3, 2)))
    _, citations = shown_and_cited(units_of(one))
    assert [(c.start, c.end, c.path) for c in citations] == [(703, 730, "/papers/attention.pdf")]
    assert citations[0].quote == "The first sentence is here."


def test_the_sentence_in_which_the_answer_is_read_comes_first(read):
    text = (
        f"The bees of the field station were counted by Ada Brook, {ALONE}as said. "
        f"The bees of the field station were 412 in the count, {ALONE}as said."
    )
    units, _ = extract("How many bees of the field station?", [hit(text)], spans=read, limit=1)
    assert "412" in units[0].text
    units, _ = extract("Who counted the bees of the field station?", [hit(text)], spans=read, limit=1)
    assert "412" not in units[0].text


def test_the_first_line_is_of_the_run_that_won_not_of_what_it_took_up():
    text = "Bees like honey. Wax is for a dance. Bees, honey and wax differ."
    (first,) = extractive.extract("bees honey wax dance", [hit(text)], readers=Readers(), limit=1).units
    assert (first.unit.text, first.line) == (text, "Wax is for a dance.")


def test_below_the_line_are_the_best_other_sentences_of_its_quote_and_not_those_beside_it():
    masts, hives = f"Masts are tall, {'very ' * 30}tall.", f"Bees of June fly, {'far and ' * 15}far."
    text = f"Honey bees of June dance. {masts} Rain is wet. {hives}"
    (first,) = extractive.extract("honey bees June dance", [hit(text)], readers=Readers(), limit=1).units
    assert (first.unit.text, first.line) == (text, "Honey bees of June dance.")
    assert [one.text for one in below_of(answer_blocks.quoted([first]))] == [f"Rain is wet. {hives}"]


def test_the_first_line_is_where_the_answer_is_read_even_if_that_is_not_sure():
    text = "Bees were counted by people. The bees of the hive were 412."

    def reads(question, texts):
        return [AnswerSpan(-0.1, each.find("412"), len(each) - 1) for each in texts]

    (first,) = extractive.extract(
        "How many bees of the hive, counted by people?", [hit(text)], readers=Readers(None, reads), limit=1
    ).units
    assert (first.line, first.key) == ("The bees of the hive were 412.", "")


def test_another_run_is_a_rival_unless_it_says_the_same():
    def margin(rival):
        hits = [hit("The bees of June were 412."), hit(rival, start=900, rank=2)]
        reads = lambda question, texts: [AnswerSpan(6.0, each.find("were ") + 5, len(each) - 1) for each in texts]  # noqa: E731
        return extractive.extract("How many bees in June?", hits, readers=Readers(None, reads), limit=1).units[0].margin

    assert margin("The bees of yore were 412.") > margin("The bees of yore were 9.") > 0


def test_a_sentence_that_the_passage_cuts_is_not_the_first_line():
    text = "Bees were counted in June. Bees of the hive were counted by"
    (first,) = extractive.extract("Bees of the hive?", [hit(text)], readers=Readers(), limit=1).units
    assert first.line == "Bees were counted in June."


def test_what_ends_in_a_colon_is_quoted_with_what_it_announces():
    text = f"Kilns have benefits:\n• They need little wood, {ALONE}as said.\n• They are warm."
    units, _ = extract("What benefits have kilns?", [hit(text)], limit=1)
    assert "little wood" in units[0].text
    line = extractive.extract("What benefits have kilns?", [hit(text)], readers=Readers(), limit=1).units[0].line
    assert not line.endswith(":")


@pytest.mark.parametrize(
    ("section", "is_noise"),
    [
        ("F Model samples", True),
        ("8. Appendix A: Samples › Small model completion", True),
        ("C PROMPTS › C.1 HIVES", True),
        ("5.2 Number of samples", False),
        ("A Details", False),
    ],
)
def test_samples_of_an_appendix_give_way(section, is_noise):
    found = hit("Bake a cake of honey for the bees of the hive.")
    sampled = replace(found, chunk=replace(found.chunk, header=f"Bees › {section}"))
    own = hit("The bees of the hive like a cake.", rank=2)
    assert (
        extract("Which cake do bees of the hive like, of honey?", [sampled, own], limit=1)[0][0].hit is own
    ) == is_noise


def test_a_footnote_is_quoted_without_its_number():
    units = units_of(hit("4To see why, think of bees. 5We used three of them.^6 3D plots are left out."))
    assert [unit.text for unit in units] == [
        "To see why, think of bees.",
        "We used three of them.^6",
        "3D plots are left out.",
    ]


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("Table 6 shows that a kiln needs little wood.", 0.0),
        ("Table 6: Wood of kilns.", 0.5),
        ("Figure 2a The wood of a kiln.", 0.5),
        ("Fig. 3 | Wood.", 0.5),
    ],
)
def test_a_sentence_on_a_table_is_no_caption(text, noise):
    _, pieces = pieces_of("How much wood?", units_of(hit(text)), None)
    assert pieces[0].noise == noise


def test_a_reader_that_fails_costs_a_warning_and_words_decide():
    def broken(question, texts):
        raise ModelProblem("The reader is not there.", "Install it.")

    units, warnings = extract(QUESTION, [SAMPLING, TRAINING], spans=broken, limit=1)
    assert units == extract(QUESTION, [SAMPLING, TRAINING], limit=1)[0]
    assert warnings == ("Passages were not read for the answer, because the reader failed: "
                        "The reader is not there. Install it.",)  # fmt: skip


def test_the_reader_gets_a_whole_question_without_names_of_papers_and_one_row_of_a_table():
    asked = []

    def reads(question, texts):
        asked.append((question, texts))
        return [AnswerSpan(-9.0, 0, 0)] * len(texts)

    question = "What does RAG score on RAGE with Beta"
    matches = TokenMatches((), {}, {7: ("RAG",)}, ((10, 13),))
    extract(question, [hit(MARKDOWN_TABLE)], spans=reads, matcher=lambda *_: matches, limit=1)
    ((read, texts),) = asked
    assert read == "What does they score on RAGE with Beta?"
    assert sum("|" in text for text in texts) == 1


@given(st.text(st.sampled_from("ab.9 \nA=-"), max_size=400))
def test_no_quote_is_cut_in_a_word_or_a_number(text):
    one = hit(text, start=3)
    for unit in units_of(one):
        begin = text[: unit.start]
        begin = begin.rstrip("0123456789") if unit.text[:1].isupper() else begin  # a footnote's number is left out
        before, after = begin[-1:], text[unit.end :][:1]
        assert unit.text == unit.text.strip() != ""
        assert not (before.strip() and before.isalnum() and unit.text[0].isalnum())
        assert not (after.isalnum() and unit.text[-1].isalnum())


@given(
    st.lists(
        st.sampled_from(["A bee flies.", "3.5 days.", "Kilns are 1280 hot.", "x = 1", "Table 1: All."]), max_size=40
    )
)
def test_chosen_quotes_never_share_words_of_the_page(sentences):
    one, two = hit("\n".join(sentences), rank=1), hit("\n".join(sentences), rank=2, start=7)
    units, _ = extract("How hot are kilns and bees?", [one, two], limit=5)
    places = sorted((unit.place[1], unit.place[2]) for unit in units)
    assert all(end <= start for (_, end), (start, _) in pairwise(places))


@pytest.mark.parametrize(
    ("text", "section", "heading", "words"),
    [
        ("5.3 Optimizer\n\nWe used Adam.", "5 Training › 5.3 Optimizer", "5.3 Optimizer", "We used Adam."),
        ("6.1 Data\n\nWe used\nSQuAD.", "5 Training › 5.3 Optimizer", "6.1 Data", "We used SQuAD."),
        ("Methods\n\nSetting\n\nIn Malawi.", "Methods › Setting", "Methods › Setting", "In Malawi."),
        ("ABSTRACT\n\nWe bake.", "Abstract", "ABSTRACT", "We bake."),
        ("Participants in this study were 12.", "Participants", "", "Participants in this study were 12."),
        ("3 We took bees.\n\nThey flew.", "", "", "3 We took bees. They flew."),
        ("5.3 Optimizer", "5.3 Optimizer", "", "5.3 Optimizer"),
        ("1 " + "Word " * 40 + "\n\nText.", "", "", "1 " + "Word " * 40 + "Text."),
        ("", "", "", ""),
    ],
)
def test_a_heading_is_told_from_the_words_behind_it(text, section, heading, words):
    assert without_headings(text, section) == (heading, words)
