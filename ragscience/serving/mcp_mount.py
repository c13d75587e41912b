"""`/mcp`: the tools for assistants over HTTP, whose packages are imported when the first assistant comes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request

from ragscience.serving.streamed_answers import LOOK_S

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ragscience.engine.library_engine import Engine

__all__ = ["McpMount"]


class McpMount:
    """The ASGI application of `/mcp`. Importing the SDK takes longer than all else of the server's start."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._app: ASGIApp | None = None
        self._opening = asyncio.Lock()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an assistant; cancel it where the client leaves: the SDK does not look for that."""
        request = Request(scope, receive)
        try:
            body = [await request.body()]  # what is too large is refused before anything is imported
        except ClientDisconnect:
            return

        async def replayed() -> Message:
            if not body:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": body.pop()}

        async with self._opening:
            app = self._app = self._app or await self._open()
        answering = asyncio.ensure_future(app(scope, replayed, send))
        while not answering.done():
            await asyncio.wait([answering], timeout=LOOK_S)
            if await request.is_disconnected():
                answering.cancel()
                await asyncio.wait([answering])
        if not answering.cancelled():
            answering.result()

    async def close(self) -> None:
        """End the calls that run."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _open(self) -> ASGIApp:
        app, sessions = await asyncio.to_thread(self._make)
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

        server = LibraryServer(self._engine)
        app = server.streamable_http_app(
            streamable_http_path="/mcp", stateless_http=True, json_response=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
        )  # fmt: skip
        return app, server.session_manager
