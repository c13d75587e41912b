"""What runs beside the requests: answers in threads, which send their events; and one line of changes of the library.

A client that leaves stops its answer. One thread writes the library: uploads and removals wait for each other.
"""

import asyncio
import os
import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from ragscience.core.errors import Cancelled, UsageError
from ragscience.core.paper_records import formats_read
from ragscience.engine.events import Event, OnEvent, PaperFailed, PaperStored, PassagesRead, Warned
from ragscience.engine.graph_runs import GraphRequest
from ragscience.engine.library_engine import Engine
from ragscience.serving.problem_responses import fix_over_http, problem_of_error

T = TypeVar("T")
Work = Callable[[Callable[[Event], None], threading.Event], T]
"""Does the work in a thread, given where its events go and the flag that ends it."""
LOOK_S = 0.25
"""Seconds between two looks at whether the client is still there."""
_running: set[threading.Event] = set()
"""The flags that end the works of this process."""


@dataclass(frozen=True, slots=True)
class Finished(Event):
    """The work is done."""

    result: Any


@dataclass(frozen=True, slots=True)
class Failed(Event):
    """The work has failed, as expected or not."""

    error: BaseException


@contextmanager
def cancel_flag() -> Iterator[threading.Event]:
    """The flag that ends a work: set where the block is left, and by `end_answers`."""
    flag = threading.Event()
    _running.add(flag)
    try:
        yield flag
    finally:
        flag.set()
        _running.discard(flag)


def end_answers() -> None:
    """End all works of this process: the server stops."""
    for flag in tuple(_running):
        flag.set()


