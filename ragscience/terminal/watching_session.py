"""What `ingest.py watch` does: the library kept in step with a folder, a line for each thing that happens."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.engine.printable import counted, plain
from ragscience.errors import FileProblem, LibraryBusy, RagScienceError, UsageError
from ragscience.folder_watch import Folder, FolderState, Stop, Work, looks_whole, ticks
from ragscience.ingestion import Failure, FileState, IngestReport, Plan, Watcher, make_plan
from ragscience.json_output import WatchOutput, print_json, select
from ragscience.records import Document, Paper
from ragscience.store import Home, Library
from ragscience.terminal.deduping import said
from ragscience.terminal.ingest_session import REMEDY, IngestSession, ReadAll

if TYPE_CHECKING:
    from ragscience.models.model_protocols import Embedder, TokenEmbedder
    from ragscience.reading.worker_pool import ReadingPool
    from ragscience.settings import Settings

__all__ = ["Events", "Signals", "WatchSession", "run_watch"]

HEARTBEAT_SECONDS = 10.0
"""The folder is looked through so often although nothing was reported."""
BUSY_SECONDS = 1.0
"""How long to wait before the library is asked for again that another process writes."""
PROBLEM_SECONDS = 30.0
"""How long to wait after a problem that is not a file's: a full disk, a server that is down."""

_SIGNS = {
    "added": "+",
    "updated": "~",
    "removed": "-",
    "renamed": ">",
    "copy": "=",
    "failed": "!",
    "waiting": "waiting:",
    "problem": "problem:",
    "vanished": "waiting:",
    "back": "back:",
}
"""How the lines of events begin whose name is not their beginning."""


