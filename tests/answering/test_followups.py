import pytest

from ragscience.answering.followups import standalone
from ragscience.records import Turn

HISTORY = [Turn("Who bred the first tulips?", "Nobody knows."), Turn("When did the tulip mania end?", "In 1637.")]


@pytest.mark.parametrize(
    "question", ["And in France?", "What did it cost?", "Did they recover?", "Why?", "Prices afterwards?"]
)
def test_a_question_that_leans_takes_the_last_turn_along(question):
    assert standalone(question, HISTORY) == f"When did the tulip mania end? In 1637. {question}"


def test_a_question_that_stands_alone_stays_as_it_is():
    question = "Which enzyme unwinds double-stranded DNA during replication?"
    assert standalone(question, HISTORY) == question


def test_without_a_history_nothing_is_added():
    assert standalone("Why?", []) == "Why?"
