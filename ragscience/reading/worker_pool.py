"""Many files, a few worker processes: each file becomes a Document or a FileProblem."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

from ragscience.core.errors import FileProblem
from ragscience.core.records import Document
from ragscience.core.system import Closing
from ragscience.reading.reader_process import READING_BYTES, READING_SECONDS, ReaderProcess

_AHEAD = 2
"""Files per worker that are being read, or wait with their text in memory."""
_LOOK_SECONDS = 0.2
"""While a loop waits for a file, its progress is looked at this often."""


Opened = Callable[[Path], AbstractContextManager[Path]]
"""The file to read for a path, for as long as it is read. Raises FileProblem where it cannot be had."""
Done = SimpleQueue[Future[Document | FileProblem]]
"""Gets a file's future when it is done: Ctrl-C while one waits for the future itself may leave its lock taken."""


class ReadingProgress:
    """Is told how far a pool's readers are; this one ignores it. The pages come from the readers' threads."""

    def page_done(self, path: Path, number: int, pages: int) -> None:
        """A page is done, of so many; page 0 of 0 where the reading of the file begins."""

    def waiting(self, path: Path) -> None:
        """The loop waits for this file; comes several times a second, in the thread of the loop."""


class ReadingPool(Closing):
    """Reads PDFs in at most `workers` processes, started when there is a file for them; use it in a `with`.

    A file that takes longer than `timeout_seconds`, crashes its worker or needs more than `memory_bytes` of address
    space is a FileProblem with reason "timeout", "crashed" or "too-large"; another worker takes the next file.
    `ocr` is the language for OCR of pages without text, empty for no OCR. Each page of it may take as long as a file.
    No process is left when the `with` or a loop over `read_all` ends, however that happens.
    """

    def __init__(
        self, workers: int, timeout_seconds: float = READING_SECONDS, memory_bytes: int = READING_BYTES, ocr: str = ""
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        self.workers = workers
        self._timeout_seconds = timeout_seconds
        self._memory_bytes = memory_bytes
        self.ocr = ocr
        self._lock = threading.Lock()
        self._idle: list[ReaderProcess] = []
        self._busy: set[ReaderProcess] = set()
        self._is_closed = False

    def close(self) -> None:
        """End all workers; an open `read_all` raises RuntimeError when it continues."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for reader in self._busy:
                reader.kill()
        for reader in idle:
            reader.close()

    def start(self) -> None:
        """Start a worker, unless there is one: it comes up meanwhile. Raises RagScienceError."""
        if not self._idle and not self._busy:
            self._give_back(ReaderProcess(self._timeout_seconds, self._memory_bytes, waits=False))

    def read_all(
        self,
        paths: Iterable[Path],
        password: str = "",
        progress: ReadingProgress | None = None,
        opened: Opened = nullcontext,
    ) -> Iterator[tuple[Path, Document | FileProblem]]:
        """Each path with its document or problem, in the given order, read ahead by a few files.

        `paths` is consumed as files are read; the password is for encrypted files; `opened` gives the file of a path,
        where it has another one. Raises what that raises but for FileProblem, and RagScienceError where the
        workers cannot be started. Only one such loop at a time: leaving it ends the reading.
        """
        progress = progress or ReadingProgress()
        ahead: deque[tuple[Path, Done]] = deque()
        abandoned = threading.Event()
        threads = ThreadPoolExecutor(self.workers, thread_name_prefix="reading")
        try:
            for path in paths:
                ahead.append((path, SimpleQueue()))
                future = threads.submit(self._read, path, password, abandoned, progress, opened)
                future.add_done_callback(ahead[-1][1].put)
                if len(ahead) >= self.workers * _AHEAD:
                    yield _next(ahead, progress)
            while ahead:
                yield _next(ahead, progress)
        finally:
            with self._lock:
                abandoned.set()
                for reader in self._busy:
                    reader.kill()
            threads.shutdown(cancel_futures=True)

    def _read(
        self, path: Path, password: str, abandoned: threading.Event, progress: ReadingProgress, opened: Opened
    ) -> Document | FileProblem:
        reader = self._take(abandoned)
        try:
            progress.page_done(path, 0, 0)
            on_page = partial(progress.page_done, path)
            with opened(path) as file:
                return reader.read(file, password, self.ocr, on_page=on_page)
        except FileProblem as problem:
            return problem
        finally:
            self._give_back(reader)

    def _take(self, abandoned: threading.Event) -> ReaderProcess:
        """An idle worker or a new one, now busy. Raises RuntimeError when the pool or the loop has ended."""
        reader = self._idle_reader() or ReaderProcess(self._timeout_seconds, self._memory_bytes)
        with self._lock:
            if not (self._is_closed or abandoned.is_set()):
                self._busy.add(reader)
                return reader
        reader.close()
        raise RuntimeError("the reading pool is closed")

    def _idle_reader(self) -> ReaderProcess | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                reader = self._idle.pop()
            if reader.is_alive:
                return reader
            reader.close()

    def _give_back(self, reader: ReaderProcess) -> None:
        with self._lock:
            self._busy.discard(reader)
            if reader.is_alive and not self._is_closed:
                self._idle.append(reader)
                return
        reader.close()


def _next(ahead: deque[tuple[Path, Done]], progress: ReadingProgress) -> tuple[Path, Document | FileProblem]:
    path, done = ahead.popleft()
    while True:
        try:
            future = done.get(timeout=_LOOK_SECONDS)
        except Empty:
            progress.waiting(path)
        else:
            return path, future.result()
