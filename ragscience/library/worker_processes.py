"""Workers as processes of this machine, each on one core; they end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from ragscience.core.errors import RagScienceError
from ragscience.library.paper_task import PaperJob, TaskOptions, close_readers, embed_paper
from ragscience.library.task_window import PaperWorkers, Task, TaskResult
from ragscience.reading.text_cleaning import printable_name

__all__ = ["WORKER_BYTES", "WorkerProcesses"]

WORKER_BYTES = 400 * 2**20
"""What a worker takes with its reading process: measured on papers of up to 60 pages."""
_DEATHS = 3
"""The workers may die so many times while one paper is waited for: together they are started again."""


class WorkerProcesses(PaperWorkers):
    """At most `workers` processes. One that dies costs the others their papers, which are all read again."""

    def __init__(self, workers: int, options: TaskOptions, job_of: Callable[[Path], PaperJob]) -> None:
        super().__init__(options, job_of)
        self._count = workers
        self._deaths = 0
        self._begin()

    @property
    def workers(self) -> int:
        """How many there are."""
        return self._count

    def _end(self) -> None:
        # Whatever the workers do, they end with the pipe, and the processes that read for them with them.
        self._mine.close()
        self._executor.shutdown(cancel_futures=True)
        self._theirs.close()

    def _begin(self) -> None:
        # Not forked: this process has threads.
        context = multiprocessing.get_context("spawn")
        self._theirs, self._mine = context.Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(self._count, context, _live_until_closed, (self._theirs,))

    def _start(self, task: Task) -> Future[TaskResult]:
        file = task.file.enter_context(self._opened(task.job.path))
        # The first call starts the processes, which inherit the mask: Ctrl-C in the terminal is for this one alone.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            return self._executor.submit(embed_paper, self._options, task.job, file)
        except BrokenProcessPool as error:
            broken: Future[TaskResult] = Future()
            broken.set_exception(error)
            return broken
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _result(self, task: Task) -> TaskResult | None:
        try:
            result = task.result.result()
        except BrokenProcessPool:
            self._deaths += 1
            if self._deaths > _DEATHS:
                raise RagScienceError(
                    f"Workers ended {self._deaths} times while {printable_name(task.job.path)} was read.",
                    "Memory may be short: give --workers a smaller number, or leave it out.",
                ) from None
            self._end()  # from here on no other result is about to break
            self._begin()
            for each in self._ahead:
                if isinstance(each.result.exception() if each.result.done() else None, BrokenProcessPool):
                    self._send(each)
            return None
        self._deaths = 0
        return result


def _live_until_closed(parent: Connection) -> None:
    """End this process as soon as the other end of the pipe is closed, or its owner dead."""

    def watch() -> None:
        with suppress(EOFError, OSError):
            parent.recv_bytes()
        close_readers()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
