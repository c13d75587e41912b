"""From an answer to its account."""

import re

from ragscience.records import Found
from ragscience.telemetry import STAGES, of_failure, of_search
from tests.telemetry.making import BEGAN, OWN, SEARCH, TRACE, stage, step, told_answer


def test_an_answers_account_has_its_ids_times_and_counts():
    told = told_answer()
    assert (told.how, told.trace_id, told.answer_id) == ("ask", TRACE, TRACE[:12])
    assert (told.started, told.total_ms) == (BEGAN, 100)
    assert told.timings_ms["bm25_ms"] == 2
    assert told.timings_ms["llm_ms"] == 70
    assert dict(told.citations) == {"supported": 1, "unsupported": 0}
    assert dict(told.sentences) == {"supported": 1}
    assert told.passages == 1
    assert [each.name for each in told.stages] == ["search", "retrieval", "embed", "dense", "bm25", "llm", "check"]


def test_a_part_that_begins_at_the_same_time_comes_after_what_it_is_inside():
    told = told_answer(search=(stage("embed", 0, 1), stage("retrieval", 0, 2)))
    assert [each.name for each in told.stages][:3] == ["search", "retrieval", "embed"]


def test_an_answer_from_before_there_were_trace_ids_gets_one():
    assert re.fullmatch("[0-9a-f]{32}", told_answer(trace_id="").trace_id)


def test_the_agent_is_told_by_its_steps_and_its_own_total():
    told = told_answer(trace=(step("retrieve", 5, 0.04), step("reason", 3_600_000, 1.0)), own=OWN[:-1],
                       timings_ms={"total_ms": 1200.0})  # fmt: skip
    assert told.how == "agent"
    assert told.started == BEGAN
    assert told.total_ms == 1200.0, "the hour in which it was interrupted is not counted"


def test_a_search_is_told_without_an_answer():
    found = Found("fog", "default", (), (), {"search_ms": 20.0, "bm25_ms": 2.0}, stages=(*SEARCH, OWN[0]))
    told = of_search(found, {"embedder": "m", "reranker": None})
    assert (told.how, told.answer_id, told.total_ms, told.started) == ("search", "", 20.0, BEGAN)
    assert dict(told.models) == {"embedder": "m", "reranker": None, "llm": None}
    assert told.trace_id != of_search(found, {}).trace_id


def test_what_was_never_timed_takes_no_time():
    told = of_search(Found("fog", "default", ()), {})
    assert (told.started, told.total_ms, told.stages) == (0.0, 0.0, ())


def test_without_a_total_the_last_part_ends_it():
    assert told_answer(own=OWN[:-1], timings_ms={}).total_ms == 99


def test_a_failure_is_told_by_its_kind():
    told = of_failure("ask", "fog?", "ModelProblem", started=BEGAN, total_ms=7.0)
    assert (told.error, told.question, told.total_ms, told.answer_id) == ("ModelProblem", "fog?", 7.0, "")


def test_every_stage_is_inside_one_that_stands_before_it():
    known = {""}
    for each in STAGES:
        assert each.inside in known
        known.add(each.name)
