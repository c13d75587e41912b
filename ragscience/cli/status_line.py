"""While a command starts and works: one line on the terminal that says so, wiped before any output; and Ctrl-C.

Nothing here imports a library, so that a sign is seen before typer and rich are there.
"""

import io
import os
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import RLock, Thread
from typing import Any, NoReturn, TextIO, cast

CANCELLED = 130
"""The exit code after Ctrl-C, as shells have it (128 + SIGINT)."""
STOPS = "Ctrl-C stops"
_SECONDS = 0.1
"""How often the line is drawn: a command that is done by then shows none."""
_ERASE = "\r\x1b[K"


class StatusLine:
    """`show("searching")` draws "searching…", from the first second on "searching… 8 s, Ctrl-C stops", on stderr.

    A thread draws it, only where stderr is a terminal and the command is not quiet. Whatever is written to stdout hides
    it, for good where stdout is a pipe, whose reader writes to the terminal when it likes; after a line on stderr it
    comes back.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._streams: tuple[TextIO, TextIO] | None = None
        self._text = self._drawn = self._stops = ""
        self._since = 0.0
        self._is_free = True
        """Whether the cursor is at the beginning of a line."""

    def begin(self, arguments: Sequence[str]) -> None:
        """Show "starting", unless stderr is no terminal or the arguments ask for quiet."""
        quiet = any(each == "--quiet" or (each[:1] == "-" and each[:2] != "--" and "q" in each) for each in arguments)
        if self._streams or quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            return
        self._streams = sys.stdout, sys.stderr
        sys.stdout = cast("TextIO", _Watched(sys.stdout, self.end if _is_pipe(sys.stdout) else self.hide))
        sys.stderr = cast("TextIO", _Watched(sys.stderr, self._before_line))
        self._text, self._stops, self._since = "starting", STOPS, time.monotonic()
        Thread(target=self._keep_drawing, daemon=True).start()

    def end(self, _: str = "") -> None:
        """Remove the line, and leave stdout and stderr as they were."""
        with self._lock:
            self.hide()
            if self._streams:
                sys.stdout, sys.stderr = self._streams
            self._streams = None

    def show(self, text: str, *, stops: str = STOPS, keeps_time: bool = False) -> None:
        """Say what is being done; the seconds go on where it is the same text, or with `keeps_time`."""
        with self._lock:
            if not self._text or (text != self._text and not keeps_time):
                self._since = time.monotonic()
            self._text, self._stops, self._is_free = text, stops, True
            self._draw()

    def show_in_handler(self, text: str, *, stops: str) -> None:
        """As `show`, in a signal's handler: who has the lock may wait for the write that the signal interrupted."""
        if self._lock.acquire(timeout=_SECONDS):
            try:
                self.show(text, stops=stops)
            finally:
                self._lock.release()
        else:  # the thread draws it
            self._text, self._stops = text, stops

    def hide(self, _: str = "") -> None:
        """Remove the line until the next `show`."""
        with self._lock:
            self._text = ""
            self._write("")

    def _before_line(self, text: str) -> None:
        with self._lock:
            self._write("")
            self._is_free = text.endswith("\n")

    def _keep_drawing(self) -> None:
        while True:
            time.sleep(_SECONDS)
            with self._lock:
                if not self._streams:
                    return
                self._draw()

    def _draw(self) -> None:
        if self._text and self._is_free:
            seconds = int(time.monotonic() - self._since)
            after = f"… {seconds} s, {self._stops}" if seconds else "…"
            self._write(_cut(self._text, shutil.get_terminal_size().columns - len(after) - 4) + after)

    def _write(self, line: str) -> None:
        """Draw it in place of what is drawn, past what watches the stream; a terminal that is gone shows nothing."""
        if self._streams and line != self._drawn:
            self._drawn = line
            try:
                self._streams[1].write(_ERASE + line)
                self._streams[1].flush()
            except RuntimeError:  # a signal's handler, in the middle of a write to the stream
                with suppress(OSError, ValueError):
                    os.write(self._streams[1].fileno(), (_ERASE + line).encode("utf-8", "replace"))
            except (OSError, ValueError):
                return


class _Watched:
    """A stream that says what is written to it, before it is."""

    def __init__(self, stream: TextIO, before: Callable[[str], None]) -> None:
        self._stream = stream
        self._before = before

    def write(self, text: str) -> int:
        if text:
            self._before(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _is_pipe(stream: TextIO) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # a stream without a descriptor
        return False


def _cut(text: str, columns: int) -> str:
    """As much of the text as fits into the columns."""
    if text.isascii():
        return text[: max(columns, 0)]
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= columns else set_cell_size(text, max(columns, 0)).rstrip()


STATUS = StatusLine()
"""That of the process, as it has one terminal."""


def start(arguments: Sequence[str]) -> None:
    """What every script does before it imports the rest: a sign of life, and Ctrl-C that ends the process at once.

    KeyboardInterrupt is no way out of an import: raised in a callback of the import system, it is printed and lost. An
    ignored SIGINT stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)
    _mend_streams()
    STATUS.begin(arguments)


def catch_interrupts() -> None:
    """Let SIGINT raise KeyboardInterrupt again, after `start`."""
    if signal.getsignal(signal.SIGINT) is _exit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def first_interrupt(act: Callable[[], None], *numbers: int) -> Iterator[None]:
    """The first of these signals calls `act`; a second one ends the process at once, whatever it does.

    For work that may be killed at any time. A signal that is ignored remains so. After the first one the command is
    about to end, and a second one ends it also in its last lines.
    """
    before = {number: signal.getsignal(number) for number in numbers}

    def first(number: int, _: object) -> None:
        signal.signal(number, _exit)
        act()

    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, first)
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not _exit:
                signal.signal(number, handler)


def _exit(*_: object) -> NoReturn:
    os.write(2, b"\r\x1b[Kstopped.\n" if os.isatty(2) else b"stopped.\n")
    os._exit(CANCELLED)


def _mend_streams() -> None:
    """Open standard streams that were closed, before a file takes their numbers; what they cannot encode is "?"."""
    while (handle := os.open(os.devnull, os.O_RDWR)) < 3:  # the lowest number that is free
        pass
    os.close(handle)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8")
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if os.name == "nt":
        os.system("")  # noqa: S605, S607 - from then on an older console understands colours
