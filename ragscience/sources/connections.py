"""Connections that go where they were allowed to go, and end when their time is over."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore

from ragscience.sources.allowed_addresses import Resolver, allowed_addresses
from ragscience.sources.rate_limits import Deadline

__all__ = ["CheckedBackend"]

_MOST_ADDRESSES = 4
"""Of one name that are tried, one after the other."""


class CheckedBackend(httpcore.NetworkBackend):
    """Looks a name up once, checks what came out, and connects to exactly that.

    httpcore gives TLS the name that was asked for, so certificates are still checked against it.
    """

    def __init__(self, resolve: Resolver, deadline: Deadline, *, allow_loopback: bool) -> None:
        self._resolve = resolve
        self._deadline = deadline
        self._allow_loopback = allow_loopback
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first allowed address that answers. Raises SourceError and httpcore's ConnectError."""
        addresses = allowed_addresses(host, port, self._resolve, allow_loopback=self._allow_loopback)
        last: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in addresses[:_MOST_ADDRESSES]:
            seconds = _sooner(timeout, self._deadline.left(host))
            try:
                stream = self._sockets.connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
            else:
                return _TimedStream(stream, host, self._deadline)
        assert last is not None  # noqa: S101 - for the type: there is at least one address
        raise last


class _TimedStream(httpcore.NetworkStream):
    """A stream that also ends when the time of the whole file is over, however little comes at once."""

    def __init__(self, stream: httpcore.NetworkStream, host: str, deadline: Deadline) -> None:
        self._stream = stream
        self._host = host
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _sooner(timeout, self._deadline.left(self._host)))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _sooner(timeout, self._deadline.left(self._host)))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = _sooner(timeout, self._deadline.left(self._host))
        stream = self._stream.start_tls(ssl_context, server_hostname, seconds)
        return _TimedStream(stream, self._host, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _sooner(timeout: float | None, left: float) -> float:
    return left if timeout is None else min(timeout, left)
