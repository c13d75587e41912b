"""What the guard refuses: foreign hosts and pages, large bodies; and the headers of every reply."""

import select
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest

from ragscience.serving import request_guard
from tests.serving.conftest import serving
from tests.serving.raw_requests import connected

PATHS = ("/healthz", "/readyz", "/api/v1/papers", "/api/v1/openapi.json", "/v1/models", "/mcp", "/nosuch")


@pytest.mark.parametrize("path", PATHS)
def test_every_reply_has_safe_headers(client, path):
    headers = (client.post if path == "/mcp" else client.get)(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("path", ["/mcp", "/api/v1/search", "/v1/chat/completions"])
def test_a_body_without_a_length_is_refused_once_it_is_too_large(served_home, path):
    with serving(served_home, {"max_body": 5000}) as url:
        head = f"POST {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nContent-Type: application/json\r\n"
        with connected(url) as connection:
            connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            connection.sendall((b"3e8\r\n" + b"x" * 1000 + b"\r\n") * 6)  # and the last chunk never comes
            reply = rest_of(connection)
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in reply.lower()


@pytest.mark.parametrize(("length", "is_read"), [(6, True), (65536, True), (65537, False), (200_000, False)])
def test_a_short_body_is_read_before_its_request_is_refused(client, address, length, is_read):
    """A connection that is closed on unread bytes is reset, and the client may never see why."""
    head = f"POST /api/v1/ask HTTP/1.1\r\nHost: evil.example\r\nContent-Length: {length}\r\n\r\n"
    with connected(address) as connection:
        connection.sendall(head.encode())
        client.get("/healthz")  # by now the server has done with the head
        is_answered, _, _ = select.select([connection], [], [], 0)
        assert bool(is_answered) != is_read
        if is_read:
            connection.sendall(b"x" * length)
        reply = rest_of(connection)
    assert reply.startswith(b"HTTP/1.1 421 ")


HALF = b"POST /api/v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


def opened(stack, url, first=b""):
    made = stack.enter_context(connected(url))
    made.sendall(first)
    return made


def rest_of(connection):
    """What came until the server closed it."""
    try:
        return b"".join(iter(lambda: connection.recv(4096), b""))
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n", HALF])
def test_what_does_not_come_in_time_is_closed(served_home, monkeypatch, sent):
    monkeypatch.setattr(request_guard, "HEADERS_S", 0.3)
    monkeypatch.setattr(request_guard, "BODY_S", 0.3)
    with serving(served_home) as url, ExitStack() as stack:
        assert b"200" not in rest_of(opened(stack, url, sent))


def test_a_client_has_only_so_many_connections_and_others_are_served(served_home, monkeypatch):
    monkeypatch.setattr(request_guard, "MOST_OF_CLIENT", 20)
    with serving(served_home) as url, ExitStack() as stack:
        held = [opened(stack, url) for _ in range(20)]
        assert [rest_of(opened(stack, url)) for _ in range(30)] == [b""] * 30
        held.pop().close()
        with httpx.Client(base_url=url, transport=httpx.HTTPTransport(retries=5), timeout=60) as client:
            assert client.get("/healthz").status_code == 200


def test_a_slow_body_that_keeps_coming_is_taken(served_home, monkeypatch):
    monkeypatch.setattr(request_guard, "BODY_S", 5.0)
    body = b'{"question": "How fast do bees fly in fog?"}'
    head = HALF.replace(b"100", str(len(body)).encode())[:-1]
    with serving(served_home) as url, ExitStack() as stack:
        made = opened(stack, url, head.replace(b"127.0.0.1", urlsplit(url).netloc.encode()))
        for at in range(0, len(body), 8):
            made.sendall(body[at : at + 8])
        assert made.recv(65536).startswith(b"HTTP/1.1 200")
