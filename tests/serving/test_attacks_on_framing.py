"""Attacks on the bytes between requests: lengths, chunks, headers, and what is no HTTP; each is refused."""

import contextlib

import pytest

from tests.serving.raw_requests import REFUSED, connected, exchanged, request

pytestmark = pytest.mark.usefixtures("unharmed")

JSON = "Content-Type: application/json"
QUESTION = b'{"question": "bees"}'


CHUNKED = "Transfer-Encoding: chunked"
SMUGGLED = b"GET /api/v1/papers HTTP/1.1\r\nHost: evil.example\r\n\r\n"
FRAMINGS = {
    "length-and-chunks": (("Content-Length: 6", CHUNKED), b"0\r\n\r\n" + SMUGGLED),
    "chunks-and-length": ((CHUNKED, "Content-Length: 6"), b"0\r\n\r\n" + SMUGGLED),
    "two-lengths": (("Content-Length: 5", "Content-Length: 50"), b"hello" + SMUGGLED),
    "list-of-lengths": (("Content-Length: 5, 50",), b"hello" + SMUGGLED),
    "signed-length": (("Content-Length: +5",), b"hello"),
    "negative-length": (("Content-Length: -5",), b"hello"),
    "hex-length": (("Content-Length: 0x5",), b"hello"),
    "length-in-other-digits": (("Content-Length: \xb2",), b"hello"),
    "length-of-4000-digits": ((f"Content-Length: {'9' * 4000}",), b"hello"),
    "other-coding": (("Transfer-Encoding: gzip, chunked",), b"0\r\n\r\n"),
    "unknown-coding": (("Transfer-Encoding: xchunked",), b"0\r\n\r\n"),
    "two-codings": ((CHUNKED, "Transfer-Encoding: identity"), b"0\r\n\r\n"),
    "space-before-colon": (("Content-Length : 5",), b"hello"),
    "bad-chunk-size": ((CHUNKED,), b"zz\r\nhello\r\n0\r\n\r\n"),
    "negative-chunk": ((CHUNKED,), b"-5\r\nhello\r\n0\r\n\r\n"),
    "huge-chunk-size": ((CHUNKED,), b"f" * 40 + b"\r\nhello\r\n0\r\n\r\n"),
    "folded-header": (("X-Long: a", " Content-Length: 5"), b""),
    "nul-in-header": (("X-Nul: a\x00b",), b""),
    "return-in-header": (("X-Return: a\rContent-Length: 5",), b""),
    "huge-header": ((f"X-Huge: {'a' * 200_000}",), b""),
    "many-headers": (tuple(f"X-{number}: {number}" for number in range(20_000)), b""),
    "no-name": ((": value",), b""),
}


@pytest.mark.parametrize(("lines", "body"), FRAMINGS.values(), ids=FRAMINGS)
def test_smuggling_by_framing(address, lines, body):
    """One refusal and the end of the connection: nothing behind it is read as a request."""
    data = request(address, "/api/v1/search", JSON, *lines, method="POST", body=body)
    with connected(address) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(data.replace(b"Connection: close\r\n", b""))
        reply = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        assert reply.count(b"HTTP/1.1 ") == 1
        assert int(reply.split(b" ", 2)[1]) in REFUSED


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00" * 1000,
        b"A" * 200_000,
        b"GET  / HTTP/1.1\r\n\r\n",
    ],
    ids=["tls", "http-0.9", "http-9.9", "nuls", "one-long-line", "two-spaces"],
)
def test_what_is_not_http(address, data):
    reply = exchanged(address, data)
    assert reply is None or reply.status in REFUSED


def test_requests_that_never_end_keep_nobody_waiting(address, client):
    with contextlib.ExitStack() as stack:
        for number in range(100):
            connection = stack.enter_context(connected(address))
            whole = request(address, "/api/v1/search", JSON, method="POST", body=QUESTION)
            connection.sendall(whole[: 20 + number % (len(whole) - 20)])
        for _ in range(5):
            assert client.post("/api/v1/search", json={"question": "bees"}).status_code == 200


@pytest.mark.parametrize(
    "name", ["Range", "If-Range", "If-None-Match", "If-Modified-Since", "Accept-Encoding", "Cookie", "Authorization"]
)
def test_headers_of_nonsense(client, papers, name):
    for value in ("bytes=" + "0-1," * 5000, "\xff" * 100, "%0d%0aX-Evil: 1", "bytes=9999999999999999999-", "W/" * 1000):
        for path in (f"/api/v1/papers/{next(iter(papers))}/file", "/", "/map", "/api/v1/papers"):
            response = client.get(path, headers=[(name.encode(), value.encode("latin-1"))])
            assert response.status_code < 500
            assert "x-evil" not in response.headers


def test_a_web_socket(address):
    lines = (
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    reply = exchanged(address, request(address, "/mcp", *lines))
    assert reply.status in REFUSED
