"""Results that are longer than the screen: through PAGER where a person watches, as they are everywhere else."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ragscience.cli.screen import console

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["paged"]

_USUAL = ("less", "more")
_LESS = "FRX"
"""less leaves when all fits on the screen, shows colours, and leaves the text on the screen."""


@contextmanager
def paged(*, is_long: bool = True) -> Iterator[Console]:
    """A console for one result, shown when it is complete; stdout as ever in a pipe, or without `is_long`.

    What an error leaves unfinished is shown without a pager.
    """
    pager = _pager() if is_long else []
    if not pager:
        yield console()
        return
    held = _Held()
    try:
        yield console(held)
    except BaseException:
        sys.stdout.write(held.getvalue())
        raise
    text = held.getvalue()
    if text.count("\n") < shutil.get_terminal_size().lines or not _shown_by(pager, text):
        sys.stdout.write(text)
    sys.stdout.flush()


class _Held(io.StringIO):
    """What is to be shown, for a terminal like stdout."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of stdout."""
        return sys.stdout.encoding

    def isatty(self) -> bool:
        """As stdout is."""
        return True


def _pager() -> list[str]:
    """The command and its options; empty where nobody watches, or for `cat`."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        return []
    try:
        wanted = shlex.split(os.environ.get("PAGER", ""))
    except ValueError:
        wanted = []
    command = wanted or [next(filter(shutil.which, _USUAL), "")]
    return [] if command[0] in ("", "cat") else command


def _shown_by(pager: list[str], text: str) -> bool:
    """Whether the pager could be started; Ctrl-C is then the pager's, and leaving it early is no failure."""
    environment = {"LESS": _LESS, **os.environ}
    before = signal.signal(signal.SIGINT, lambda *_: None)  # not SIG_IGN, which the pager would inherit
    try:
        running = subprocess.Popen(pager, stdin=subprocess.PIPE, env=environment)  # noqa: S603 - the person's own pager
        with suppress(BrokenPipeError):
            running.communicate(text.encode(sys.stdout.encoding, "replace"))
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
