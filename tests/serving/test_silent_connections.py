"""Connections that send nothing, half a request, or come by the hundred."""

import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest

from ragscience.serving import request_guard
from tests.serving.conftest import serving

HALF = b"POST /api/v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


def opened(stack, url, first=b""):
    made = stack.enter_context(socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=60))
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
