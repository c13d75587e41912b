"""Pieces that come from a server, read so that silence cannot hold up a cancellation, nor Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from math import inf
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TypeVar

from ragscience.core.errors import Cancelled

__all__ = ["Silence", "SilentReply", "UnusableReply", "cancellable", "when_over"]

_POLL_SECONDS = 0.1
"""Interval of the check for cancellation while the model is silent."""

T = TypeVar("T")


class UnusableReply(ValueError):
    """A reply that is longer, or slower, than any of use."""


@dataclass(frozen=True, slots=True)
class Silence:
    """How long a reply may be silent, in seconds."""

    first: float
    """Before its first piece: the model is loaded and reads the prompt."""
    between: float
    """Between two pieces."""


class SilentReply(UnusableReply):
    """A reply that was silent for longer than it may be: `seconds`; `has_begun`: a piece had come before."""

    def __init__(self, seconds: float, *, has_begun: bool) -> None:
        self.seconds = seconds
        self.has_begun = has_begun
        super().__init__(f"nothing came for {seconds:g} s")


class _Reading:
    """One reading of pieces: whether anybody still wants them, and what ends their source."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ends: list[Callable[[], None]] = []
        self.is_over = False

    def add(self, end: Callable[[], None]) -> None:
        with self._lock:
            self._ends.append(end)
            is_over = self.is_over
        if is_over:
            end()

    def stop(self) -> None:
        with self._lock:
            self.is_over = True
            ends, self._ends = self._ends, []
        for end in ends:
            end()


_reading: ContextVar[_Reading | None] = ContextVar("reading", default=None)
"""That of the thread which reads the pieces."""


def when_over(end: Callable[[], None]) -> None:
    """Call `end` once nobody wants what this thread reads for a `cancellable`, from another thread; else never."""
    reading = _reading.get()
    if reading is not None:
        reading.add(end)


def cancellable(
    pieces: Iterator[T], cancelled: Callable[[], bool], silence: Silence | None = None
) -> Generator[T, None, None]:
    """The same pieces, read in another thread, which is left alone when they are no longer wanted.

    Raises Cancelled, also where this is itself read by a `cancellable` that is over; raises SilentReply where the
    pieces are silent for longer than `silence`.
    """
    read: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
    outer, mine = _reading.get(), _Reading()
    if outer is not None:
        outer.add(mine.stop)  # at once, also while this waits for a piece

    def pump() -> None:
        _reading.set(mine)
        with suppress(BaseException):  # it is raised where the pieces are read
            try:
                for piece in pieces:
                    read.put((piece,))
                    if mine.is_over:
                        break
            finally:
                read.put(sys.exception())
                pieces.close()  # type: ignore[attr-defined]  # most are generators

    def is_over() -> bool:
        return cancelled() or (outer is not None and outer.is_over)

    def next_piece(limit: float) -> tuple[T] | BaseException | None:
        began = time.monotonic()
        while True:
            if is_over():
                raise Cancelled
            left = limit - (time.monotonic() - began)
            try:
                return read.get(timeout=min(_POLL_SECONDS, max(left, 0.001)))
            except Empty:
                if time.monotonic() - began >= limit:
                    raise SilentReply(limit, has_begun=has_begun) from None

    if is_over():
        raise Cancelled  # before anything is asked of a server
    has_begun = False
    first, between = (silence.first, silence.between) if silence is not None else (inf, inf)
    try:  # from before the thread begins: Ctrl-C may come at any point
        Thread(target=copy_context().run, args=(pump,), daemon=True).start()
        while (piece := next_piece(between if has_begun else first)) is not None:
            if isinstance(piece, BaseException):
                raise piece
            has_begun = True
            yield piece[0]
    finally:
        mine.stop()
