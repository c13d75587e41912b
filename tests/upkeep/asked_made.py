"""Questions and answers with fixed times."""

from dataclasses import replace

from ragscience.core.records import Answer, Found, Stage
from ragscience.upkeep.telemetry import AskedQuestion, of_answer
from tests.library.answers_made import answer

BEGAN = 1767225600.0
TRACE = "4f1c2a9e7b304c5d8e6fa0b1c2d3e4f5"


def stage(name, began_ms, ms):
    return Stage(name, BEGAN + began_ms / 1000, ms)


SEARCH = (stage("retrieval", 1, 10), stage("embed", 2, 3), stage("dense", 5, 1), stage("bm25", 6, 2))
OWN = (stage("search", 0, 20), stage("llm", 20, 70), stage("check", 90, 9), stage("total", 0, 100))


def asked_of_a_model(question="How fast?", *, search=SEARCH, own=OWN, **more):
    """An answer by a chat model."""
    given = {
        "mode": "llm",
        "models": {"embedder": "all-MiniLM-L6-v2", "reranker": "ms-marco", "llm": "llama3.1:8b"},
        "timings_ms": {f"{each.name}_ms": each.ms for each in own},
        "tokens": {"prompt": 900, "answer": 40, "window": 8192},
        "trace_id": TRACE,
        "stages": own,
    }
    made = answer(question, answer_id=TRACE[:12], **{**given, **more})
    times = {f"{each.name}_ms": each.ms for each in search}
    return of_answer(replace(made, found=replace(made.found, stages=search, timings_ms=times)))


def asked(how="search", question="How fast?", *, error="", total_ms=1.0, timings_ms=None, **more):
    """A question with nothing but what is required."""
    times = {"total_ms": total_ms, **(timings_ms or {})}
    began = (Stage("total", BEGAN, total_ms),)
    given = {"stages": began, "trace_id": TRACE, "timings_ms": times, **more}
    return AskedQuestion(how, Answer("", question, "", "", False, (), Found(question, "", ()), {}, **given), error)
