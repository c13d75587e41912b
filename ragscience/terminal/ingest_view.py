"""What ingest and watch runs show: events as lines, on a terminal with a bar; nothing but failures when quiet."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Flag
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from ragscience.engine.events import Checking, Event, ModelChosen, Warned
from ragscience.engine.ingest_events import (
    DuplicateFound,
    IndexesRebuilt,
    IngestResult,
    OtherFormatsSkipped,
    PaperCopied,
    PaperFailed,
    PaperRead,
    PaperRemoved,
    PaperRenamed,
    PaperStored,
    PaperSuppressed,
    PassagesEmbedded,
    PlanMade,
    RemovalForgotten,
    WatchChanged,
)
from ragscience.engine.printable import counted, one_line
from ragscience.errors import UsageError
from ragscience.json_output import DuplicateOutput, DuplicatesOutput, WatchOutput, select
from ragscience.terminal.cli import say
from ragscience.terminal.column_list import Column, list_records
from ragscience.terminal.line_wrap import put
from ragscience.terminal.screen import print_json
from ragscience.terminal.skipped_view import failure_line, others_line, skipped_again
from ragscience.terminal.status_line import STATUS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from ragscience.engine.ingest_events import Duplicate

__all__ = [
    "IngestScreen",
    "WatchScreen",
    "cancelled_by_signals",
    "check_dedupe",
    "show_kept_newest",
    "show_pairs",
    "show_result",
]

SOME_FAILED = 3
KEEP_NEWEST = "keep-newest"
REMEDY = "`python ingest.py duplicates --dedupe keep-newest` keeps only that one."


class IngestScreen:
    """Shows the events of an ingest on stderr; a context manager."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self._papers = self._done = 0
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_bar()

    def __call__(self, event: Event) -> None:
        """Show the event."""
        match event:
            case PlanMade(papers):
                self._papers, self._done, self._started = papers, 0, time.monotonic()
                self._start_bar()
            case PaperRead(path):
                name = one_line(path.name)
                self._update(file=name if len(name) <= 40 else name[:39] + "…")
            case PassagesEmbedded(done, None):
                rate = done / max(time.monotonic() - self._started, 1e-3)
                self._update(chunks=done, rate=f"{rate:.0f}")
            case PaperStored() | PaperFailed():
                self._done += 1
                if line := event_line(event):
                    at = f"[{min(self._done, self._papers)}/{self._papers}] " if self._bar is None else ""
                    self.tell(at + line)
                self._update(completed=min(self._done, self._papers))
                if self._done >= self._papers:
                    self.stop_bar()
            case Checking():
                STATUS.show(f"checking {event.what}, {event.step} of {event.steps}")
            case _:
                self.tell(event_line(event))

    def tell(self, line: str) -> None:
        """A line on stderr, above the bar; none when quiet."""
        if self.quiet or not line:
            return
        if self._bar is None:
            say(line)
        else:
            put(self._bar.console, one_line(line))

    def stop_bar(self) -> None:
        """Remove the bar, and the line of a check."""
        STATUS.hide()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _update(self, **fields: Any) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, **fields)

    def _start_bar(self) -> None:
        if self.quiet or not self._papers or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.completed:.0f}/{task.total:.0f} papers"),
            BarColumn(),
            TextColumn("{task.fields[chunks]} passages"),
            TextColumn("{task.fields[rate]}/s"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[file]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=self._papers, chunks=0, rate="-", file="")
        self._bar.start()


def event_line(event: Event) -> str:
    """The event in words; "" for one that is no line."""
    match event:
        case Warned(text) | ModelChosen(text):
            return text
        case PassagesEmbedded(done, total):
            return f"embedded {done} of {total} passages"
        case PaperStored(paper, is_update):
            warnings = f", {'; '.join(paper.warnings)}" if paper.warnings else ""
            verb = "updated" if is_update else "added"
            return f"{verb} {paper.file}: {paper.pages} pages, {paper.chunks} passages{warnings}"
        case PaperRemoved(paper, newer, is_file_gone):
            if newer is not None:
                return f"removed {_pair_line(newer)}"
            if is_file_gone:
                return f"removed {paper.file}: its file is gone"
            return f"removed {paper.file} ({paper.chunks} passages); the file itself stays"
        case RemovalForgotten(path):
            return f"`python ingest.py` reads {path} again"
        case PaperRenamed(before, path):
            return f"{before.file} is now {path}"
        case PaperCopied(_, file, other):
            return f"{file} has the same bytes as {other}: not read again"
        case PaperSuppressed(file, "", path):
            again = f"`python ingest.py add {shlex.quote(str(path))}` reads it again"
            return f"{file} is left out: it was removed from the library. {again}."
        case PaperSuppressed(file, newer):
            return f"{file} is left out: {newer} is the same paper, newer or more complete"
        case OtherFormatsSkipped(names):
            return others_line(names)
        case DuplicateFound(pair):
            return f"{_pair_line(pair)}. {REMEDY}"
        case IndexesRebuilt(passages):
            return f"search indexes rebuilt: {passages} passages"
    return ""


