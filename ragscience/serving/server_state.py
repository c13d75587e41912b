"""What all requests of a server share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.serving.server_options import ServerOptions

if TYPE_CHECKING:
    from asyncio import Task

    from anyio import CapacityLimiter
    from starlette.requests import Request

    from ragscience.engine.library_engine import Engine
    from ragscience.engine.page_files import PagePictures
    from ragscience.serving.access import AccessGate
    from ragscience.serving.ingest_queue import IngestQueue
    from ragscience.serving.map_cache import MapCache

__all__ = ["ServerState", "state_of"]


@dataclass(frozen=True, slots=True)
class ServerState:
    """The engine and its limits."""

    engine: Engine
    options: ServerOptions
    answers: CapacityLimiter
    queue: IngestQueue
    maps: MapCache
    warming: Task[None]
    """Loads what the first question needs."""
    gate: AccessGate
    pictures: PagePictures


def state_of(request: Request) -> ServerState:
    """What the server's requests share."""
    state: ServerState = request.app.state.shared
    return state
