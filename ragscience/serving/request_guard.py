"""Refuses requests of foreign hosts and pages, and large ones, before they are read; adds safe headers to replies.

A page on another site can make a browser send requests to this machine, also under a host name that it lets point here
(DNS rebinding). So the `Host` has to be one that this server is known by, and a browser's `Origin` this server itself.
Connections that send too little are closed: each has a time for its request, and a client only so many of them.
"""

import asyncio
import logging
import time
from asyncio import constants
from collections import Counter
from collections.abc import Iterable, Mapping

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ragscience.core.system import raise_file_limit
from ragscience.serving.problem_responses import problem_response

UPLOADS = "/api/v1/uploads"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " font-src 'self' data:; connect-src 'self'; frame-src 'self'; worker-src 'self' blob:; manifest-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}
_SHORT = 1 << 16
"""Bytes of a body that is read although its request is refused."""
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def known_hosts(host: str, port: int, names: Iterable[str] = ()) -> frozenset[str]:
    """The values of `Host` that mean this server, in lower case: itself, and the `names` that the user gave.

    A server that listens on every address is known by loopback names and by `names` alone.
    """
    bare = f"[{host}]" if ":" in host else host
    own = LOOPBACK if host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "") else (bare,)  # noqa: S104
    found = {f"{name}:{port}" for name in own}
    found |= set(own) if port in (80, 443) else set()
    for name in names:
        found |= {name.lower(), f"{name.lower()}:{port}"}
    return frozenset(name.lower() for name in found)


class RequestGuard:
    """ASGI middleware around the whole app, the page, the API and MCP alike."""

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str], max_body: int, max_upload: int) -> None:
        self._app = app
        self._hosts = hosts
        self._max_body = max_body
        self._max_upload = max_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a web socket: there is none
        problem = self._problem(scope)
        if problem is not None:
            # What may come behind it on this connection is not read.
            await _read_short(scope, receive)
            await problem_response(*problem, {"Connection": "close"})(scope, receive, with_headers(send, _HEADERS))
            return
        await self._app(scope, _Limited(receive, self._limit(scope)), with_headers(send, _HEADERS))

    def _limit(self, scope: Scope) -> int:
        return self._max_upload if scope["path"] == UPLOADS else self._max_body

    def _problem(self, scope: Scope) -> tuple[int, str, str] | None:
        hosts = _all(scope, b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "This server is not known by that host name.", "Use the address that `query.py serve` printed."
        origins = _all(scope, b"origin")
        own = {f"{scheme}://{host}" for host in self._hosts for scheme in ("http", "https")}
        if any(origin.lower() not in own for origin in origins):
            return 403, "A page of another origin may not use this server.", "Open the server's own page."
        site = _all(scope, b"sec-fetch-site")
        if any(value not in ("same-origin", "none") for value in site) and not _is_navigation(scope):
            return 403, "Another site may not use this server.", "Open the server's own page."
        lengths, limit = _all(scope, b"content-length"), self._limit(scope)
        if lengths and _all(scope, b"transfer-encoding"):
            return 400, "The request has two lengths.", "Send Content-Length or Transfer-Encoding."
        if any(not length.isascii() or not length.isdigit() or int(length) > limit for length in lengths):
            return 413, f"The request is larger than {limit:,} bytes.", "Send less at a time."
        return None


def _is_navigation(scope: Scope) -> bool:
    """Whether a person followed a link here: a page is shown, nothing is changed."""
    mode = _all(scope, b"sec-fetch-mode")
    return scope["method"] in _SAFE_METHODS and mode == ["navigate"] and scope["path"] == "/"


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


async def _read_short(scope: Scope, receive: Receive) -> None:
    """Read a short body: a connection that is closed on unread bytes is reset, and the refusal may be lost with it."""
    lengths = _all(scope, b"content-length")
    if len(lengths) != 1 or _all(scope, b"transfer-encoding") or len(lengths[0]) > len(str(_SHORT)):
        return
    more = lengths[0].isascii() and lengths[0].isdigit() and int(lengths[0]) <= _SHORT
    while more:
        more = (await receive()).get("more_body", False)


class _Limited:
    """A body that ends in an error where it is longer than it may be, whatever its header says."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._left = limit

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                # What is still to come is not read.
                raise HTTPException(413, "The request is too large.", {"Connection": "close"})
        return message


def with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    """The same, with those of these headers that a reply lacks."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = MutableHeaders(scope=message)
            for name, value in headers.items():
                there.setdefault(name, value)
        await send(message)

    return sent


HEADERS_S = 15.0
"""Seconds from a connection, or from the first byte of its next request, to the end of the headers."""
BODY_S = 30.0
"""Seconds that a body may stand still."""
MOST = 800
"""Open connections."""
MOST_OF_CLIENT = 200
"""Open connections of one address; behind a proxy all come from one, and only `MOST` holds."""
_LOG_EVERY_S = 60.0


class BoundedConnection(H11Protocol):
    """A connection that is closed where its request does not come in time, or too many are open."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close it at once where there are too many."""
        super().connection_made(transport)
        mine = sum(isinstance(one, H11Protocol) and _host(one) == _host(self) for one in self.connections)
        if len(self.connections) > MOST or (mine > MOST_OF_CLIENT and not self.config.proxy_headers):
            transport.abort()
            return
        self._close_after(HEADERS_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._close_after(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take the bytes; what is still to come has its own time."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            if self._deadline is None:
                self._close_after(HEADERS_S)
        else:
            self._close_after(BODY_S if self.cycle.more_body else None)

    def _close_after(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        self._deadline = None
        if self.flow is not None and self.flow.read_paused:  # the server does not read on
            self._close_after(BODY_S)
        elif not self.transport.is_closing():
            self.transport.abort()


def _host(connection: H11Protocol) -> str:
    return connection.client[0] if connection.client else ""


class _Seldom(logging.Filter):
    """One record of each kind a minute: a storm of connections is no storm of lines."""

    def __init__(self) -> None:
        super().__init__()
        self._last: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        now, kind = int(time.monotonic()), str(record.msg)[:60]
        if kind in self._last and now - self._last[kind] < _LOG_EVERY_S:
            return False
        self._last[kind] = now
        return True


def bound_connections(config: uvicorn.Config) -> None:
    """Make a server, before it is loaded, close connections that send too little."""
    config.http = BoundedConnection
    raise_file_limit()
    if config.is_ssl:
        constants.SSL_HANDSHAKE_TIMEOUT = HEADERS_S  # uvicorn passes none on
    log = logging.getLogger("asyncio")
    if not any(isinstance(each, _Seldom) for each in log.filters):
        log.addFilter(_Seldom())
