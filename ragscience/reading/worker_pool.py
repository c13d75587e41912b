"""Many files, a few worker processes: each file ends as a Document or as the problem that kept it from being one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from ragscience.errors import FileProblem
from ragscience.reading.worker_process import ReaderProcess
from ragscience.records import Document

__all__ = ["ReadingPool"]

_AHEAD = 2
"""Files that are read, or wait with their text in memory, for each worker."""


class ReadingPool:
    """Reads PDFs in at most `workers` processes, started when there is a file for them; use it in a `with`.

    A file that takes longer than `timeout_seconds`, crashes its worker or needs more than `memory_bytes` of address
    space is a FileProblem with reason "timeout", "crashed" or "too-large"; another worker takes the next file.
    `ocr` is the language in which pages without text are read by OCR, empty for not at all; each such page may take
    as long as a file. `layout` says when the layout model is asked ("never", "auto", "always"): each page of which it
    is may take as long, too, and a worker that has loaded it may have LAYOUT_MEMORY_BYTES more. No process is left when
    the `with` ends or a loop over `read_all` is left, however that happens.
    """

    def __init__(
        self, workers: int, timeout_seconds: float, memory_bytes: int, ocr: str = "", *, layout: str = "never"
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        self._workers = workers
        self._timeout_seconds = timeout_seconds
        self._memory_bytes = memory_bytes
        self._ocr = ocr
        self._layout = layout
        self._lock = threading.Lock()
        self._idle: list[ReaderProcess] = []
        self._busy: set[ReaderProcess] = set()
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; a `read_all` that is still open raises RuntimeError when it goes on."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for reader in self._busy:
                reader.kill()
        for reader in idle:
            reader.close()

    def read_all(self, paths: Iterable[Path], password: str = "") -> Iterator[tuple[Path, Document | FileProblem]]:
        """Each path with what became of it, in the order given, read ahead by a few files and no more.

        `paths` is taken up as far as is read; the password is tried on encrypted files. Raises RagScienceError where
        the workers cannot be started at all. One such loop at a time: leaving it ends whatever is being read.
        """
        ahead: deque[tuple[Path, Future[Document | FileProblem]]] = deque()
        abandoned = threading.Event()
        threads = ThreadPoolExecutor(self._workers, thread_name_prefix="reading")
        try:
            for path in paths:
                ahead.append((path, threads.submit(self._read, path, password, abandoned)))
                if len(ahead) >= self._workers * _AHEAD:
                    yield _next(ahead)
            while ahead:
                yield _next(ahead)
        finally:
            with self._lock:
                abandoned.set()
                for reader in self._busy:
                    reader.kill()
            threads.shutdown(cancel_futures=True)

    def _read(self, path: Path, password: str, abandoned: threading.Event) -> Document | FileProblem:
        reader = self._take(abandoned)
        try:
            return reader.read(path, password, self._ocr, layout=self._layout)
        finally:
            self._give_back(reader)

    def _take(self, abandoned: threading.Event) -> ReaderProcess:
        """A worker that waits for a file, or a new one, counted as busy. Raises RuntimeError when no one waits."""
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


def _next(
    ahead: deque[tuple[Path, Future[Document | FileProblem]]],
) -> tuple[Path, Document | FileProblem]:
    path, future = ahead.popleft()
    return path, future.result()
