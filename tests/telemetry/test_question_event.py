"""From an answer to its event."""

import re

from ragscience.core.records import Found
from ragscience.upkeep.telemetry import STAGES, of_failure, of_search
from tests.telemetry.making import BEGAN, OWN, SEARCH, TRACE, answer_event, stage, step


def test_an_answers_account_has_its_ids_times_and_counts():
    event = answer_event()
    assert (event.how, event.trace_id, event.answer_id) == ("ask", TRACE, TRACE[:12])
    assert (event.started, event.total_ms) == (BEGAN, 100)
    assert event.timings_ms["bm25_ms"] == 2
    assert event.timings_ms["llm_ms"] == 70
    assert dict(event.citations) == {"supported": 1, "unsupported": 0}
    assert dict(event.sentences) == {"supported": 1}
    assert event.passages == 1
    assert [each.name for each in event.stages] == ["search", "retrieval", "embed", "dense", "bm25", "llm", "check"]


def test_a_part_that_begins_at_the_same_time_comes_after_what_it_is_inside():
    event = answer_event(search=(stage("embed", 0, 1), stage("retrieval", 0, 2)))
    assert [each.name for each in event.stages][:3] == ["search", "retrieval", "embed"]


def test_an_answer_from_before_there_were_trace_ids_gets_one():
    assert re.fullmatch("[0-9a-f]{32}", answer_event(trace_id="").trace_id)


def test_an_agents_event_has_its_steps_and_its_own_total():
    event = answer_event(trace=(step("retrieve", 5, 0.04), step("reason", 3_600_000, 1.0)), own=OWN[:-1],
                       timings_ms={"total_ms": 1200.0})  # fmt: skip
    assert event.how == "agent"
    assert event.started == BEGAN
    assert event.total_ms == 1200.0, "the hour in which it was interrupted is not counted"


def test_a_searchs_event_has_no_answer():
    found = Found("fog", "default", (), (), {"search_ms": 20.0, "bm25_ms": 2.0}, stages=(*SEARCH, OWN[0]))
    event = of_search(found, {"embedder": "m", "reranker": None})
    assert (event.how, event.answer_id, event.total_ms, event.started) == ("search", "", 20.0, BEGAN)
    assert dict(event.models) == {"embedder": "m", "reranker": None, "llm": None}
    assert event.trace_id != of_search(found, {}).trace_id


def test_what_was_never_timed_takes_no_time():
    event = of_search(Found("fog", "default", ()), {})
    assert (event.started, event.total_ms, event.stages) == (0.0, 0.0, ())


def test_without_a_total_the_last_part_ends_it():
    assert answer_event(own=OWN[:-1], timings_ms={}).total_ms == 99


def test_a_failures_event_has_the_kind_of_error():
    event = of_failure("ask", "fog?", "ModelProblem", started=BEGAN, total_ms=7.0)
    assert (event.error, event.question, event.total_ms, event.answer_id) == ("ModelProblem", "fog?", 7.0, "")


def test_every_stage_is_inside_one_before_it():
    known = {""}
    for each in STAGES:
        assert each.inside in known
        known.add(each.name)
