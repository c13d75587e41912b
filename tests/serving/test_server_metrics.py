"""/metrics counts by the routes' templates, of one server alone, and says nothing of who asked what."""

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


def test_requests_are_counted_by_template_and_status(own):
    own.get("/healthz")
    own.get(f"/api/v1/papers/{'0' * 32}")
    own.get("/v1/models/nosuch-secret")
    own.post("/api/agent_action", json={"action": "secret"})
    own.get("/nosuch-secret")
    own.request("BREW", "/healthz")
    own.post("/api/v1/search", json={"question": "secret bees"}, headers={"Host": "secret.example"})
    text = own.get("/metrics").text
    found = values(own)
    count = "ragscience_http_requests_total"
    assert value(found, count, method="GET", route="/healthz", status="200") == 1
    assert value(found, count, method="GET", route="/api/v1/papers/{md5}", status="404") == 1
    assert value(found, count, method="GET", route="/v1/models/{name:path}", status="404") == 1
    assert value(found, count, method="POST", route="/api/agent_action", status="400") == 1
    assert value(found, count, method="GET", route="other", status="404") == 1
    assert value(found, count, method="other", route="/healthz", status="405") == 1
    assert value(found, count, method="POST", route="other", status="421") == 1
    assert value(found, "ragscience_http_request_duration_seconds_count", method="GET", route="/healthz") == 1
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
