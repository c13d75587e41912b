import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.ask.query_rewriting import TURNS_BACK, evidence_again, standalone
from ragscience.core.records import Turn

TULIPS = [
    Turn("Who bred the first tulips?", "Nobody knows.", (1, 2)),
    Turn("When did the tulip mania end in Haarlem?", "In 1637, says Goldgar.", (7, 4)),
]
LIGASE = [Turn("Which cofactor does the T4 ligase need?", "It needs ATP and Mg2+, unlike NAD enzymes.", (3,))]


@pytest.mark.parametrize(
    "question",
    [
        "What did it cost?",
        "Did they recover?",
        "How was this explained by historians?",
        "What happened to the prices of rare bulbs after that?",
        "Who lost most of the money made there?",
        "Which cities were hit instead?",
        "Is the effect seen in Utrecht too?",
        "What was their price?",
    ],
)
def test_a_question_that_points_back_takes_the_names_along(question):
    assert standalone(question, TULIPS) == f"Haarlem, Goldgar: {question}"
    assert evidence_again(question, TULIPS) == (7, 4)


@pytest.mark.parametrize(
    "question", ["And in France?", "Why?", "Prices afterwards?", "And the price?", "Who lost money there?"]
)
def test_a_fragment_takes_the_words_of_the_question_along(question):
    whole = question.removeprefix("And ")
    assert standalone(question, TULIPS) == f"tulip mania end Haarlem Goldgar: {whole[0].upper()}{whole[1:]}"
    assert evidence_again(question, TULIPS) == (7, 4)


@pytest.mark.parametrize(
    "question",
    [
        "Which enzyme unwinds double-stranded DNA during replication?",
        "And how fast does the helicase of Escherichia coli unwind it?",
        "But what does the PCR protocol of Mullis cycle through?",
        "How long does it take to anneal primers with Taq polymerase?",
        "Why do small replication forks stall when they meet a lesion on the strand?",
        "How does the polymerase that copies the lagging strand begin?",
        "When a primer has been made, what removes its nucleotides from the strand?",
    ],
)
def test_a_question_with_a_subject_of_its_own_drags_nothing_along(question):
    assert standalone(question, TULIPS) == question
    assert evidence_again(question, TULIPS) == ()


def test_names_that_were_spoken_of_before_are_no_new_subject():
    assert standalone("And how much does the ligase of T4 hold?", LIGASE) != "And how much does the ligase of T4 hold?"
    assert standalone("And how much does the ligase of E6 hold?", LIGASE) == "And how much does the ligase of E6 hold?"


def test_what_the_question_says_itself_is_not_said_twice():
    assert standalone("Does it need ATP?", LIGASE) == "T4, Mg2, NAD: Does it need ATP?"


def test_of_an_answer_only_a_few_names_come_along_and_no_plain_words():
    history = [Turn("Which labs took part?", "Labs: ALPHA, BRAVO, CHARLIE, DELTA, ECHO and FOXTROT measured 3.5 nm.")]
    assert standalone("What did they find?", history) == "ALPHA, BRAVO, CHARLIE, DELTA: What did they find?"


def test_without_a_name_the_words_of_the_question_come_along():
    history = [Turn("How do bees steer in fog?", "By polarised light.")]
    assert standalone("Does it work at night under clouds?", history) == (
        "bees steer fog: Does it work at night under clouds?"
    )


def test_a_short_whole_sentence_takes_no_nameless_words_along():
    history = [Turn("How do bees steer in fog?", "By polarised light.")]
    assert standalone("What is a waggle?", history) == "What is a waggle?"


def test_a_chain_of_fragments_is_followed_to_its_subject():
    chain = [*TULIPS, Turn("And in France?", "There it never began."), Turn("And later?", "No.")]
    assert standalone("And before?", chain) == "tulip mania end Haarlem France later Goldgar: Before?"
    far = [Turn("How tall is the Eiffel tower?", "330 m."), *[Turn("And then?", "No.")] * TURNS_BACK]
    assert "Eiffel" not in standalone("And now?", far)


def test_a_turn_that_leans_itself_leads_to_the_one_before():
    chain = [TULIPS[1], Turn("How many bulbs did it ruin?", "Many."), Turn("Were they rare?", "Some.")]
    assert standalone("And the colours?", chain).startswith("tulip mania end Haarlem ")


