"""The times of an answer whose search was made before it."""

from dataclasses import replace

from ragscience.core.answer_records import Timings
from ragscience.engine.passage_answer import after_first_search
from tests.library.answers_made import answer
from tests.upkeep.asked_made import BEGAN, SEARCH, stage


def made_after(*own, search=SEARCH):
    """An answer whose search was made before it, as `after_first_search` gives it."""
    given = replace(answer(), stages=own, timings_ms={"search_ms": 0.01, "total_ms": own[-1].ms})
    given = replace(given, found=replace(given.found, stages=search))
    first = Timings()
    first.add("search_ms", 20.0, BEGAN)
    return after_first_search(given, first)


def test_the_first_search_and_the_answer_are_one_question():
    made = made_after(stage("search", 30.5, 0.01), stage("llm", 31, 60), stage("total", 30, 70))
    assert made.stages == (stage("search", 0, 20), stage("llm", 31, 60), stage("total", 0, 100))
    assert made.timings_ms == {"search_ms": 20.0, "total_ms": 100.0}


def test_a_second_search_inside_the_answer_is_kept():
    again = (*SEARCH, stage("retrieval", 41, 5))
    made = made_after(stage("search", 40, 9), stage("total", 30, 70), search=again)
    assert [each.ms for each in made.stages if each.name == "search"] == [20, 9]
    assert made.timings_ms["search_ms"] == 29


def test_an_answer_that_searched_for_itself_stays_as_it_is():
    given = answer()
    assert after_first_search(given, Timings()) is given
