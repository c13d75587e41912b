"""Cutting the text of papers into sentences and rows."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.sentences import SENTENCE_LIMIT, split_sentences
from ragscience.core.tokenizing import language_of, tokenize

PIECES = [
    "et al.", "Fig. 3", "3.5", " ", "\n", "\n\n", "Table 1:", "The", "model", ".", "! ", "[3]", "\f", "scien-\ntific",
    "J. ", "(2017)", "\n \n", "\n.\n", "words that make a line of prose long enough to count as such", "28.4", "。",
    "”", "\u2028",
]  # fmt: skip
PAPER_LIKE = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


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
        ["It rises with σ.", "There are others of q.", "The end."],
        ["Layer L and head A.^3", "We say more.^17-19", "So did “others.”^2", "The end."],
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


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The networks measured", ["network", "measur"]),
        ("RNNs and LSTMs on GPUs, CSS, a bus", ["rnn", "lstm", "gpu", "css", "bus"]),
        ("BLEU of 28.4, p < .05", ["bleu", "28.4", "p", "0.05"]),
        ("1,234,567 and 1,000.5", ["1234567", "1000.5"]),
        ("GPT-3", ["gpt3", "gpt", "3"]),
        ("CRISPR-Cas9", ["crisprcas9", "crispr", "cas9"]),
        ("self-attention", ["selfattent", "self", "attent"]),
        ("state-of-the-art", ["stateoftheart", "state", "art"]),
        ("2017-2018 3–9", ["2017", "2018", "3", "9"]),
        ("top_k", ["topk", "top", "k"]),
        ("atten-\ntion", ["attent"]),
        ("atten\u00ad\r\n  tion co\u00adoperate", ["attent", "cooper"]),
        ("ﬁne Ｆｕｌｌ", ["fine", "full"]),
        ("naïve", ["naïv", "naiv"]),
        ("注意力", ["注", "意", "力", "注意", "意力"]),
        ("水 Transformerモデル", ["水", "transform", "モ", "デ", "ル", "モデ", "デル"]),
        ("نَصٌّ عربي", ["نَصٌّ", "نص", "عربي"]),
        ("α-synuclein", ["αsynuclein", "α", "synuclein"]),
        ("- _ -- . ! \x00", []),
        ("", []),
    ],
)
def test_terms(text, terms):
    assert tokenize(text) == terms


@given(st.text())
def test_anything_gives_terms_that_are_not_empty_and_each_time_the_same(text):
    terms = tokenize(text)
    assert all(terms)
    assert terms == tokenize(text)


QUESTIONS = Path(__file__).parents[2] / "benchmarks" / "questions"


def questions(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Welcher Optimierer wurde für das Training verwendet?", "German"),
        ("Quel optimiseur a été utilisé ?", "French"),
        ("¿Qué optimizador usa el Transformer?", "Spanish"),
        ("Qual é a taxa de aprendizagem do Adam?", "Portuguese"),
        ("Quali dati sono stati usati per BERT?", "Italian"),
        ("注意力机制是什么？", "Chinese"),
        ("アテンションとは何ですか", "Japanese"),
        ("What did de la Torre find in Le Havre?", ""),
        ("Was BERT in de novo design?", ""),
        ("What does 注意力机制 mean?", ""),
        ("Transformer", ""),
        ("α and β", ""),
    ],
)
def test_the_language_of_a_question(question, language):
    assert language_of(question) == language


def test_no_english_question_looks_foreign_and_each_foreign_one_does():
    names = {"de": "German", "fr": "French", "zh": "Chinese"}
    foreign = questions(QUESTIONS / "languages.jsonl")
    assert [language_of(item["question"]) for item in foreign] == [names[item["language"]] for item in foreign]
    english = [
        item["question"]
        for path in sorted(QUESTIONS.glob("*.jsonl"))
        if path.stem
        not in ("languages", "checking", "checking_second", "checking_third", "parts")  # sentences of answers
        for item in questions(path)
    ]
    assert len(english) > 100
    assert [question for question in english if language_of(question)] == []