async def happenings(work: Work[T], limiter: CapacityLimiter) -> AsyncGenerator[Event]:
    """The events of the work as they come; the last is `Finished` or `Failed`.

    Closing the iterator sets the flag of the work and waits until it has ended. No more works run at once than the
    limiter lets in.
    """
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

    def put(event: Event) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    with cancel_flag() as cancel:
        task = asyncio.create_task(to_thread.run_sync(work, put, cancel, limiter=limiter))
        # Behind the events that the thread has sent before it ended.
        task.add_done_callback(lambda _: loop.call_soon(queue.put_nowait, None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            error = task.exception()
            yield Finished(task.result()) if error is None else Failed(_told(error))
        finally:
            cancel.set()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # looked at: else asyncio logs that of a question whose client has left


async def until_done(work: Work[T], limiter: CapacityLimiter, request: Request) -> T:
    """The result of the work; where the client leaves, the work is cancelled. Raises what the work raises."""
    with cancel_flag() as cancel:

        async def watch() -> None:
            while not cancel.is_set():
                if await request.is_disconnected():
                    cancel.set()
                await asyncio.sleep(LOOK_S)

        watcher = asyncio.create_task(watch())
        try:
            return await to_thread.run_sync(work, lambda _: None, cancel, limiter=limiter)
        except Cancelled as error:
            raise _told(error) from error
        finally:
            watcher.cancel()


def _told(error: BaseException) -> BaseException:
    """The same for a client; one that is still there has its question cancelled by the end of the server alone."""
    if isinstance(error, Cancelled):
        return Cancelled("The server was stopped before the answer was ready.", "Ask again when it runs.")
    return error


MOST_KEPT = 200
"""Jobs that are remembered; older ones that are done go."""
MOST_WARNINGS = 20
"""Passages that a language model could not read, of a job."""
LONGEST_NAME = 120
"""Bytes of a file's name, without its suffix."""
_UNSAFE = re.compile(r"[^\w .()\[\]+,-]")
_STOPPED = Cancelled("The server was stopped before.", "Ask for it again.")
State = Literal["waiting", "running", "done", "failed"]


@dataclass
class Job:
    """A change of the library that was asked for."""

    what: str
    """What it does, for a person: "add a.pdf"."""
    job_id: str = field(default_factory=lambda: uuid4().hex)
    state: State = "waiting"
    done: int = 0
    """Papers that are in; for the graph, passages that are read."""
    total: int = 0
    files: list[str] = field(default_factory=list)
    """Papers that came into the library, or left it."""
    failures: list[dict[str, str]] = field(default_factory=list)
    """Files that could not be read: `file`, `reason`, `detail`, `fix`."""
    warnings: list[str] = field(default_factory=list)
    detail: str = ""
    """Why it failed as a whole."""
    fix: str = ""


class IngestQueue:
    """Jobs one after the other; each is finished before the next begins."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._people: dict[str, str] = {}
        """Whose each job is that has not ended."""
        self._lock = threading.Lock()
        self._cancel = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ingest-queue")

    def close(self) -> None:
        """End the job in hand after its paper, forget those that wait, and wait for the end."""
        self._cancel.set()
        self._thread.shutdown(cancel_futures=True)

    def is_closing(self) -> bool:
        """Whether the server ends."""
        return self._cancel.is_set()

    def jobs(self) -> list[Job]:
        """All jobs that are remembered, the newest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def job(self, job_id: str) -> Job | None:
        """The job of that id."""
        with self._lock:
            return self._jobs.get(job_id)

    def waiting_of(self, person: str) -> int:
        """How many jobs of that person have not ended."""
        with self._lock:
            return sum(owner == person for owner in self._people.values())

    def add(self, paths: list[Path], person: str = "") -> Job:
        """Read the files into the library; `person` adds them."""
        names = ", ".join(path.name for path in paths[:3]) + (" …" if len(paths) > 3 else "")

        job = Job(f"add {names}", total=len(paths))

        def work(hear: OnEvent) -> None:
            result = self._engine.ingest.add(paths, on_event=hear, cancel=self._cancel)
            job.done = len(paths) - len(result.failures)

        self.put(job, work, person)
        return job

    def remove(self, md5: str, file: str) -> Job:
        """Take a paper out of the library; its file stays."""
        job = Job(f"remove {file}", total=1)

        def work(hear: OnEvent) -> None:
            job.files = [paper.file for paper in self._engine.ingest.remove([md5], on_event=hear)]

        self.put(job, work)
        return job

    def build_graph(self, request: GraphRequest, person: str = "") -> Job:
        """Read the passages that the graph lacks; what is read is kept when the server ends."""
        job = Job("build the knowledge graph")

        def work(hear: OnEvent) -> None:
            job.warnings += self._engine.graph.build(request, on_event=hear).failures[:MOST_WARNINGS]

        self.put(job, work, person)
        return job

    def put(self, job: Job, work: Callable[[OnEvent], T], person: str = "") -> Future[T]:
        """Do the work when those before it are done; it is given what notes its events in the job."""
        with self._lock:
            self._people[job.job_id] = person
            self._jobs[job.job_id] = job
            ended = [key for key, each in self._jobs.items() if each.state in ("done", "failed")]
            for old in ended[: max(0, len(self._jobs) - MOST_KEPT)]:
                del self._jobs[old]

        def begin() -> T:
            job.state = "running"
            return work(partial(self._hear, job))

        made = self._thread.submit(begin)
        made.add_done_callback(lambda done: self._end(job, done))
        return made

    def _end(self, job: Job, done: Future[Any]) -> None:
        """Note how the job ended."""
        with self._lock:
            self._people.pop(job.job_id, None)
        error = _STOPPED if done.cancelled() else done.exception()
        if error is not None:
            problem = problem_of_error(error)
            job.detail, job.fix = str(problem["detail"]), str(problem["fix"])
        job.state = "failed" if error or (job.failures and not job.files) else "done"

    def _hear(self, job: Job, event: Event) -> None:
        if isinstance(event, PaperStored):
            job.files.append(event.paper.file)
            job.done += 1
        elif isinstance(event, PaperFailed):
            why, fix = event.problem, fix_over_http(event.problem.fix)
            job.failures.append({"file": event.path.name, "reason": why.reason, "detail": why.message, "fix": fix})
        elif isinstance(event, PassagesRead):
            job.done, job.total = event.done, event.total
            if self.is_closing():
                raise _STOPPED
        elif isinstance(event, Warned):
            job.warnings.append(event.text)


def safe_name(name: str) -> str:
    """A file name for an upload: the last part of what the client calls it, without unusual characters.

    Raises UsageError where nothing is left, or where its ending is none of a file that is read here.
    """
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    stem, dot, suffix = last.rpartition(".")
    endings = (".pdf", *formats_read())
    if not dot or f".{suffix.lower()}" not in endings:
        raise UsageError(f"{last[:80]!r} is not read here, by its name.", f"Upload {', '.join(endings)} files.")
    stem = _UNSAFE.sub("_", stem).lstrip(" .-").rstrip(" .")
    while len(os.fsencode(stem)) > LONGEST_NAME:
        stem = stem[:-1]
    if not stem:
        raise UsageError("The uploaded file has no name.", "Give it one.")
    return f"{stem}.{suffix.lower()}"
