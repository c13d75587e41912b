"""What the guard refuses: foreign hosts and pages, large bodies; and the headers of every reply."""

import select
import socket

import httpx
import pytest

from ragscience.serving.mcp_mount import McpMount
from ragscience.serving.request_guard import known_hosts
from tests.serving.conftest import serving

PATHS = ("/healthz", "/readyz", "/api/v1/papers", "/api/v1/openapi.json", "/v1/models", "/mcp", "/nosuch")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1:1", "127.0.0.1.evil.example", "", "[::1]"])
def test_a_foreign_host_is_refused_everywhere(client, path, host):
    response = client.get(path, headers={"Host": host})
    assert response.status_code in (400, 421)  # an empty or malformed one ends in the HTTP parser


@pytest.mark.parametrize("path", ["/api/v1/ask", "/v1/chat/completions", "/mcp", "/api/v1/uploads", "/api/v1/search"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_foreign_page_is_refused_everywhere(client, path, headers):
    response = client.post(path, json={"question": "x"}, headers=headers)
    assert response.status_code == 403
    assert response.headers["content-type"] == "application/problem+json"
    assert "access-control-allow-origin" not in response.headers


def test_its_own_page_may_ask(client, address):
    headers = {"Origin": address, "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/v1/search", json={"question": "bees"}, headers=headers).status_code == 200


def test_a_preflight_of_a_foreign_page_gets_no_permission(client):
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    response = client.options("/api/v1/ask", headers=headers)
    assert response.status_code == 403
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", PATHS)
def test_every_reply_has_safe_headers(client, path):
    headers = (client.post if path == "/mcp" else client.get)(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_form_of_another_page_changes_nothing(client, content_type):
    """What a page can send without asking first (CSRF) is no JSON, and is not read as such."""
    response = client.post("/api/v1/ask", content=b'{"question": "x"}', headers={"Content-Type": content_type})
    assert response.status_code in (415, 422)


def test_a_large_body_is_refused_by_its_header_and_by_its_size(served_home):
    with serving(served_home, {"max_body": 5000}) as url, httpx.Client(base_url=url, timeout=60) as client:
        assert client.post("/api/v1/search", json={"question": "x" * 6000}).status_code == 413
        body = (b"x" * 1000 for _ in range(8))  # chunked: no length is told
        assert (
            client.post("/api/v1/search", content=body, headers={"Content-Type": "application/json"}).status_code == 413
        )
        assert client.post("/api/v1/search", json={"question": "bees"}).status_code == 200


@pytest.mark.parametrize("path", ["/mcp", "/api/v1/search", "/v1/chat/completions"])
def test_a_body_without_a_length_is_refused_once_it_is_too_large(served_home, monkeypatch, path):
    def failing(_):
        raise AssertionError("nothing is imported for a request that is refused")

    monkeypatch.setattr(McpMount, "_make", failing)
    with serving(served_home, {"max_body": 5000}) as url:
        host = url.removeprefix("http://")
        name, _, port = host.partition(":")
        with socket.create_connection((name, int(port)), timeout=60) as connection:
            head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            connection.sendall((b"3e8\r\n" + b"x" * 1000 + b"\r\n") * 6)  # and the last chunk never comes
            reply = b"".join(iter(lambda: connection.recv(1 << 16), b""))  # until the server closes the connection
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in reply.lower()


def test_two_hosts_are_refused(address):
    port = int(address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        lines = ("GET /healthz HTTP/1.1", f"Host: 127.0.0.1:{port}", "Host: evil.example", "Connection: close", "", "")
        connection.sendall("\r\n".join(lines).encode())
        first = connection.makefile("rb").readline()
    assert first.split()[1] in (b"400", b"421")


@pytest.mark.parametrize(("length", "is_read"), [(6, True), (65536, True), (65537, False), (200_000, False)])
def test_a_short_body_is_read_before_its_request_is_refused(client, address, length, is_read):
    """A connection that is closed on unread bytes is reset, and the client may never see why."""
    port = int(address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        head = f"POST /api/v1/ask HTTP/1.1\r\nHost: evil.example\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        client.get("/healthz")  # by now the server has done with the head
        is_answered, _, _ = select.select([connection], [], [], 0)
        assert bool(is_answered) != is_read
        if is_read:
            connection.sendall(b"x" * length)
        reply = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert reply.startswith(b"HTTP/1.1 421 ")


def test_hosts_that_a_server_is_known_by():
    assert known_hosts("127.0.0.1", 8765) == {"127.0.0.1:8765", "localhost:8765", "[::1]:8765"}
    assert "example.org" not in known_hosts("0.0.0.0", 80)
    assert {"papers.lab", "papers.lab:443"} <= known_hosts("0.0.0.0", 443, ["Papers.lab"])
    assert known_hosts("10.1.2.3", 80) >= {"10.1.2.3:80", "10.1.2.3"}
