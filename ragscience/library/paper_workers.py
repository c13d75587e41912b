"""Papers go to workers and come back in their order; how many are under way is bounded.

The workers are processes, one a core, or those of a Ray cluster that is running. There the bytes of a PDF travel
through Ray's object store, so that no other machine needs a copy of the files or the library. Where a worker or its
node dies, Ray runs its tasks again on another one.
"""

import multiprocessing
import os
import signal
import socket
import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from ragscience.core.errors import FileProblem, RagScienceError, UsageError, missing_package
from ragscience.core.system import Closing, interrupts_held
from ragscience.library.paper_task import EmbeddedPaper, PaperJob, TaskOptions, close_readers, embed_paper
from ragscience.reading.text_cleaning import printable_name
from ragscience.reading.worker_pool import Opened, ReadingProgress

TaskResult = EmbeddedPaper | RagScienceError
WORKER_BYTES = 400 * 2**20
"""What a worker takes with its reading process: measured on papers of up to 60 pages."""
_AHEAD = 3
"""Papers per worker that are under way, or done and wait for their turn."""
_AHEAD_BYTES = 256 * 2**20
"""And most bytes of their PDFs together; one paper is always under way."""
_LOOK_SECONDS = 0.2
_DEATHS = 3
"""The workers may die so many times while one paper is waited for: together they are started again."""


@dataclass(slots=True)
class Task:
    """A paper that is under way, or done and waits for its turn."""

    job: PaperJob
    file: ExitStack = field(default_factory=ExitStack)
    """Keeps the file where it is while it is open."""
    result: Future[TaskResult] = field(default_factory=Future)
    done: SimpleQueue[object] = field(default_factory=SimpleQueue)
    """Has something when the result is there. Ctrl-C while one waits for the future itself may leave its lock taken."""


class PaperWorkers(Closing):
    """Workers that read, cut and embed; use it in a `with`, and for one `read_all` at a time."""

    def __init__(self, options: TaskOptions, job_of: Callable[[Path], PaperJob]) -> None:
        self._options = options
        self._job_of = job_of
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
        """End the workers, and let go of the files that they have not read."""
        self._end()
        while self._ahead:
            self._ahead.popleft().file.close()

    def read_all(
        self, paths: Iterable[Path], progress: ReadingProgress | None = None, opened: Opened = nullcontext
    ) -> Iterator[tuple[Path, EmbeddedPaper | FileProblem]]:
        """Each path with its paper or problem, in the given order; `opened` as for `ReadingPool.read_all`.

        Raises RagScienceError where a worker cannot work at all.
        """
        progress, self._opened = progress or ReadingProgress(), opened
        waiting, ahead = deque(paths), self._ahead
        while waiting or ahead:
            while waiting and self._has_room():
                ahead.append(Task(self._job_of(waiting.popleft())))
                self._send(ahead[-1])
            first = ahead[0]
            try:
                first.done.get(timeout=_LOOK_SECONDS)
            except Empty:
                progress.waiting(first.job.path)
                continue
            result = self._result(first)
            if result is None:
                continue
            ahead.popleft().file.close()
            path = first.job.path
            if isinstance(result, EmbeddedPaper) and result.md5 != first.job.md5:
                message = f"{printable_name(path)} was changed while it was read."
                result = FileProblem(message, "Run `python ingest.py` again.", reason="changed")
            if not isinstance(result, EmbeddedPaper | FileProblem):
                raise result
            yield path, result

    def _has_room(self) -> bool:
        is_small = sum(task.job.size_bytes for task in self._ahead) < _AHEAD_BYTES
        return not self._ahead or (is_small and len(self._ahead) < _AHEAD * max(1, self.workers))

    def _send(self, task: Task) -> None:
        task.file.close()
        try:
            task.result = self._start(task)
        except (FileProblem, OSError) as error:
            message = f"{printable_name(task.job.path)} cannot be read: {getattr(error, 'strerror', '')}."
            task.result = Future()
            task.result.set_result(error if isinstance(error, FileProblem) else FileProblem(message))
        task.done = SimpleQueue()
        task.result.add_done_callback(task.done.put)


class WorkerProcesses(PaperWorkers):
    """At most `workers` processes. One that dies costs the others their papers, which are all read again.

    They end with the process that started them.
    """

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
        # The first call starts the processes: Ctrl-C in the terminal is for this one alone.
        with interrupts_held():
            try:
                return self._executor.submit(embed_paper, self._options, task.job, file)
            except BrokenProcessPool as error:
                broken: Future[TaskResult] = Future()
                broken.set_exception(error)
                return broken

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


