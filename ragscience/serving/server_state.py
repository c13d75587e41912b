"""How a server is run, and what all of its requests share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

if TYPE_CHECKING:
    from anyio import CapacityLimiter
    from starlette.requests import Request

    from ragscience.engine.graph_runs import ServedMap
    from ragscience.engine.library_engine import Engine
    from ragscience.engine.page_files import PagePictures
    from ragscience.serving.access import AccessGate
    from ragscience.serving.ingest_queue import IngestQueue

__all__ = ["MapCache", "ServerOptions", "ServerState", "state_of"]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server is run."""

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    """Further host names that it is known by."""
    is_shared: bool = False
    """Whether other machines may reach it: it then needs a token of everybody."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    tls: tuple[Path, Path] | None = None
    """Files of the certificate and its key."""
    max_body: int = 1 << 20
    """Bytes of a request that is no upload."""
    max_upload: int = 200 << 20
    """Bytes of an upload."""
    answers: int = 8
    """Questions that are answered at once; others wait."""


class MapCache:
    """The map of the library, drawn in a thread once for each state of it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._made: ServedMap | None = None
        self._drawing = asyncio.Lock()

    async def state(self) -> str:
        """Of the library now, as of `LibraryGraph.state`."""
        return await to_thread.run_sync(self._engine.graph.state)

    async def get(self) -> ServedMap:
        """The map of the library as it is now, or later. Raises NothingFound for an empty library."""
        async with self._drawing:
            if self._made is None or self._made.state != await self.state():
                self._made = await to_thread.run_sync(self._engine.graph.served_map)
            return self._made


@dataclass(frozen=True, slots=True)
class ServerState:
    """The engine and its limits."""

    engine: Engine
    options: ServerOptions
    answers: CapacityLimiter
    queue: IngestQueue
    maps: MapCache
    warming: asyncio.Task[None]
    """Loads what the first question needs."""
    gate: AccessGate
    pictures: PagePictures


def state_of(request: Request) -> ServerState:
    """What the server's requests share."""
    state: ServerState = request.app.state.shared
    return state
