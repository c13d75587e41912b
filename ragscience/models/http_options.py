"""HTTP options of the clients that LangChain calls: time limits, bounded replies, and a way to end a connection.

httpx is imported with the first call.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, cast

from ragscience.models.json_server import JsonServer, is_loopback, one_line
from ragscience.models.reply_limits import ReplyLimits, UnusableReply, when_over

__all__ = ["client_options"]

KEEPALIVE_SECONDS = 20
"""Interval of the system's own probes whether a silent server's machine is still there; after about nine it is not."""


def client_options(
    server: JsonServer, *, longest_line: int, read_seconds: float | None, media_type: str = ""
) -> dict[str, Any]:
    """Arguments for httpx: our timeouts, no redirects, no proxy for this machine, and no idle connections.

    The server may be silent for `read_seconds`; None: without a limit here. A connection is closed as soon as nobody
    wants the reply (`reply_limits.when_over`), and ends where the server's machine is gone. A reply with a line of more
    than `longest_line` bytes ends with UnusableReply, as does one that is compressed, whose bytes would say nothing of
    its length, and a good one that is not of the `media_type`, if one is given.
    """
    import httpx

    class LimitedStream(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            limits = ReplyLimits(longest_line=longest_line, seconds=server.timeout_seconds)
            for data in self._stream:
                limits.add(data)
                yield data

        def close(self) -> None:
            self._stream.close()

    def limit(response: httpx.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise UnusableReply("it is compressed")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
        if media_type and response.is_success and kind != media_type:
            raise UnusableReply(f"it is {one_line(kind) or 'of no type'} instead of {media_type}")
        response.stream = LimitedStream(cast("httpx.SyncByteStream", response.stream))

    def watch(request: httpx.Request) -> None:
        request.extensions["trace"] = _watch_connection

    local = is_loopback(server.url)
    options: dict[str, Any] = {
        "timeout": httpx.Timeout(server.timeout_seconds, connect=server.connect_seconds, read=read_seconds),
        "limits": httpx.Limits(max_keepalive_connections=0),
        "follow_redirects": False,
        "headers": {"accept-encoding": "identity"},
        "event_hooks": {"request": [watch], "response": [limit]},
        "trust_env": not local,
    }
    if local and server.url.startswith("http://"):
        # Reading the certificates takes longer than a question; a context without any trusts no server.
        options["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return options


def _watch_connection(name: str, details: Mapping[str, Any]) -> None:
    """What httpx tells of a request: the connection that it has made ends once nobody wants the reply."""
    if name not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
        return
    made: socket.socket = details["return_value"].get_extra_info("socket")
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), KEEPALIVE_SECONDS)
    when_over(partial(_end, made))


def _end(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        connection.shutdown(socket.SHUT_RDWR)
