"""What the guard refuses: foreign hosts and pages, large bodies; and the headers of every reply."""

import select
import socket

import pytest

from tests.serving.conftest import serving

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
        host = url.removeprefix("http://")
        name, _, port = host.partition(":")
        with socket.create_connection((name, int(port)), timeout=60) as connection:
            head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            connection.sendall((b"3e8\r\n" + b"x" * 1000 + b"\r\n") * 6)  # and the last chunk never comes
            reply = b"".join(iter(lambda: connection.recv(1 << 16), b""))  # until the server closes the connection
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in reply.lower()


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
