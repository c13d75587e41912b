"""Attacks that try to change or delete something, or to make the server fetch: nothing changes, nobody is asked."""

import json
import socket

import httpx
import pytest

from tests.conftest import copied
from tests.serving.conftest import serving
from tests.serving.raw_requests import REFUSED, check_problem, exchanged, request


@pytest.fixture(scope="module")
def address(three_papers, tmp_path_factory):
    with serving(copied(three_papers, tmp_path_factory.mktemp("changes") / "home")) as address:
        httpx.post(f"{address}/api/v1/ask", json={"question": "How fast do bees fly in fog?"}, timeout=60)
        yield address


def state(client):
    """What no attack may change: papers, conversations, and jobs that would change the library."""
    kept = client.get("/api/v1/conversations").json()["conversations"]
    papers = {paper["md5"] for paper in client.get("/api/v1/papers").json()["papers"]}
    return papers, [(each["conversation"], each["turns"]) for each in kept], client.get("/api/v1/jobs").json()["jobs"]


@pytest.fixture(autouse=True)
def _unchanged(client):
    before = state(client)
    assert before[0]
    assert before[1]
    yield
    assert state(client) == before


@pytest.fixture
def targets(client):
    """Requests that would change something, each right but for the attack."""
    (md5, *_), ((number, _), *_), _ = state(client)
    return {
        "conversation": ("DELETE", f"/api/v1/conversations/{number}", None),
        "paper": ("DELETE", f"/api/v1/papers/{md5}", None),
        "session": ("DELETE", "/api/v1/session", None),
        "sign-in": ("POST", "/api/v1/session", {"token": "x"}),
        "graph": ("POST", "/api/v1/graph", {}),
        "build": ("POST", "/api/build_graph", {"topic": "bees", "source": "library"}),
        "action": ("POST", "/api/agent_action", {"query": "bees"}),
    }


TARGETS = ("conversation", "paper", "session", "sign-in", "graph", "build", "action")
FOREIGN = {
    "origin": {"Origin": "https://evil.example"},
    "null-origin": {"Origin": "null"},
    "cross-site": {"Sec-Fetch-Site": "cross-site"},
    "same-site": {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    "host": {"Host": "evil.example"},
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_a_change_asked_for_by_another_site(client, targets, target, headers):
    method, path, body = targets[target]
    response = client.request(method, path, json=body, headers=headers)
    assert response.status_code in (403, 421)
    check_problem(response)


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"])
@pytest.mark.parametrize("target", ["conversation", "paper"])
def test_a_method_in_a_header_or_a_query_deletes_nothing(client, targets, target, name):
    _, path, _ = targets[target]
    assert client.get(path, headers={name: "DELETE"}, params={name: "DELETE"}).status_code == 200
    assert client.post(path, headers={name: "DELETE"}, data={name: "DELETE"}).status_code == 405


NUMBERS = {
    "all": "*", "nothing": "", "zero": "0", "negative": "-1", "list": "1,2", "range": "1-9", "sql": "1 OR 1=1",
    "union": "1;DELETE FROM turns", "nul": "1%00", "encoded-slash": "1%2f", "traversal": "../papers/x", "dots": "..",
    "exponent": "1e0", "hex": "0x1", "other-digits": "%D9%A1",
    "too-large": "9" * 40,
    "fraction": "1.0", "fraction-of-zeros": "1.000", "plus": "+1", "leading-zero": "01",
    "blank": "%201", "blank-after": "1%20",
    "underscore": "1_0", "name": "graph", "true": "true", "semicolon": "1;x=1", "long": "1" * 9000,
}  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_no_other_word_deletes_a_conversation(address, number):
    reply = exchanged(address, request(address, f"/api/v1/conversations/{number}", method="DELETE"), "DELETE")
    assert reply.status in REFUSED


def test_a_deletion_with_a_body_is_one_deletion_of_the_number_in_its_path(client, targets):
    response = client.request("DELETE", "/api/v1/conversations/4611686018427387904", json={"number": 1, "all": True})
    assert check_problem(response)["status"] == 404


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
@pytest.mark.parametrize("path", ["/mcp", "/api/build_graph", "/api/agent_action", "/api/v1/session"])
def test_what_a_form_can_send_is_not_read_as_json(address, path, kind):
    body = {
        "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        "/api/build_graph": {"topic": "bees", "source": "library"},
    }
    sent = json.dumps(body.get(path, {"query": "bees"})).encode()
    lines = ([f"Content-Type: {kind}"] if kind else []) + ["Accept: application/json, text/event-stream"]
    assert exchanged(address, request(address, path, *lines, method="POST", body=sent)).status in REFUSED


@pytest.fixture
def trap():
    """A port of this machine, and whether anybody has knocked."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(BlockingIOError):
            listening.accept()


WAYS = {
    "link": lambda at: ("/api/agent_action", {"action": "summarize", "selected_papers": [{"link": f"{at}/x.pdf"}]}),
    "id": lambda at: ("/api/agent_action", {"action": "summarize", "selected_papers": [f"{at}/x.pdf"]}),
    "file-url": lambda at: ("/api/agent_action", {"action": "summarize", "selected_papers": ["file:///etc/passwd"]}),
    "paper": lambda at: ("/api/v1/search", {"question": "x", "part": {"papers": [f"{at}/x.pdf"]}}),
    "profile": lambda at: ("/api/v1/search", {"question": "x", "profile": at}),
    "model": lambda at: ("/v1/chat/completions", {"model": at, "messages": [{"role": "user", "content": "x"}]}),
    "image": lambda at: (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": at}}]}]},
    ),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_no_address_in_a_request_is_fetched(client, trap, way):
    path, body = way(trap)
    response = client.post(path, json=body)
    assert response.status_code >= 400
    assert "root:" not in check_problem(response)["detail"]


@pytest.mark.parametrize("header", ["Referer", "X-Forwarded-Host", "Forwarded", "X-Callback-Url", "Link", "From"])
def test_no_address_in_a_header_is_fetched(client, trap, header):
    assert client.get("/api/v1/papers", headers={header: trap}).status_code == 200
