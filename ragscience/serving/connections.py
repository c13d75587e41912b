"""Connections that send too little: each has a time for its request, and a client only so many of them."""

from __future__ import annotations

import asyncio
import logging
import time
from asyncio import constants
from collections import Counter
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

from ragscience.core.system import raise_file_limit

if TYPE_CHECKING:
    import uvicorn

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
