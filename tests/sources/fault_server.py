"""A real HTTP server on loopback that does what a script says, also what no HTTP server should do.

    with FaultServer() as server:
        server.on("/a.pdf", Reply(body=pdf, headers={"ETag": '"1"'}, cut_after=1000), Reply(status=503))
        server.on("/b.pdf", Raw(b"HTTP/1.1 200 OK\\r\\nX: ", endless=b"x" * 1000))
        ...
        assert server.asked("/a.pdf")[0].headers["host"] == "127.0.0.1"

Each request of a path takes the next of its replies, the last one again and again; a function is called with the
request and gives the reply.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; header names in lower case."""

    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Reply:
    """An answer with status line and headers; Content-Length is right unless `headers` has another one."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/pdf"
    length: int | None = -1
    """What Content-Length says: -1 the truth, None nothing."""
    chunked: bool = False
    cut_after: int | None = None
    """The connection is cut, without a goodbye, after so many bytes of the body."""
    endless: bytes = b""
    """Sent again and again behind the body, until the client leaves."""


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, and then `endless` again and again until the client leaves."""

    data: bytes = b""
    endless: bytes = b""
    holds: bool = False
    """The connection is kept open, in silence, until the client leaves."""


Scripted = Reply | Raw | Callable[[Asked], "Reply | Raw"]


class FaultServer:
    """The server; a context manager that listens on a free loopback port, with TLS where a context for it is given."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Asked] = []
        self._tls = tls
        self._scripts: dict[str, list[Scripted]] = {}
        self._taken: dict[str, int] = defaultdict(int)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self._is_closed = False

    def on(self, path: str, *replies: Scripted) -> str:
        """Script a path (without its query); its URL."""
        with self._lock:
            self._scripts[path] = list(replies)
            self._taken[path] = 0
        return self.url + path

    def asked(self, path: str) -> list[Asked]:
        """The requests of a path, in the order of their arrival."""
        with self._lock:
            return [request for request in self.requests if request.path.partition("?")[0] == path]

    @property
    def port(self) -> int:
        return self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> FaultServer:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed = True
        # Wakes the thread that waits in accept(), which closing the socket does not do everywhere.
        socket.create_connection(self._listener.getsockname()).close()
        self._accepting.join()
        self._listener.close()
        with self._lock:
            for connection in self._open:
                _hang_up(connection)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._is_closed:
                connection.close()
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            asked = _read_request(connection)
            if asked is not None:
                self._answer(connection, asked)
        except OSError:
            pass  # the client has left, which many of these tests are about
        finally:
            with self._lock:
                self._open = {one for one in self._open if one.fileno() != -1 and one is not connection}
            connection.close()

    def _answer(self, connection: socket.socket, asked: Asked) -> None:
        with self._lock:
            self.requests.append(asked)
            path = asked.path.partition("?")[0]
            script = self._scripts.get(path, [Reply(b"nothing here", 404, content_type="text/plain")])
            scripted = script[min(self._taken[path], len(script) - 1)]
            self._taken[path] += 1
        reply = scripted if isinstance(scripted, Reply | Raw) else scripted(asked)
        if isinstance(reply, Reply):
            reply = _written(reply, connection)
        connection.sendall(reply.data)
        while reply.endless:
            connection.sendall(reply.endless)
        if reply.holds:
            connection.recv(1)


def _written(reply: Reply, connection: socket.socket) -> Raw:
    """A reply as bytes. One that is cut is sent here, as the connection is then reset."""
    head = {"Content-Type": reply.content_type, **reply.headers}
    body = reply.body
    if reply.chunked:
        head["Transfer-Encoding"] = "chunked"
        body = b"%x\r\n%b\r\n" % (len(body), body) + (b"" if reply.cut_after is not None else b"0\r\n\r\n")
    elif reply.length is not None and not reply.endless:
        head["Content-Length"] = str(len(body) if reply.length == -1 else reply.length)
    phrase = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else "Odd"
    lines = [
        f"HTTP/1.1 {reply.status} {phrase}",
        *(f"{name}: {value}" for name, value in head.items() if value),
        "",
        "",
    ]
    data = "\r\n".join(lines).encode("utf-8", "surrogateescape")
    return Raw(data + body[: reply.cut_after], endless=reply.endless)


def _read_request(connection: socket.socket) -> Asked | None:
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65536)
        if not piece:
            return None
        received += piece
    first, *rest = received.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
    pairs = (line.partition(":") for line in rest)
    return Asked(first.split()[1], {name.strip().lower(): value.strip() for name, _, value in pairs})


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # it may be gone already
        connection.shutdown(socket.SHUT_RDWR)