def show_result(result: IngestResult, screen: IngestScreen) -> int:
    """What failed, and a summary; an exit code."""
    screen.stop_bar()
    for failure in result.failures:
        say(failure_line(failure.path, failure.problem))
    counts = {
        "added": len(result.added),
        "updated": len(result.updated),
        "known already": result.known,
        "not read": len(result.failures),
    }
    done = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    done = done or ("nothing new" if skipped_again(result) else "no PDFs found")
    held = f"{counted(result.papers, 'paper')}, {counted(result.passages, 'passage')}"
    screen.tell(f"{done}; the library has {held}.")
    screen.tell(skipped_again(result))
    return SOME_FAILED if result.failures else 0


# Versions of one paper


def check_dedupe(value: str | None) -> bool:
    """Whether the older versions are to go. Raises UsageError for an unknown value of --dedupe."""
    if value not in (None, KEEP_NEWEST):
        raise UsageError(f"There is no --dedupe {value!r}.", f"Write `--dedupe {KEEP_NEWEST}`.")
    return value is not None


def show_kept_newest(removed: Sequence[Duplicate], screen: IngestScreen) -> None:
    """What the removal of older versions means for their files."""
    if removed:
        screen.tell(
            "Files stay where they are. `python ingest.py` leaves these out while the newer ones are in the library;"
            " one that is named (`python ingest.py FILE`) is read again."
        )


def show_pairs(pairs: Sequence[Duplicate], removed: Sequence[Duplicate], console: Console | None) -> None:
    """The pairs and what was removed of them, as JSON on stdout without a console."""
    if console is None:
        rows = [select(DuplicateOutput, pair) for pair in pairs]
        print_json(select(DuplicatesOutput, duplicates=rows, removed=[pair.older for pair in removed]))
    elif not removed:
        if not console.is_terminal:
            columns = [Column(name) for name in ("older", "newer", "same", "newer by")]
            list_records(columns, [(pair.older, pair.newer, _same(pair), pair.newer_by) for pair in pairs], console)
        else:
            for pair in pairs:
                put(console, one_line(_pair_line(pair)))
        if not pairs:
            say("No paper is there twice.")


def _same(pair: Duplicate) -> str:
    """What shows that both are the same paper."""
    return ", ".join(f"{pair.overlap:.0%} of the text" if reason == "text" else reason for reason in pair.reasons)


def _pair_line(pair: Duplicate) -> str:
    """The one to leave first: why it is the same paper, and what decides which is kept."""
    why = _same(pair)
    kept = "more complete" if pair.newer_by == "completeness" else f"newer by its {pair.newer_by}"
    return f"{pair.older}: the same paper as {pair.newer} ({why}), which is {kept}"


# Watch

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
"""The beginning of an event's line, where it is not the event's name."""


class WatchScreen:
    """A line on stdout for each event of a watch, flushed at once; all else on stderr, nothing of it when quiet."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._quiet = quiet
        self._as_json = as_json

    def __call__(self, event: Event) -> None:
        """Show the event."""
        match event:
            case WatchChanged(state, folder, text):
                self._line(state, folder, text)
            case PaperStored(paper, is_update, seconds):
                text = f"{counted(paper.pages, 'page')}, {counted(paper.chunks, 'passage')}"
                text, name = "; ".join([text, *paper.warnings]), "updated" if is_update else "added"
                self._line(name, paper.file, text, seconds, pages=paper.pages, passages=paper.chunks)
            case PaperRemoved(paper, seconds=seconds):
                text = f"its file is gone, {counted(paper.chunks, 'passage')}"
                self._line("removed", paper.file, text, seconds, pages=paper.pages, passages=paper.chunks)
            case PaperRenamed(before, _, file):
                self._line("renamed", file, f"it was {before.path}, not read again")
            case PaperCopied(path, _, other):
                self._line("copy", str(path), f"the same bytes as {other}, not read again")
            case PaperFailed(path, problem, seconds):
                self._line("failed", str(path), str(problem), seconds)
            case _:
                if (line := event_line(event)) and not self._quiet:
                    say(line)

    def _line(self, event: str, file: str, text: str, seconds: float | None = None, **counts: int) -> None:
        if self._as_json:
            took = None if seconds is None else round(seconds, 3)
            fields = {"pages": None, "passages": None} | counts
            print_json(select(WatchOutput, event=event, file=file, text=text, seconds=took, **fields))
            return
        line = " ".join(filter(None, [_SIGNS.get(event, event), f"{file}:" if file and text else file, text]))
        line = one_line(line) + (f" ({seconds:.1f} s)" if seconds is not None else "")
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


@contextmanager
def cancelled_by_signals() -> Iterator[Flag]:
    """A flag that the first SIGINT or SIGTERM sets; the second one does what it always does."""
    cancel = Flag()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(_number: int, _frame: FrameType | None) -> None:
        cancel.set()
        restore()

    for number in before:
        signal.signal(number, note)
    try:
        yield cancel
    finally:
        restore()
