"""Answers while they come: the engine works in a thread and sends its events; a client that leaves stops it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ragscience.core.errors import Cancelled
from ragscience.engine.events import Event

if TYPE_CHECKING:
    from anyio import CapacityLimiter
    from starlette.requests import Request


T = TypeVar("T")
Work = Callable[[Callable[[Event], None], threading.Event], T]
"""Does the work in a thread, given where its events go and the flag that ends it."""

LOOK_S = 0.25
"""Seconds between two looks at whether the client is still there."""

_running: set[threading.Event] = set()
"""The flags that end the works of this process."""


@dataclass(frozen=True, slots=True)
class Finished(Event):
    """The work is done."""

    result: object


@dataclass(frozen=True, slots=True)
class Failed(Event):
    """The work has failed, as expected or not."""

    error: BaseException


@contextmanager
def cancel_flag() -> Iterator[threading.Event]:
    """The flag that ends a work: set where the block is left, and by `end_answers`."""
    flag = threading.Event()
    _running.add(flag)
    try:
        yield flag
    finally:
        flag.set()
        _running.discard(flag)


def end_answers() -> None:
    """End all works of this process: the server stops."""
    for flag in tuple(_running):
        flag.set()


async def happenings(work: Work[T], limiter: CapacityLimiter) -> AsyncGenerator[Event]:
    """The events of the work as they come; the last is `Finished` or `Failed`.

    Closing the iterator sets the flag of the work and waits until it has ended. No more works run at once than the
    limiter lets in.
    """
    from anyio import to_thread

    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

    def put(event: Event) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    with cancel_flag() as cancel:
        task = asyncio.create_task(to_thread.run_sync(work, put, cancel, limiter=limiter))
        # Behind the events that the thread has sent before it ended.
        task.add_done_callback(lambda _: loop.call_soon(queue.put_nowait, None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            error = task.exception()
            yield Finished(task.result()) if error is None else Failed(_told(error))
        finally:
            cancel.set()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # looked at: else asyncio logs that of a question whose client has left


async def until_done(work: Work[T], limiter: CapacityLimiter, request: Request) -> T:
    """The result of the work; where the client leaves, the work is cancelled. Raises what the work raises."""
    from anyio import to_thread

    with cancel_flag() as cancel:

        async def watch() -> None:
            while not cancel.is_set():
                if await request.is_disconnected():
                    cancel.set()
                await asyncio.sleep(LOOK_S)

        watcher = asyncio.create_task(watch())
        try:
            return await to_thread.run_sync(work, lambda _: None, cancel, limiter=limiter)
        except Cancelled as error:
            raise _told(error) from error
        finally:
            watcher.cancel()


def _told(error: BaseException) -> BaseException:
    """The same for a client; one that is still there has its question cancelled by the end of the server alone."""
    if isinstance(error, Cancelled):
        return Cancelled("The server was stopped before the answer was ready.", "Ask again when it runs.")
    return error
