"""Requests as bytes, where a client would put them in order first; and what has to hold after every attack."""

import contextlib
import socket
from dataclasses import dataclass
from http.client import HTTPMessage, HTTPResponse

import httpx

REFUSED = range(400, 500)


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: HTTPMessage
    body: bytes


def port_of(address):
    return int(address.rpartition(":")[2])


def connected(address):
    return socket.create_connection(("127.0.0.1", port_of(address)), timeout=60)


def exchanged(address, data, method="GET"):
    """The first reply to these bytes; None where the connection ends without one."""
    with connected(address) as connection:
        with contextlib.suppress(ConnectionError):  # the server may refuse before all is sent
            connection.sendall(data)
        response = HTTPResponse(connection, method=method)
        try:
            response.begin()
            return Reply(response.status, response.headers, response.read())
        except ConnectionError:
            return None


def request(address, target="/healthz", *lines, method="GET", host=None, body=b""):
    """A request with these header lines; the right Host unless another is given, none where it is empty."""
    host = f"Host: 127.0.0.1:{port_of(address)}" if host is None else host
    head = [f"{method} {target} HTTP/1.1", *([host] if host else []), "Connection: close", *lines]
    if body and not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in lines):
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def check_problem(response):
    """A refusal of the program: problem+json with its status, a message and no word of the inside."""
    kind = response.headers["content-type"]
    assert kind == "application/problem+json", (response.status_code, response.text)
    problem = response.json()
    assert problem["status"] == response.status_code
    assert problem["detail"]
    assert "Traceback" not in response.text
    return problem


def state_of_library(address):
    """What no attack may change."""
    with httpx.Client(base_url=address, timeout=60) as client:
        papers = client.get("/api/v1/papers")
        assert papers.status_code == 200
        return {paper["md5"]: paper["file"] for paper in papers.json()["papers"]}
