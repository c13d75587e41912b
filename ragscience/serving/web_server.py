"""Runs the application until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.core.errors import UsageError
from ragscience.serving.server_app import make_app
from ragscience.serving.server_state import ServerOptions
from ragscience.serving.streamed_answers import end_answers

if TYPE_CHECKING:
    from types import FrameType

    import uvicorn

    from ragscience.engine.library_engine import Engine

__all__ = ["run_server"]

GRACE_S = 10
"""Seconds that running answers get at the end, before they are ended with an error."""
LAST_S = 5
"""Seconds that they then get to say so."""


def run_server(engine: Engine, options: ServerOptions, on_listening: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `on_listening` gets the address once requests are taken. Raises UsageError.

    Port 0 takes one that is free.
    """
    import uvicorn

    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio sends no half packet
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"{options.host}:{options.port} cannot be listened on: {error.strerror}.", "Give another --port."
        ) from error
    with listener:
        port = listener.getsockname()[1]
        app = make_app(engine, replace(options, port=port))
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, date_header=True, lifespan="on",
            timeout_graceful_shutdown=GRACE_S + LAST_S, ws="none",
            proxy_headers=bool(options.proxies), forwarded_allow_ips=list(options.proxies),
            ssl_certfile=options.tls[0] if options.tls else None, ssl_keyfile=options.tls[1] if options.tls else None,
        )  # fmt: skip
        config.load()
        if config.ssl is not None:
            config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
        host = f"[{options.host}]" if ":" in options.host else options.host
        scheme = "http"
        if options.tls:  # a certificate is made out to a name
            scheme, host = "https", (options.names or (host,))[0]
        listener.listen(128)
        on_listening(f"{scheme}://{host}:{port}/")
        _server_of(config).run(sockets=[listener])


def _server_of(config: uvicorn.Config) -> uvicorn.Server:
    """A server that SIGINT and SIGTERM end in order, a second one at once; uvicorn's own raises them again behind."""
    import uvicorn
    from sse_starlette.sse import AppStatus

    AppStatus.enable_automatic_graceful_drain = False  # it would cut streams off at the signal

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
            if self.should_exit:
                os._exit(128 + sig)  # what is kept is on disk, and no lock outlives a process
            self.should_exit = True

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            ending = asyncio.get_running_loop().call_later(GRACE_S, end_answers)
            try:
                await super().shutdown(sockets)
            finally:
                ending.cancel()

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    return Server(config)
