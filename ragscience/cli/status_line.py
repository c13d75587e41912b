"""The last line of a terminal: what a command is doing and for how long; removed without trace before the result.

`STATUS.show("reading attention.pdf, page 3 of 15")` draws "reading attention.pdf, page 3 of 15…", and from the first
second on "… 8 s, Ctrl-C stops". It is drawn on stderr, only where that is a terminal and the command is not quiet.
Nobody needs to remove it: whatever is written to the terminal removes it first.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from threading import Event, RLock, Thread
from typing import Any, TextIO, cast

__all__ = ["STATUS", "STOPS", "StatusLine"]

FIRST_SECONDS = 0.05
"""A command that is done by then shows no line."""
LOOK_SECONDS = 0.05
"""Interval of the look whether the line has changed."""
STOPS = "Ctrl-C stops"
_ERASE = "\r\x1b[K"
_ECHO = "^C"
"""What a terminal writes behind the line when Ctrl-C is typed; both are removed, as they fit into one line."""
_COLUMNS = 80
"""Where the width of the terminal is not known."""


class StatusLine:
    """One line that is redrawn in place by a thread of its own. All methods may be called from any thread.

    It does nothing between `end` and `begin`. After a line on stderr it comes back; after anything else that somebody
    writes (a result on stdout, a prompt, a progress bar) only with the next `show`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds that never go back."""
        self._clock = clock
        self._lock = RLock()
        self._terminal: TextIO | None = None
        self._streams: tuple[TextIO, TextIO] | None = None
        self._ended = Event()
        self._thread: Thread | None = None
        self._text = self._drawn = ""
        self._stops = STOPS
        self._since = self._first = 0.0
        self._is_free = True
        """Whether the cursor is at the beginning of a line."""

    def begin(self, arguments: Sequence[str] = ()) -> None:
        """Show "starting…" if this takes a while, unless stderr is no terminal or the `arguments` ask for quiet."""
        if self._terminal is not None or not _is_wanted(arguments):
            return
        self._terminal, self._streams = sys.stderr, (sys.stdout, sys.stderr)
        if sys.stdout.isatty():
            sys.stdout = cast("TextIO", _Watched(sys.stdout, self._before_result))
        sys.stderr = cast("TextIO", _Watched(sys.stderr, self._before_line))
        self._since = self._clock()
        self._first, self._text = self._since + FIRST_SECONDS, "starting"
        self._ended = Event()
        self._thread = Thread(target=self._redraw, args=(self._ended,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Remove the line, and leave stdout and stderr as they were before `begin`."""
        self.hide()
        self._ended.set()
        if self._thread is not None:
            self._thread.join(1.0)
        with self._lock:
            if self._streams is not None:
                sys.stdout, sys.stderr = self._streams
            self._terminal = self._streams = self._thread = None

    def show(self, text: str, *, stops: str = STOPS, keeps_time: bool = False) -> None:
        """Say what is being done: `text`, without "…" at its end, then the seconds since it began and `stops`.

        They are those of the line before if `keeps_time`, else counted from now where the text is another one.
        """
        with self._lock:
            if self._terminal is None:
                return
            if not self._text or (text != self._text and not keeps_time):
                self._since = self._clock()
            self._text, self._stops, self._is_free, self._first = text, stops, True, 0.0
            self._draw()

    def hide(self) -> None:
        """Remove the line until the next `show`."""
        with self._lock:
            self._text = ""
            self._erase()

    def _redraw(self, ended: Event) -> None:
        while not ended.wait(LOOK_SECONDS):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        now = self._clock()
        if not self._text or not self._is_free or self._terminal is None or now < self._first:
            return
        seconds = int(now - self._since)
        behind = f" {seconds} s, {self._stops}" if seconds else ""
        line = _cut(self._text, behind, _columns(self._terminal) - len(_ECHO) - 1)
        if line != self._drawn:
            self._drawn = line  # before it is written: a line that Ctrl-C cuts is removed, too
            self._write(_ERASE + line)

    def _erase(self) -> None:
        if self._drawn:
            self._write(_ERASE)
            self._drawn = ""

    def _write(self, text: str) -> None:
        """To the terminal, past what watches it; a terminal that is gone shows nothing."""
        if self._terminal is None:
            return
        try:
            encoding = self._terminal.encoding or "utf-8"
            if not encoding.lower().startswith("utf"):
                text = text.replace("…", "...").encode(encoding, "replace").decode(encoding)
            self._terminal.write(text)
            self._terminal.flush()
        except (OSError, ValueError):
            self._text = ""
            self._ended.set()

    def _before_line(self, text: str) -> None:
        """Somebody writes to stderr: the line comes back behind a whole line of plain text."""
        with self._lock:
            self._erase()
            self._is_free = text.endswith("\n")
            if "\x1b" in text or "\r" in text:
                self._text = ""

    def _before_result(self, _: str) -> None:
        self.hide()


class _Watched:
    """A stream to the terminal that says what is written to it, before it is."""

    def __init__(self, stream: TextIO, before: Callable[[str], None]) -> None:
        self._stream = stream
        self._before = before

    def write(self, text: str) -> int:
        if text:
            self._before(text)
        return self._stream.write(text)

    def writelines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _is_wanted(arguments: Sequence[str]) -> bool:
    is_quiet = any(each == "--quiet" or (each[:1] == "-" and each[:2] != "--" and "q" in each) for each in arguments)
    return not is_quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _columns(terminal: TextIO) -> int:
    try:
        return os.get_terminal_size(terminal.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS


def _cut(text: str, behind: str, columns: int) -> str:
    """The text, cut so that all of `behind` fits into the columns with it, and in a narrow terminal nothing else."""
    room = columns - len(behind) - 1
    if room < 1:
        return f"{text}…{behind}"[: max(columns, 0)] if text.isascii() else ""
    if text.isascii():
        return f"{text[:room]}…{behind}"
    from rich.cells import cell_len, set_cell_size

    return f"{text if cell_len(text) <= room else set_cell_size(text, room).rstrip()}…{behind}"


STATUS = StatusLine()
"""That of the process, as it has one terminal."""
