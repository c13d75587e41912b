"""What is recorded of a question, and the places it is written to."""

from prometheus_client import CollectorRegistry, generate_latest

from ragscience.core.records import Found
from ragscience.upkeep.telemetry import LogFile, QuestionCounts, Telemetry, of_search
from tests.upkeep.asked_made import BEGAN, OWN, SEARCH, asked


def test_a_search_has_no_answer():
    found = Found("fog", "default", (), (), {"search_ms": 20.0, "bm25_ms": 2.0}, stages=(*SEARCH, OWN[0]))
    made = of_search(found, {"embedder": "m", "reranker": None})
    assert (made.how, made.answer.answer_id, made.total_ms, made.started) == ("search", "", 20.0, BEGAN)
    assert made.answer.models == {"embedder": "m", "reranker": None, "llm": None}
    assert made.answer.trace_id != of_search(found, {}).answer.trace_id


def test_one_sink_that_fails_later_leaves_the_others_alone(tmp_path):
    said, counts = [], CollectorRegistry()
    telemetry = Telemetry([LogFile(tmp_path / "q.log")], said.append)
    telemetry.add(QuestionCounts(counts))
    (tmp_path / "q.log").unlink()
    (tmp_path / "q.log").mkdir()
    telemetry.record(asked())
    assert len(said) == 1
    assert "q.log" in said[0]
    assert 'ragscience_questions_total{how="search"} 1' in generate_latest(counts).decode()