class Events:
    """A line on stdout for each event, seen by a pipe at once."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def tell(self, event: str, file: str = "", text: str = "", *, seconds: float | None = None, **counts: int) -> None:
        """What happened to which file; `counts` may be its `pages` and `passages`."""
        if self._as_json:
            took = None if seconds is None else round(seconds, 3)
            some = {"pages": None, "passages": None} | counts
            print_json(select(WatchOutput, event=event, file=file, text=text, seconds=took, **some))
            return
        line = plain(" ".join(filter(None, [_SIGNS.get(event, event), f"{file}:" if file and text else file, text])))
        line = line.replace("\n", " ") + (f" ({seconds:.1f} s)" if seconds is not None else "")
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Signals(Stop):
    """Set by the first SIGINT or SIGTERM; the second one does what it always does."""

    def __init__(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        """Whether a signal came."""
        return self._is_set

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Take the signals' usual effect away inside."""
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def note(_number: int, _frame: FrameType | None) -> None:
            self._is_set = True
            for number, handler in before.items():
                signal.signal(number, handler)

        for number in before:
            signal.signal(number, note)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _PaperLines(Watcher):
    """A Watcher that makes an event of each paper, with the time since the one before."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._began = time.monotonic()

    def reading(self, state: FileState) -> None:
        """Nothing: the line comes when it is done."""

    def embedded(self, chunks: int) -> None:
        """Nothing, likewise."""

    def done(self, paper: Paper, *, updated: bool) -> None:
        """The paper is in the library."""
        text = f"{counted(paper.pages, 'page')}, {counted(paper.chunks, 'passage')}"
        text = "; ".join([text, *paper.warnings])
        event = "updated" if updated else "added"
        took = self._took()
        self._events.tell(event, paper.file, text, seconds=took, pages=paper.pages, passages=paper.chunks)

    def failed(self, failure: Failure) -> None:
        """The file is not in the library; one that is gone by now is told of when that counts as gone."""
        if failure.path.exists():
            self._events.tell("failed", str(failure.path), str(failure.problem), seconds=self._took())

    def _took(self) -> float:
        began, self._began = self._began, time.monotonic()
        return self._began - began


class WatchSession(IngestSession):
    """Writes what happens in a folder into the library: locked for the time of each piece of work alone.

    The models, and the processes that read, stay from one piece to the next.
    """

    def __init__(self, settings: Settings, events: Events, *, quiet: bool, stop: Stop) -> None:
        super().__init__(settings, quiet=quiet)
        self._events = events
        self._stop = stop
        self._is_waiting = False
        self._has_worked = False
        self.embedder: Embedder | None = None
        """What has made the vectors so far."""
        self._tokens: TokenEmbedder | None = None
        self._kept_pool: ReadingPool | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._let_go()
        super().__exit__(kind, error, trace)

    def watch(self, path: Path) -> int:
        """Keep the library in step with the folder until it is time to stop; an exit code.

        Raises what the first piece of work raises, LibraryBusy aside; what goes wrong later is told and tried again.
        """
        folder = Folder(path)
        with Library.open(self.home) as library:
            known = [Path(paper.path) for paper in library.papers() if Path(paper.path).is_relative_to(path)]
        state = FolderState(known, settle_seconds=self.settings.watch_settle_seconds, is_whole=looks_whole)
        next_look, wall_ns = 0.0, time.time_ns()
        is_there, looks = True, 0
        self._events.tell("watching", str(path))
        for changed in ticks(folder, self._stop, self._tell):
            now = time.monotonic()
            if now < next_look and (not changed or self._is_waiting):
                continue
            files = folder.files()
            if (files is not None) != is_there:
                is_there = files is not None
                if is_there:
                    self._events.tell("back", str(path), "the folder is there again")
                else:
                    self._events.tell("vanished", str(path), "the folder is gone; its papers stay in the library")
            if files is None:
                next_look = now + BUSY_SECONDS
                continue
            work = state.look(files, now, wall_ns=None if looks else wall_ns)
            looks += 1
            pause = self.carry_out(work)
            if pause:
                state.again(work)
            next_look = min(now + HEARTBEAT_SECONDS, state.due or now + HEARTBEAT_SECONDS)
            if pause:
                next_look = time.monotonic() + pause
        self._events.tell("stopped")
        return 0

    def carry_out(self, work: Work) -> float:
        """Do a piece of work; 0, or where it could not be done, after how many seconds to try it again."""
        if work.is_empty:
            return 0.0
        try:
            try:
                self._carry_out_locked(work)
            finally:
                if self._library is not None:
                    self._library.close()
                    self._library = None
        except LibraryBusy as busy:
            if not self._is_waiting:
                self._events.tell("waiting", text=busy.message)
            self._is_waiting = True
            return BUSY_SECONDS
        except RagScienceError as problem:
            if not self._has_worked:
                raise
            self._let_go()
            self._events.tell("problem", text=f"{problem} It is tried again in {PROBLEM_SECONDS:g} s.")
            self._is_waiting = True
            return PROBLEM_SECONDS
        self._is_waiting = False
        self._has_worked = True
        return 0.0

    def _carry_out_locked(self, work: Work) -> None:
        began = time.monotonic()
        plan = self._without_older(make_plan(self.library, work.read))
        moved = {paper.paper_id for paper, _ in plan.moved}
        found = [self.library.paper_by_path(str(path)) for path in work.gone if not os.path.lexists(path)]
        gone = [paper for paper in found if paper is not None and paper.paper_id not in moved]
        if gone:
            self.library.remove_papers([paper.paper_id for paper in gone])
            if not plan.to_read:
                self.library.refresh_indexes()
            for paper in gone:
                took = time.monotonic() - began
                text = f"its file is gone, {counted(paper.chunks, 'passage')}"
                self._events.tell("removed", paper.file, text, seconds=took, pages=paper.pages, passages=paper.chunks)
        self._carry_out(plan)

    def _finish(self, report: IngestReport, plan: Plan) -> int:
        for paper, state in plan.moved:
            now = self.library.paper_by_path(str(state.path))
            self._events.tell("renamed", now.file if now else str(state.path), f"it was {paper.path}, not read again")
        for state, other in plan.copies:
            self._events.tell("copy", str(state.path), f"the same bytes as {other}, not read again")
        lines = _PaperLines(self._events)
        for failure in plan.failures:
            lines.failed(failure)
        for pair in report.duplicates:
            self._tell(f"{said(pair)}. {REMEDY}")
        return 0

    def _embedder(self) -> Embedder:
        made_by = self.library.embedder
        if self.embedder is None or made_by not in (None, self.embedder.identity):
            self.embedder = super()._embedder()
            self._tokens = super()._tokens_from(self.embedder)
        return self.embedder

    def _tokens_from(self, embedder: Embedder) -> TokenEmbedder | None:  # noqa: ARG002  # kept with the embedder
        return self._tokens

    @contextmanager
    def _readers(self) -> Iterator[ReadAll]:
        if self._kept_pool is None:
            self._kept_pool = self._pool()
        pool = self._kept_pool

        def read_all(paths: Iterable[Path]) -> Iterator[tuple[Path, Document | FileProblem]]:
            for read in pool.read_all(paths):
                yield read
                if self._stop.is_set():
                    return

        yield read_all

    def _progress(self, plan: Plan) -> AbstractContextManager[Watcher]:  # noqa: ARG002  # as many lines as papers
        return nullcontext(_PaperLines(self._events))

    def _let_go(self) -> None:
        """Of models and reading processes: what they stood for may have changed."""
        self.embedder = self._tokens = None
        if self._kept_pool is not None:
            self._kept_pool.close()
            self._kept_pool = None

    def __enter__(self) -> Self:
        return self


def run_watch(settings: Settings, folder: Path | None, *, quiet: bool, as_json: bool) -> int:
    """Watch a folder, papers/ where none is named, until a signal comes; an exit code.

    Raises UsageError where there is no such folder.
    """
    home = Home(settings.home)
    path = Path(os.path.abspath(folder)) if folder else home.papers  # noqa: PTH100  # a link keeps its own name
    if folder is None:
        path.mkdir(parents=True, exist_ok=True)
    if not path.is_dir():
        raise UsageError(f"There is no folder {path}.", "Name the folder to watch, or none for papers/.")
    stop = Signals()
    with stop.caught(), WatchSession(settings, Events(as_json=as_json), quiet=quiet, stop=stop) as session:
        return session.watch(path)
