"""Workers on the machines of a Ray cluster that is running.

The bytes of a PDF travel through Ray's object store, so that no other machine needs a copy of the files or the library.
Where a worker or its node dies, Ray runs its tasks again on another one.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from ragscience.core.errors import FileProblem, RagScienceError, UsageError
from ragscience.library.paper_task import PaperJob, TaskOptions, embed_paper
from ragscience.library.paper_workers import PaperWorkers, Task, TaskResult
from ragscience.reading.text_cleaning import printable_name

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
            raise RagScienceError(
                f"The Ray cluster at {address} has no worker.", f"`ray start --address={address}` on a machine adds it."
            )
        self._embed = self._ray.remote(num_cpus=1, max_retries=_RUNS_AGAIN)(embed_paper)

    @property
    def workers(self) -> int:
        """The CPUs of the cluster, as they are now. Raises RagScienceError where there have been none for a minute."""
        now, count = time.monotonic(), int(self._ray.cluster_resources().get("CPU", 0))
        if count:
            self._had_workers = now
        elif now - self._had_workers > _WITHOUT_WORKERS_SECONDS:
            raise RagScienceError(
                f"The Ray cluster at {self._address} has lost its last worker.",
                "What is stored stays; the same command continues with the rest when the cluster has nodes again.",
            )
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
        raise RagScienceError("Ray is not installed.", "pip install -r requirements-ray.txt") from error
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
