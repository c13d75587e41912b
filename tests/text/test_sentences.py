"""Cutting the text of papers into sentences and rows."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.sentences import SENTENCE_LIMIT, split_sentences

PIECES = [
    "et al.",
    "Fig. 3",
    "3.5",
    " ",
    "\n",
    "\n\n",
    "Table 1:",
    "The",
    "model",
    ".",
    "! ",
    "[3]",
    "\f",
    "scien-\ntific",
    "J. ",
]
MORE = [
    "(2017)",
    "\n \n",
    "\n.\n",
    "words that make a line of prose long enough to count as such",
    "28.4",
    "。",
    "”",
    "\u2028",
]
PAPER_LIKE = st.lists(st.sampled_from(PIECES + MORE), max_size=60).map("".join)


def cut(text):
    return [text[span.start : span.end] for span in split_sentences(text)]


@given(st.one_of(PAPER_LIKE, st.text(max_size=300), st.text("ab .\n", max_size=2000)))
def test_spans_are_ordered_apart_inside_and_cover_all_that_is_not_blank(text):
    at = 0
    for span in split_sentences(text):
        assert at <= span.start < span.end <= len(text)
        assert not text[at : span.start].strip()
        assert text[span.start : span.end].strip() == text[span.start : span.end]
        at = span.end
    assert not text[at:].strip()


@given(st.one_of(PAPER_LIKE, st.text(max_size=300), st.text("ab .\n", max_size=2000)))
def test_no_word_is_cut_and_only_words_are_longer_than_the_limit(text):
    spans = split_sentences(text)
    for left, right in pairwise(spans):
        assert left.end < right.start or text[left.end - 1] in "。！？”’」』）"
    for span in spans:
        assert span.end - span.start <= SENTENCE_LIMIT or not any(c.isspace() for c in text[span.start : span.end])


@pytest.mark.parametrize(
    "sentence",
    [
        "Vaswani et al. (2017) proposed it.",
        "See Fig. 3 and Eq. 4 of Sec. 2 for i.e. the details.",
        "It reaches 28.4 BLEU, cf. Table 2.",
        "J. R. Smith and U.S. groups agree.",
        "We use dropout, e.g. Pdrop = 0.1, here.",
        "It was shown [3] that\nlines break inside of sentences all the time.",
        "A scien-\ntific paper has hyphens.",
        "Is 1.5e-5 vs. 2e-5 better?",
        "The rate etc. is kept.",
        "Dr. Who and Prof. Why met.",
    ],
)
def test_one_sentence_stays_one(sentence):
    assert cut(sentence) == [sentence]


@pytest.mark.parametrize(
    "sentences",
    [
        ["It works.", "We show why."],
        ["Was it good?", "It was!", "Very."],
        ["It ends in (brackets.)", "Then another."],
        ["He said “stop.”", "We did not."],
        ["The value is 3.5.", "The next is 4."],
        ["Shown by Devlin et al.", "Others disagree."],
        ["Copied here.", "[3] says so."],
        ["这是一句。", "这是另一句。"],
        ["This has no capital next. x is a variable here.", "The end."],
    ],
)
def test_sentences_are_told_apart(sentences):
    joint = "" if sentences[0][-1] == "。" else " "
    assert cut(joint.join(sentences)) == sentences


def test_a_blank_line_and_a_form_feed_end_a_paragraph():
    assert cut("no full stop here\n\nbut a new paragraph\fand a page") == [
        "no full stop here",
        "but a new paragraph",
        "and a page",
    ]
