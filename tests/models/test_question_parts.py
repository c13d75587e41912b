"""Questions are taken apart into their own words, and what asks one thing stays whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.models.question_parts import MOST_PARTS, ROW_TOKENS, QuestionParts


@pytest.fixture(scope="module")
def split(model_cache):
    return QuestionParts(cache_folder=model_cache, on_warning=pytest.fail)


@pytest.mark.parametrize(
    ("before", "question", "parts"),
    [
        ([], "How many bees are in the hive, and how heavy is the honey?", ["many bees hive", "heavy honey"]),
        ([], "what gpu were HiveNet and the wax model trained on?", ["gpu HiveNet trained", "gpu wax model trained"]),
        ([], "how many layers has BeeNet and how many WaspNet?", ["layers BeeNet", "layers WaspNet"]),
        ([], "is the trade-off between precision and recall discussed?", ["trade-off between precision and recall"]),
        ([], "which papers use dropout and batch normalization?", ["papers use dropout and batch normalization"]),
        (["who wrote the HiveNet paper?"], "when did it come out and where do they work?",
         ["HiveNet paper when", "HiveNet paper where"]),
    ],
)  # fmt: skip
def test_each_part_has_the_words_of_what_it_asks(split, before, question, parts):
    found = [part.replace("?", "").replace(",", "").split() for part in split(question, before)]
    assert len(found) == len(parts)
    assert all(set(wanted.split()) <= set(part) for wanted, part in zip(parts, found, strict=True))


@given(texts=st.lists(st.text("ab ,?é漢-\n'", max_size=60), min_size=1, max_size=3))
def test_a_part_is_words_of_the_questions_in_their_order(split, texts):
    *before, question = texts
    parts = split(question, before)
    assert 1 <= len(parts) <= MOST_PARTS
    for part in parts if parts != (question,) else ():
        left = iter(" ".join(texts).split())
        assert all(word in left for word in part.split())


def test_a_question_that_is_too_long_stays_whole(split):
    question = "how many bees and how much honey? " * ROW_TOKENS
    assert split(question) == (question,)
