"""Papers go to workers and come back in their order, checked; how many are under way is bounded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.library.paper_task import EmbeddedPaper, PaperJob, TaskOptions, check
from ragscience.reading.text_cleaning import printable_name
from ragscience.reading.worker_pool import Opened, ReadingProgress

__all__ = ["PaperWorkers", "Task", "TaskResult"]

TaskResult = EmbeddedPaper | RagScienceError

_AHEAD = 3
"""Papers per worker that are under way, or done and wait for their turn."""
_AHEAD_BYTES = 256 * 2**20
"""And most bytes of their PDFs together; one paper is always under way."""
_LOOK_SECONDS = 0.2


@dataclass(slots=True)
class Task:
    """A paper that is under way, or done and waits for its turn."""

    job: PaperJob
    file: ExitStack = field(default_factory=ExitStack)
    """Keeps the file where it is while it is open."""
    result: Future[TaskResult] = field(default_factory=Future)
    has_begun: bool = False


class PaperWorkers(ABC):
    """Workers that read, cut and embed; use it in a `with`, and for one `read_all` at a time."""

    def __init__(self, options: TaskOptions, job_of: Callable[[Path], PaperJob]) -> None:
        self._options = options
        self._job_of = job_of
        self._progress = ReadingProgress()
        self._opened: Opened = nullcontext
        self._ahead: deque[Task] = deque()
        """The papers that were sent to workers, in their order, the one that is waited for first."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many papers are read at once, as it is now."""

    @abstractmethod
    def _start(self, task: Task) -> Future[TaskResult]:
        """Send the task to a worker. Raises FileProblem or OSError where its file cannot be read."""

    @abstractmethod
    def _result(self, task: Task) -> TaskResult | None:
        """What came of a task that is done; None where its worker died and it was sent again."""

    @abstractmethod
    def _end(self) -> None:
        """End what is under way, and the workers where they are this run's own."""

    def close(self) -> None:
        """End what is under way."""
        self._end()
        while self._ahead:
            self._ahead.popleft().file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read_all(
        self, paths: Iterable[Path], progress: ReadingProgress | None = None, opened: Opened = nullcontext
    ) -> Iterator[tuple[Path, EmbeddedPaper | FileProblem]]:
        """Each path with its paper or problem, in the given order; `opened` as for `ReadingPool.read_all`.

        Raises RagScienceError where a worker cannot work at all, or gives back what cannot be stored.
        """
        self._progress, self._opened = progress or ReadingProgress(), opened
        waiting, ahead = deque(paths), self._ahead
        while waiting or ahead:
            while waiting and self._has_room():
                task = Task(self._job_of(waiting.popleft()))
                ahead.append(task)
                self._send(task)
            first = ahead[0]
            for task in [task for task in ahead if not task.result.done()][: self.workers]:
                if not task.has_begun:
                    task.has_begun = True
                    self._progress.page_done(task.job.path, 0, 0)
            if not wait([first.result], _LOOK_SECONDS).done:
                self._progress.waiting(first.job.path)
                continue
            result = self._result(first)
            if result is None:
                continue
            ahead.popleft().file.close()
            if isinstance(result, EmbeddedPaper):
                try:
                    check(result, first.job, self._options)
                except FileProblem as problem:
                    result = problem
            if not isinstance(result, EmbeddedPaper | FileProblem):
                raise result
            yield first.job.path, result

    def _has_room(self) -> bool:
        ahead = self._ahead
        is_small = sum(task.job.size_bytes for task in ahead) < _AHEAD_BYTES
        return not ahead or (is_small and len(ahead) < _AHEAD * max(1, self.workers))

    def _send(self, task: Task) -> None:
        path = task.job.path
        task.file.close()
        try:
            task.result = self._start(task)
        except FileProblem as problem:
            task.result = _done(problem)
        except OSError as error:
            task.result = _done(FileProblem(f"{printable_name(path)} cannot be read: {error.strerror}."))
        task.has_begun = False
        task.result.add_done_callback(partial(_note_done, path, self._progress))


def _done(problem: FileProblem) -> Future[TaskResult]:
    result: Future[TaskResult] = Future()
    result.set_result(problem)
    return result


def _note_done(path: Path, progress: ReadingProgress, result: Future[TaskResult]) -> None:
    """Tell the progress of a result; called in the thread that got it."""
    if result.cancelled() or result.exception() is not None:
        return
    paper = result.result()
    if isinstance(paper, EmbeddedPaper):
        pages = len(paper.document.pages)
        progress.page_done(path, pages, pages)
    progress.file_done(path)
