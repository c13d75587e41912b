"""A process that reads PDFs, which may crash, hang or use up the memory without harm to the one that asks it."""

import io
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from ragscience.core import PACKAGE_ROOT
from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.core.records import Document, PageShape
from ragscience.core.serialization import from_json, to_json
from ragscience.core.system import GROUP_OF_ITS_OWN
from ragscience.reading.pdf_file import MarkedPage
from ragscience.reading.text_cleaning import clean_text, printable_name

T = TypeVar("T", Document, int, PageShape)

READING_SECONDS = 60.0
"""Most for one file: the longest that was measured, a book of 900 pages, took 25."""
READING_BYTES = 1 << 30
"""Address space of a process that reads; a paper needs 200 MB, a book of pictures 700."""
_START_SECONDS = 120.0
"""For the interpreter and its imports: 0.3 s on a warm machine, much more from a cold network disk."""
_ALARM_AFTER = 2.0
"""A worker whose pool is gone ends after so many times the limit of a file."""
_READ_BYTES = 1 << 20


class ReaderProcess:
    """A running worker. `read` may be called from one thread at a time, `kill` from any.

    `timeout_seconds` is for one file; each page read by OCR has as long again. `memory_bytes`
    limits the worker's address space. Raises RagScienceError where the worker does not start; without `waits` the
    worker starts meanwhile, and the first request raises.
    """

    def __init__(
        self, timeout_seconds: float = READING_SECONDS, memory_bytes: int = READING_BYTES, *, waits: bool = True
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._ended = threading.Event()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process, closed with it
        alarm_seconds = timeout_seconds * _ALARM_AFTER
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our own module
                # -P: a module in the user's current folder must not replace a real one.
                [sys.executable, "-P", "-m", "ragscience.reading.worker", str(memory_bytes), str(alarm_seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                env={**os.environ, "PYTHONPATH": _python_path()},
                start_new_session=True,  # Ctrl-C is for the pool, which then ends its workers
                creationflags=GROUP_OF_ITS_OWN,
            )
        except OSError as error:
            self._errors.close()
            raise _no_start(str(error)) from error
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101 - for the type
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        # A thread, as nothing else waits for a pipe with a time limit on every system.
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._is_ready = False
        if waits:
            self._require_ready()

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can read a file."""
        return not self._ended.is_set() and self._process.poll() is None

    def read(
        self, path: Path, password: str, ocr: str = "", *, on_page: Callable[[int, int], None] = lambda *_: None
    ) -> Document | FileProblem:
        """The document or the problem of a file; a worker that crashes, hangs or lacks memory ends.

        `on_page` gets the number of each page that is done, and how many there are.
        """
        return self._asked(Document, ["read", path.absolute(), password, ocr], on_page)

    def count(self, path: Path) -> int | FileProblem:
        """The number of pages of a file, or its problem."""
        return self._asked(int, ["count", path.absolute()])

    def mark(self, path: Path, target: Path, pages: Sequence[MarkedPage]) -> int | FileProblem:
        """Write marked copies of a file's pages to `target`; gives how many quotes have no place on them."""
        return self._asked(int, ["mark", path.absolute(), target.absolute(), pages])

    def join(self, paths: Sequence[Path], target: Path) -> int | FileProblem:
        """Join files of `mark` to `target`; gives how many pages it has."""
        return self._asked(int, ["join", target.absolute(), *(path.absolute() for path in paths)])

    def draw(self, path: Path, page: int, width: int, target: Path) -> PageShape | FileProblem:
        """Write a picture of a page to `target` unless the width is 0; gives the page's shape. See `draw_page`."""
        return self._asked(PageShape, ["draw", path.absolute(), page, width, target.absolute()])

    def _asked(
        self, kind: type[T], request: list[object], on_page: Callable[[int, int], None] = lambda *_: None
    ) -> T | FileProblem:
        """The reply to a request for a file, a `kind`, or what happened to the worker with it."""
        if not self._is_ready:
            self._require_ready()
        name = printable_name(Path(str(request[1])))
        fix = "Skip it, or save it again with another program."
        try:
            self._stdin.write(to_json(request, ascii_only=True).encode("ascii") + b"\n")
            deadline = time.monotonic() + self._timeout_seconds
            said, value = self._reply(deadline)
            while said == "page":
                number, pages, is_slow = value
                on_page(number, pages)
                if is_slow:
                    deadline = time.monotonic() + self._timeout_seconds
                said, value = self._reply(deadline)
        except TimeoutError:
            self.kill()
            return FileProblem(f"{name} took longer to read than {self._timeout_seconds:g} s.", fix, reason="timeout")
        except BrokenPipeError:
            return FileProblem(f"{name} made the PDF reader crash: {self._how_it_ended()}.", fix, reason="crashed")
        if said == "done":
            return from_json(kind, value)
        if value["reason"] == "too-large":
            # Its memory is fragmented, and the next file may need all of it.
            self.kill()
        return FileProblem(value["message"], value["fix"], reason=value["reason"])

    def kill(self) -> None:
        """End the process now; a `read` that waits for it returns."""
        self._ended.set()
        self._process.kill()

    def close(self) -> None:
        """End the process, wait for it, and release its resources."""
        self.kill()
        self._process.wait()
        self._stdin.close()
        self._listener.join()
        self._errors.close()

    def _require_ready(self) -> None:
        """Wait until the worker has imported what it needs. Raises RagScienceError."""
        try:
            self._reply(time.monotonic() + _START_SECONDS)
            self._is_ready = True
            return
        except BrokenPipeError:
            how = self._how_it_ended()
        except TimeoutError:
            how = f"no sign of life for {_START_SECONDS:g} s"
        self.close()
        raise _no_start(how)

    def _reply(self, deadline: float) -> tuple[str, Any]:
        """The next thing that the worker says, with its value.

        Raises TimeoutError after `deadline`, BrokenPipeError when the worker has ended.
        """
        try:
            line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if not line:
            raise BrokenPipeError
        ((said, value),) = json.loads(line).items()
        return said, value

    def _listen(self) -> None:
        with io.BufferedReader(cast("io.FileIO", self._stdout), _READ_BYTES) as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(b"")

    def _how_it_ended(self) -> str:
        """Exit code or signal, with the last line of stderr."""
        code = self._process.wait()
        if code < 0:
            how = signal.Signals(-code).name
            return f"{how}, perhaps for lack of memory" if how == "SIGKILL" else how
        self._errors.seek(0)
        lines = clean_text(self._errors.read().decode(errors="replace")).split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"exit code {code}" + (f" ({last[:200]})" if last else "")


class KeptReader:
    """A worker process that is there when it is needed: a new one after a file has cost the last one.

    For one thread at a time.
    """

    def __init__(self) -> None:
        self._reader: ReaderProcess | None = None

    def reader(self) -> ReaderProcess:
        """One that is alive. Raises RagScienceError where none comes up."""
        if self._reader is None or not self._reader.is_alive:
            self.close()
            self._reader = ReaderProcess(READING_SECONDS, READING_BYTES)
        return self._reader

    def close(self) -> None:
        """End it, until it is needed again."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


def _python_path() -> str:
    """PYTHONPATH with this package's folder first."""
    root = str(PACKAGE_ROOT)
    return os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))


def _no_start(how: str) -> RagScienceError:
    return RagScienceError(f"The PDF reader does not start: {how}.", "Install the requirements again: make setup")
