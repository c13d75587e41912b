"""`/mcp`: the tools for assistants over HTTP, whose packages are imported when the first assistant comes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ragscience.engine.library_engine import Engine

__all__ = ["McpMount"]


class McpMount:
    """The ASGI application of `/mcp`. Importing the SDK is half of what the server's start would take."""

    def __init__(self, engine: Engine, hosts: frozenset[str], max_body: int) -> None:
        """`hosts` as `known_hosts` gives them; `max_body` in bytes."""
        self._engine = engine
        self._hosts = hosts
        self._max_body = max_body
        self._app: ASGIApp | None = None
        self._opening = asyncio.Lock()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an assistant; what is too large is refused before anything is imported."""
        body = await _body(receive)
        if body is None:
            return
        async with self._opening:
            if self._app is None:
                self._app = await self._open()
        await _while_connected(self._app, body, scope, receive, send)

    async def close(self) -> None:
        """End the calls that run."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _open(self) -> ASGIApp:
        from anyio import to_thread

        app, sessions = await to_thread.run_sync(self._make)
        ready = asyncio.Event()

        async def run() -> None:
            async with sessions.run():
                ready.set()
                await asyncio.Event().wait()  # until `close`

        self._running = asyncio.create_task(run())
        await ready.wait()
        return app

    def _make(self) -> tuple[ASGIApp, StreamableHTTPSessionManager]:
        from mcp.server.transport_security import TransportSecuritySettings

        from ragscience.serving.mcp_server import LibraryServer

        # The guard around all routes has checked Host and Origin of every request; the SDK checks them again.
        origins = [f"{scheme}://{host}" for host in self._hosts for scheme in ("http", "https")]
        server = LibraryServer(self._engine)
        app = server.streamable_http_app(
            streamable_http_path="/mcp",
            stateless_http=True,
            json_response=True,
            max_request_body_size=self._max_body,
            transport_security=TransportSecuritySettings(
                allowed_hosts=sorted(self._hosts), allowed_origins=sorted(origins)
            ),
        )
        return app, server.session_manager


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None where the client has left. Raises HTTPException where it is too large."""
    parts, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(parts)


async def _while_connected(app: ASGIApp, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
    """Run the request, and cancel it where the client leaves: the SDK looks for that in streamed replies alone."""
    import anyio

    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    gone = anyio.Event()

    async def replayed() -> Message:
        if waiting:
            return waiting.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()
            group.cancel_scope.cancel()

        group.start_soon(watch)
        await app(scope, replayed, send)
        group.cancel_scope.cancel()