def test_only_the_last_turns_passages_compete_again():
    assert evidence_again("Why?", [*TULIPS, Turn("And in France?", "No.")]) == ()


def test_without_a_history_nothing_is_added():
    assert standalone("Why?", []) == "Why?"
    assert evidence_again("Why?", []) == ()


@given(st.text(max_size=80), st.lists(st.builds(Turn, st.text(max_size=40), st.text(max_size=60)), max_size=4))
def test_the_question_itself_is_always_searched(question, history):
    whole = standalone(question, history)
    left_out = {"and", "but", "so", "or", "then"}
    said = whole.casefold()
    for word in re.findall(r"\w+", question.casefold()):
        assert word in said or word in left_out or word in PRONOUNS
    assert len(whole) <= len(question) + sum(len(turn.question) + len(turn.answer) + 100 for turn in history)


PRONOUNS = {"it", "its", "they", "them", "their", "theirs", "those", "he", "him", "his", "she", "her", "hers"}


@pytest.mark.parametrize(
    "chat",
    [
        [
            ("What is LoRA?", "What is LoRA?"),
            ("How many parameters does it train?", "How many parameters does LoRA train?"),
            ("And which optimizer does it use to train GPT-2?", "Which optimizer does LoRA use to train GPT-2?"),
            ("And its batch size?", "GPT-2: LoRA's batch size?"),
            ("How does QLoRA differ from it?", "How does QLoRA differ from LoRA?"),
            ("What is the learning rate of Adam?", "What is the learning rate of Adam?"),
            ("why?", "learning rate Adam: Why?"),
            ("summarize lora", "summarize lora"),
        ],
        [
            ("How does the Transformer avoid recurrence?", "How does the Transformer avoid recurrence?"),
            ("What about its positional encoding?", "What about Transformer's positional encoding?"),
            ("And the big model?", "positional encoding Transformer: The big model?"),
            ("How long was it trained?", "How long was Transformer trained?"),
            ("On which hardware?", "trained Transformer: On which hardware?"),
            ("Explain dropout in ResNet", "Explain dropout in ResNet"),
            ("Compare that with BERT", "dropout ResNet: Compare that with BERT"),
        ],
    ],
)
def test_a_follow_up_reads_as_a_question_through_a_whole_chat(chat):
    history = []
    for question, searched in chat:
        assert standalone(question, history) == searched
        history.append(Turn(question, "“Quoted.” (a.pdf, p.1)"))


def test_the_sources_of_an_answer_are_no_names():
    cited = [Turn("When did the tulip mania end in Haarlem?", "In 1637, says Goldgar (tulips_2007.pdf, p.3).", (7,))]
    assert standalone("What did it cost?", cited) == "Haarlem, Goldgar: What did it cost?"


QUOTES = (
    "Found in 1 paper: tulips_2007.pdf\n\n“Early bulbs of Semper Augustus were sold by Pieter.” (tulips_2007.pdf, p.3)"
)


def test_of_quotes_and_files_nothing_comes_along():
    named = [Turn("When did the tulip mania end in Haarlem?", QUOTES, (7,))]
    assert standalone("What did it cost?", named) == "Haarlem: What did it cost?"
    nameless = [Turn("When did the tulip mania end?", QUOTES, (7,))]
    assert standalone("What did it cost?", nameless) == "tulip mania end: What did it cost?"


@pytest.mark.parametrize(
    ("question", "leans"),
    [
        ("How many bulbs and contracts did they trade?", True),  # the subject of the question itself
        ("Which sealed bids was it settled by?", True),
        ("When a contract was signed, how many bulbs did it name?", False),
        ("Which price limit was used?", True),  # of what?
        ("Which price limit was used for the spring auction?", False),
        ("What is a futures contract?", False),
        ("What are broken bulbs?", False),
        ("What is Leiden?", False),
        ("What is Haarlem?", False),  # a name is a subject, spoken of before or not
        ("What is the price?", True),
    ],
)
def test_follow_up_is_told_from_a_new_subject(question, leans):
    assert (standalone(question, TULIPS) != question) is leans
