"""/metrics is of one server alone, and says nothing of who asked what."""

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serving.conftest import serving


def values(client):
    text = client.get("/metrics").text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found, name, **labels):
    return found.get((name, tuple(sorted(labels.items()))))


@pytest.fixture
def own(served_home):
    with serving(served_home) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


def test_no_word_of_a_client_is_in_the_metrics(own):
    own.get("/v1/models/nosuch-secret")
    own.post("/api/agent_action", json={"action": "secret"})
    own.get("/nosuch-secret")
    own.request("BREW", "/healthz")
    assert own.post("/api/v1/ask", json={"question": "What do secret bees eat?"}).status_code == 200
    own.post("/api/v1/search", json={"question": "secret bees"}, headers={"Host": "secret.example"})
    text = own.get("/metrics").text
    assert 'ragscience_questions_total{how="ask"} 1.0' in text
    assert "secret" not in text
    assert "BREW" not in text


def test_the_state_of_the_server_and_its_library(own):
    found = values(own)
    assert value(found, "ragscience_library_papers") == 3
    assert value(found, "ragscience_library_passages") >= 3
    assert value(found, "ragscience_open_questions", state="running") == 0
    assert value(found, "ragscience_open_questions", state="waiting") == 0
    assert value(found, "ragscience_jobs", state="failed") == 0
    assert value(found, "process_resident_memory_bytes") > 1 << 20


def test_questions_their_stages_and_tokens_are_counted(own):
    assert own.post("/api/v1/ask", json={"question": "What do bees eat?"}).status_code == 200
    found = values(own)
    assert value(found, "ragscience_questions_total", how="ask") == 1
    assert value(found, "ragscience_question_duration_seconds_count", how="ask") == 1
    assert value(found, "ragscience_tokens_total", kind="prompt") == 0  # quotes: no model was asked
    stages = {dict(labels).get("stage") for _, labels in found}
    assert {"bm25", "dense"} <= stages
