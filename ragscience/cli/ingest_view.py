"""What ingest and watch runs show: events as lines, on a terminal how far they are; nothing but failures when quiet."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event as Flag
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.cli.cli import say
from ragscience.cli.column_list import Column, list_records
from ragscience.cli.interrupt import second_interrupt_leaves
from ragscience.cli.line_wrap import put
from ragscience.cli.screen import print_json
from ragscience.cli.skipped_view import failure_line, others_line, skipped_again
from ragscience.cli.status_line import STATUS, STOPS
from ragscience.core.errors import UsageError
from ragscience.core.serialization import select
from ragscience.engine.events import Checking, Event, ModelChosen, Warned, WorkersStarted
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
    Preparing,
    RemovalForgotten,
    RunProgressed,
    WatchChanged,
)
from ragscience.engine.library_output import DuplicateOutput, DuplicatesOutput, WatchOutput
from ragscience.engine.printable import counted, one_line, rounded_time

if TYPE_CHECKING:
    from rich.console import Console

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
LEAVES = "Ctrl-C again stops at once"
NAME_WIDTH = 30
"""Characters of a file's name beside how far it is."""
KEEP_NEWEST = "keep-newest"
REMEDY = "`python ingest.py duplicates --dedupe keep-newest` keeps only the newer one."


class IngestScreen:
    """Shows the events of an ingest on stderr; a context manager. The first Ctrl-C stops, the second leaves at once."""

    def __init__(self, *, quiet: bool, goes_on: str = "`python ingest.py` continues with the rest") -> None:
        """`goes_on` is what is said after Ctrl-C of the papers that are not in."""
        self.quiet = quiet
        self._goes_on = goes_on
        self._papers = self._done = self._stored = 0
        self._two_interrupts = ExitStack()
        self._stops = STOPS

    def __enter__(self) -> Self:
        self._two_interrupts.enter_context(second_interrupt_leaves(self._begin_to_stop))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        STATUS.hide()
        self._two_interrupts.close()
        if kind is KeyboardInterrupt and self._papers:
            self.tell(f"{self._stored} of {counted(self._papers, 'paper')} {_are(self._stored)} in; {self._goes_on}.")

    def __call__(self, event: Event) -> None:
        """Show the event."""
        match event:
            case PlanMade(papers):
                self._papers, self._done, self._stored = papers, 0, 0
            case PaperStored() | PaperFailed():
                self._done += 1
                self._stored += isinstance(event, PaperStored)
                if line := event_line(event):
                    self.tell(f"[{min(self._done, self._papers)}/{self._papers}] {line}")
            case _:
                if not show_progress(event, self._stops):
                    self.tell(event_line(event))

    def _begin_to_stop(self) -> None:
        self._stops = LEAVES
        show_progress(Preparing("stopping"), self._stops)

    def tell(self, line: str) -> None:
        """A line on stderr; none when quiet."""
        if line and not self.quiet:
            say(line)


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def show_progress(event: Event, stops: str = STOPS) -> bool:
    """Show how far a run is in the terminal's last line, and what Ctrl-C does; whether the event is about that."""
    match event:
        case RunProgressed(path, number, papers, page, pages, passage, passages, seconds_left):
            at = f" page {page:,} of {pages:,}" if page else ""
            at = f" passage {passage:,} of {passages:,}" if passage else at
            left = f", about {rounded_time(seconds_left)} left" if seconds_left is not None else ""
            name = one_line(path.name)
            name = name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"
            text = f"[{number}/{papers}] {name}{at}{left}"
        case PassagesEmbedded(done, int(total)):
            text = f"embedding passage {done:,} of {total:,}"
        case Checking(what, step, steps):
            text = f"checking {what}, {step} of {steps}"
        case Preparing(what, done, total):
            text = what + (f", {done:,} of {total:,}" if total else f", {done:,} found" if done else "")
        case PlanMade() | PaperRead() | PassagesEmbedded():
            return True
        case _:
            return False
    STATUS.show(text, stops=stops, keeps_time=True)
    return True


def event_line(event: Event) -> str:
    """The event in words; "" for one that is no line."""
    match event:
        case Warned(text) | ModelChosen(text):
            return text
        case WorkersStarted(workers, address=str(address)) if address:
            return f"{counted(workers, 'worker')} of the Ray cluster at {address}"
        case WorkersStarted(workers, memory_bytes):
            return f"{counted(workers, 'worker')}, about {memory_bytes / 1e9:.1f} GB of memory together"
        case PaperStored(paper, is_update):
            warnings = f", {'; '.join(paper.warnings)}" if paper.warnings else ""
            verb = "updated" if is_update else "added"
            return f"{verb} {paper.file}: {counted(paper.pages, 'page')}, {counted(paper.chunks, 'passage')}{warnings}"
        case PaperRemoved(paper, newer, is_file_gone):
            if newer is not None:
                return f"removed {_pair_line(newer)}"
            if is_file_gone:
                return f"removed {paper.file}: its file is gone"
            return f"removed {paper.file} ({counted(paper.chunks, 'passage')}); the file itself stays"
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
            return f"search indexes rebuilt: {counted(passages, 'passage')}"
    return ""


def show_result(result: IngestResult, screen: IngestScreen) -> int:
    """What failed, and a summary; an exit code."""
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
            say("No paper is in the library twice.")


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
                if not self._quiet and not show_progress(event) and (line := event_line(event)):
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
        STATUS.show("stopping after this paper", stops=LEAVES)

    for number in before:
        signal.signal(number, note)
    try:
        yield cancel
    finally:
        restore()
