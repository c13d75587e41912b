"""The map of the library, drawn once for each state of it and kept in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from anyio import to_thread

from ragscience.engine.graph_runs import ServedMap

if TYPE_CHECKING:
    from ragscience.engine.library_engine import Engine

__all__ = ["MapCache"]


class MapCache:
    """Draws in a thread, one map at a time; who waits for it may leave, and the others still get it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._made: ServedMap | None = None
        self._drawing: asyncio.Task[ServedMap] | None = None

    async def state(self) -> str:
        """Of the library now, as of `LibraryGraph.state`."""
        return await to_thread.run_sync(self._engine.graph.state)

    async def get(self) -> ServedMap:
        """The map of the library as it is now, or later. Raises NothingFound for an empty library."""
        state = await self.state()
        if self._drawing is not None:
            await asyncio.wait([self._drawing])  # it may have begun before the last change
        if self._made is not None and self._made.state == state:
            return self._made
        if self._drawing is None:
            self._drawing = asyncio.create_task(self._draw())
        return await asyncio.shield(self._drawing)

    async def _draw(self) -> ServedMap:
        try:
            self._made = await to_thread.run_sync(self._engine.graph.served_map)
        finally:
            self._drawing = None
        return self._made
