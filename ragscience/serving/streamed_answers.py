"""Answers while they come: the engine works in a thread and sends its events; a client that leaves stops it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ragscience.engine.events import Event

if TYPE_CHECKING:
    from anyio import CapacityLimiter
    from starlette.requests import Request

__all__ = ["Failed", "Finished", "happenings", "until_done"]

T = TypeVar("T")
Work = Callable[[Callable[[Event], None], threading.Event], T]
"""Does the work in a thread, given where its events go and the flag that ends it."""

LOOK_S = 0.25
"""Seconds between two looks at whether the client is still there."""


@dataclass(frozen=True, slots=True)
class Finished(Event):
    """The work is done."""

    result: object


@dataclass(frozen=True, slots=True)
class Failed(Event):
    """The work has failed, as expected or not."""

    error: BaseException


async def happenings(work: Work[T], limiter: CapacityLimiter) -> AsyncIterator[Event]:
    """The events of the work as they come; the last is `Finished` or `Failed`.

    Closing the iterator sets the flag of the work and waits until it has ended. No more works run at once than the
    limiter lets in.
    """
    from anyio import to_thread

    loop, queue, cancel = asyncio.get_running_loop(), asyncio.Queue[Event | None](), threading.Event()

    def put(event: Event) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    task = asyncio.create_task(to_thread.run_sync(work, put, cancel, limiter=limiter))
    # Behind the events that the thread has sent before it ended.
    task.add_done_callback(lambda _: loop.call_soon(queue.put_nowait, None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        error = task.exception()
        yield Finished(task.result()) if error is None else Failed(error)
    finally:
        cancel.set()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # looked at: else asyncio logs that of a question whose client has left


async def until_done(work: Work[T], limiter: CapacityLimiter, request: Request) -> T:
    """The result of the work; where the client leaves, the work is cancelled. Raises what the work raises."""
    from anyio import to_thread

    cancel = threading.Event()

    async def watch() -> None:
        while not cancel.is_set():
            if await request.is_disconnected():
                cancel.set()
            await asyncio.sleep(LOOK_S)

    watcher = asyncio.create_task(watch())
    try:
        return await to_thread.run_sync(work, lambda _: None, cancel, limiter=limiter)
    finally:
        cancel.set()
        watcher.cancel()
