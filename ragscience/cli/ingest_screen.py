"""What ingest and watch runs show: events as lines, on a terminal how far they are; nothing but failures when quiet."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event as Flag
from types import FrameType, TracebackType
from typing import Self

from ragscience.cli.running import SOME_FAILED, say
from ragscience.cli.status_line import STATUS, second_interrupt_leaves
from ragscience.engine import events
from ragscience.engine.printable import counted, one_line, plain

LEAVES = "Ctrl-C again stops at once"


class IngestScreen:
    """Shows the events of an ingest on stderr; a context manager. The first Ctrl-C stops, the second leaves at once."""

    def __init__(self, *, quiet: bool, goes_on: str = "`python ingest.py` continues with the rest") -> None:
        """`goes_on` is what is said after Ctrl-C of the papers that are not in."""
        self.quiet = quiet
        self._goes_on = goes_on
        self._papers = self._done = self._stored = 0
        self._two_interrupts = ExitStack()

    def __enter__(self) -> Self:
        self._two_interrupts.enter_context(second_interrupt_leaves(lambda: STATUS.show("stopping", stops=LEAVES)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        STATUS.hide()
        self._two_interrupts.close()
        if kind is KeyboardInterrupt and self._papers:
            are = "is" if self._stored == 1 else "are"
            self.tell(f"{self._stored} of {counted(self._papers, 'paper')} {are} in; {self._goes_on}.")

    def __call__(self, event: events.Event) -> None:
        """Show the event."""
        match event:
            case events.PlanMade(papers):
                self._papers, self._done, self._stored = papers, 0, 0
            case events.PaperStored() | events.PaperFailed():
                self._done += 1
                self._stored += isinstance(event, events.PaperStored)
                place = f"[{self._done}/{self._papers}] " if self._done <= self._papers else ""
                if isinstance(event, events.PaperFailed) or not self.quiet:
                    say(place + event_line(event))
            case _:
                if not show_progress(event):
                    self.tell(event_line(event))

    def tell(self, line: str) -> None:
        """A line on stderr; none when quiet."""
        if line and not self.quiet:
            say(line)


def show_progress(event: events.Event) -> bool:
    """Show how far a run is in the terminal's last line, and what Ctrl-C does; whether the event is about that."""
    match event:
        case events.Progressed(what, done, total):
            at = f", {done:,} of {total:,}" if total else f", {done:,} found" if done else ""
            STATUS.show(plain(what) + at, keeps_time=True)
        case events.PlanMade():
            pass
        case _:
            return False
    return True


def event_line(event: events.Event) -> str:
    """The event in words; "" for one that is no line."""
    match event:
        case events.Warned(text) | events.ModelChosen(text) | events.Noted(text):
            return text
        case events.PaperStored(paper, is_update):
            warnings = f", {'; '.join(paper.warnings)}" if paper.warnings else ""
            verb = "updated" if is_update else "added"
            return f"{verb} {paper.file}: {counted(paper.pages, 'page')}, {counted(paper.chunks, 'passage')}{warnings}"
        case events.PaperRemoved(paper, why):
            return f"removed {paper.file}: {why}"
        case events.PaperFailed(path, problem):
            return f"not read: {problem if path.name in problem.message else f'{path}: {problem}'}"
    return ""


def show_result(result: events.IngestResult, screen: IngestScreen) -> int:
    """A summary; an exit code."""
    counts = {
        "added": len(result.added),
        "updated": len(result.updated),
        "known already": result.known,
        "not read": len(result.failures),
    }
    again = counted(result.still_skipped, "file is", "files are") if result.still_skipped else ""
    done = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    done = done or ("nothing new" if again else "no PDFs found")
    held = f"{counted(result.papers, 'paper')}, {counted(result.passages, 'passage')}"
    screen.tell(f"{done}; the library has {held}.")
    if again:
        screen.tell(f"{again} still skipped: `python ingest.py list --failed`")
    return SOME_FAILED if result.failures else 0


class WatchScreen:
    """A line on stdout for each event of a watch, flushed at once; all else on stderr, nothing of it when quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def __call__(self, event: events.Event) -> None:
        """Show the event."""
        if isinstance(event, events.Warned | events.ModelChosen):
            if not self._quiet:
                say(event_line(event))
        elif not show_progress(event):
            sys.stdout.write(one_line(event_line(event)) + "\n")
            sys.stdout.flush()


@contextmanager
def cancelled_by_signals() -> Iterator[Flag]:
    """A flag that the first SIGINT or SIGTERM sets; the second one does what it always does."""
    cancel = Flag()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, _: FrameType | None) -> None:
        cancel.set()
        signal.signal(number, before[signal.Signals(number)])
        STATUS.show("stopping after this paper", stops=LEAVES)

    try:
        for number in before:
            signal.signal(number, note)
        yield cancel
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
