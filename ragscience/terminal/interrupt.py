"""Ctrl-C while a command starts, when the imports are not yet over: one line, no traceback."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

__all__ = ["CANCELLED", "catch_interrupts", "exit_at_interrupt"]

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


def _exit(*_: object) -> NoReturn:
    os.write(2, b"\r\x1b[Kstopped.\n" if os.isatty(2) else b"stopped.\n")
    os._exit(CANCELLED)
