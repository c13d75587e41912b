"""What a server's reply may cost: its length, the length and time of its lines, and a way out at any time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TypeVar

from ragscience.errors import Cancelled

__all__ = ["LONGEST_REPLY", "ReplyLimits", "UnusableReply", "cancellable"]

LONGEST_REPLY = 64 * 2**20
"""Bytes of a whole reply; a batch of embeddings takes a tenth of that."""
_POLL_SECONDS = 0.1
"""Interval of the check for cancellation while the model is silent."""

T = TypeVar("T")


class UnusableReply(ValueError):
    """A reply that is longer, or slower, than any of use."""


class ReplyLimits:
    """Counts one reply as its bytes come.

    A line must not be longer than `longest_line`, nor take longer than `seconds` from its first byte to its end; the
    reply must not be longer than `longest`. All are bytes. Where the two are the same, the reply counts as one line.
    """

    def __init__(self, *, longest_line: int, seconds: float, longest: int = LONGEST_REPLY) -> None:
        self._longest_line = longest_line
        self._longest = longest
        self._seconds = seconds
        self._size = self._line = 0
        self._begun = 0.0

    def add(self, data: bytes) -> None:
        """Count what came. Raises UnusableReply."""
        first, *more = data.split(b"\n") if self._longest_line < self._longest else [data]
        now = time.monotonic()
        if not self._line:
            self._begun = now
        if now - self._begun > self._seconds:
            raise UnusableReply(f"a line of it was not whole after {self._seconds:g} s")
        self._size += len(data)
        self._line += len(first)
        if self._size > self._longest:
            raise UnusableReply(f"it is longer than {self._longest:,} bytes")
        if max(self._line, *map(len, more), 0) > self._longest_line:
            raise UnusableReply(f"a line of it is longer than {self._longest_line:,} bytes")
        if more:
            self._line, self._begun = len(more[-1]), now


def cancellable(pieces: Iterator[T], cancelled: Callable[[], bool]) -> Generator[T, None, None]:
    """The same pieces, read in another thread: silence cannot hold up a cancellation. Raises Cancelled."""
    read: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
    abandoned = Event()

    def pump() -> None:
        with suppress(BaseException):  # it is raised where the pieces are read
            try:
                for piece in pieces:
                    read.put((piece,))
                    if abandoned.is_set():
                        break
            finally:
                read.put(sys.exception())
                pieces.close()  # type: ignore[attr-defined]  # most are generators

    Thread(target=copy_context().run, args=(pump,), daemon=True).start()
    try:
        while True:
            if cancelled():
                raise Cancelled
            try:
                piece = read.get(timeout=_POLL_SECONDS)
            except Empty:
                continue
            if piece is None:
                return
            if isinstance(piece, BaseException):
                raise piece
            yield piece[0]
    finally:
        abandoned.set()