def _live_until_closed(parent: Any) -> None:
    """End this process as soon as the other end of the pipe is closed, or its owner dead."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        with suppress(EOFError, OSError):
            parent.recv_bytes()
        close_readers()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


_RUNS_AGAIN = 5
"""A paper whose worker died is read again so many times."""
_CONNECT_SECONDS = 5.0
_WITHOUT_WORKERS_SECONDS = 60.0
"""A run waits so long for a cluster that has lost all its workers."""
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}
_START = "`ray start --head --port=6379` starts one; see docs/scale.md."
_SAME = "Install the same version of RAG Science and of its requirements on every node; see docs/scale.md."


class RayWorkers(PaperWorkers):
    """As many workers as the cluster has CPUs; one such object at a time in a process.

    Raises UsageError for an address that is none, RagScienceError where Ray is not installed or no cluster can be used.
    """

    def __init__(self, address: str, options: TaskOptions, job_of: Callable[[Path], PaperJob]) -> None:
        super().__init__(options, job_of)
        self._address = address
        self._files: dict[Future[TaskResult], Any] = {}
        """The PDFs in the object store: Ray needs them until a result is here, to make one again that was lost."""
        self._had_workers = time.monotonic()
        _require_listener(address)
        self._ray = _connected(address)
        if not self.workers:
            self._end()
            fix = f"`ray start --address={address}` on a machine adds it."
            raise RagScienceError(f"The Ray cluster at {address} has no worker.", fix)
        self._embed = self._ray.remote(num_cpus=1, max_retries=_RUNS_AGAIN)(embed_paper)

    @property
    def workers(self) -> int:
        """The CPUs of the cluster, as they are now. Raises RagScienceError where there have been none for a minute."""
        now, count = time.monotonic(), int(self._ray.cluster_resources().get("CPU", 0))
        if count:
            self._had_workers = now
        elif now - self._had_workers > _WITHOUT_WORKERS_SECONDS:
            fix = "What is stored stays; the same command continues with the rest when the cluster has nodes again."
            raise RagScienceError(f"The Ray cluster at {self._address} has lost its last worker.", fix)
        return count

    def _end(self) -> None:
        self._files.clear()
        self._ray.shutdown()  # which cancels what is under way

    def _start(self, task: Task) -> Future[TaskResult]:
        with self._opened(task.job.path) as file:
            content = self._ray.put(file.read_bytes())
        result: Future[TaskResult] = self._embed.remote(self._options, task.job, content).future()
        self._files[result] = content
        return result

    def _result(self, task: Task) -> TaskResult:
        self._files.pop(task.result, None)
        errors = self._ray.exceptions
        died = errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError, errors.ObjectLostError
        try:
            return task.result.result()
        except died as error:
            return FileProblem(
                f"{printable_name(task.job.path)} was given up: its workers died {_RUNS_AGAIN + 1} times.",
                f"The nodes' memory may be short; the next run tries it again. Ray says: {_last_line(str(error))}",
                reason="worker-failed",
            )
        except errors.RayError as error:
            raise RagScienceError(f"The workers of the Ray cluster fail: {_last_line(str(error))}.", _SAME) from error


def _require_listener(address: str) -> None:
    """Raise UsageError for what is not HOST:PORT, RagScienceError where nothing listens: Ray would try for a minute."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()) or "/" in address:
        raise UsageError(f"--ray {address!r} is no address.", "Write --ray HOST:PORT, as `ray start --head` says it.")
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise RagScienceError(f"No Ray cluster answers at {address}: {error}.", _START) from error


def _connected(address: str) -> Any:
    """The module ray, connected to the cluster. Raises RagScienceError."""
    # Read by Ray when it is imported. What is run here is nobody's business.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of its own default
    try:
        import ray
    except ImportError as error:
        raise missing_package("--ray", "ray", "lab", RagScienceError) from error
    try:
        ray.init(address, **_QUIET)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        text = " ".join(str(error).split())[:400].rstrip(".")
        if text.startswith("Version mismatch"):
            fix = f"Install the same versions here and on every node: `pip install ray=={ray.__version__}` is ours."
        else:
            fix = f"This machine must be a node of it: `ray start --address={address} --num-cpus=0`; see docs/scale.md."
        raise RagScienceError(f"The Ray cluster at {address} cannot be used: {text}.", fix) from error
    return ray


def _last_line(text: str) -> str:
    """The end of what Ray says, which puts a traceback before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300].rstrip(".") if lines else "it does not say why"
