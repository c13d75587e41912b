"""Searching, asking and earlier answers over HTTP."""

import json

SPEED = "How fast do bees fly in fog?"


def events_of(response):
    """(event, data) of each server-sent event."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event:"):
            name = line.partition(":")[2].strip()
        elif line.startswith("data:"):
            yield name, json.loads(line.partition(":")[2])


def test_a_search_gives_what_json_prints(client):
    found = client.post("/api/v1/search", json={"question": SPEED, "top_k": 2}).json()
    assert len(found["hits"]) == 2
    assert found["hits"][0]["file"] == "bees.pdf"
    assert found["schema"] == 2


def test_a_quote_is_found_with_its_boxes(client):
    found = client.post("/api/v1/quote", json={"quote": "Cobalt oxide gives the blue colour"}).json()
    (cited,) = found["places"][0]["citations"]
    assert (cited["file"], len(cited["boxes"])) == ("kilns.pdf", 1)


def test_a_draft_is_checked(client):
    text = "Cobalt oxide gives the blue colour of the glaze (kilns.pdf)."
    found = client.post("/api/v1/check", json={"text": text}).json()
    assert found["counts"] == {"held": 1}
    assert found["sentences"][0]["evidence"][0]["page"] == 1


def test_an_answer_has_its_pages_and_is_kept(client):
    answer = client.post("/api/v1/ask", json={"question": SPEED}).json()
    assert "3.7" in answer["answer"]
    assert answer["citations"][0]["file"] == "bees.pdf"
    assert answer["citations"][0]["boxes"]
    kept = client.get(f"/api/v1/answers/{answer['answer_id'][:8]}").json()
    assert kept["answer"] == answer["answer"]
    numbers = [one["conversation"] for one in client.get("/api/v1/conversations").json()["conversations"]]
    assert answer["conversation"] in numbers


def test_a_conversation_goes_on_by_its_number(client):
    first = client.post("/api/v1/ask", json={"question": SPEED}).json()
    number = first["conversation"]
    second = client.post("/api/v1/ask", json={"question": "And how was that measured?", "conversation": number}).json()
    assert second["conversation"] == number
    assert second["searched"] != second["question"]
    turns = client.get(f"/api/v1/conversations/{number}").json()["turns"]
    assert [turn["answer_id"] for turn in turns] == [first["answer_id"], second["answer_id"]]


def test_an_answer_comes_as_events_with_the_whole_answer_last(client):
    with client.stream("POST", "/api/v1/ask/events", json={"question": SPEED}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        events = list(events_of(response))
    assert events[-1][0] == "answer"
    assert "3.7" in events[-1][1]["answer"]
    assert {"searching", "token"} <= {name for name, _ in events}


def test_a_failure_within_a_stream_is_its_last_event(client):
    body = {"question": "x", "part": {"papers": ["nosuch"]}}
    with client.stream("POST", "/api/v1/ask/events", json=body) as response:
        assert response.status_code == 200
        name, problem = list(events_of(response))[-1]
    assert (name, problem["status"]) == ("error", 404)


def test_a_conversation_is_deleted_with_its_answers_and_no_other(client):
    kept, gone = (client.post("/api/v1/ask", json={"question": SPEED}).json() for _ in range(2))
    reply = client.delete(f"/api/v1/conversations/{gone['conversation']}")
    assert (reply.status_code, reply.content) == (204, b"")
    assert client.get(f"/api/v1/conversations/{gone['conversation']}").status_code == 404
    assert client.get(f"/api/v1/answers/{gone['answer_id']}").status_code == 404
    assert client.get(f"/api/v1/answers/{kept['answer_id']}").status_code == 200
    again = client.delete(f"/api/v1/conversations/{gone['conversation']}")
    assert again.status_code == 404
    assert again.json()["fix"] == "GET /api/v1/conversations shows them."
