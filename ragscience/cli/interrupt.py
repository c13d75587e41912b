"""Ctrl-C while a command starts, or stops: one line, no traceback."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

__all__ = ["CANCELLED", "catch_interrupts", "exit_at_interrupt", "second_interrupt_leaves"]

CANCELLED = 130
"""The exit code after Ctrl-C, as shells have it (128 + SIGINT)."""


def exit_at_interrupt() -> None:
    """Let SIGINT end the process at once, as long as nothing is open; an ignored SIGINT stays ignored.

    KeyboardInterrupt is no way out of an import: raised in a callback of the import system, it is printed and lost.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)


def catch_interrupts() -> None:
    """Let SIGINT raise KeyboardInterrupt again, after `exit_at_interrupt`."""
    if signal.getsignal(signal.SIGINT) is _exit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def second_interrupt_leaves(on_first: Callable[[], None]) -> Iterator[None]:
    """SIGINT calls `on_first` and raises KeyboardInterrupt; a second one ends the process at once, whatever it does.

    For work that may be killed at any time. A SIGINT that is ignored, or handled otherwise, stays so.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def first(*_: object) -> NoReturn:
        signal.signal(signal.SIGINT, _exit)
        with suppress(RuntimeError):  # it may write while a write is under way
            on_first()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _exit(*_: object) -> NoReturn:
    os.write(2, b"\r\x1b[Kstopped.\n" if os.isatty(2) else b"stopped.\n")
    os._exit(CANCELLED)
