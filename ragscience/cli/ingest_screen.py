"""What ingest and watch runs show: events as lines, on a terminal how far they are; nothing but failures when quiet."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event as Flag
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.cli.output import print_json
from ragscience.cli.running import SOME_FAILED, say
from ragscience.cli.status_line import STATUS, second_interrupt_leaves
from ragscience.core.serialization import select
from ragscience.engine import events
from ragscience.engine.left_out_files import pair_line
from ragscience.engine.printable import counted, one_line, plain, rounded_time

if TYPE_CHECKING:
    from ragscience.core.errors import FileProblem


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
                if line := event_line(event):
                    self.tell(f"[{min(self._done, self._papers)}/{self._papers}] {line}")
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
        case events.RunProgressed(path, number, papers, page, pages, passage, passages, seconds_left):
            at = f" page {page:,} of {pages:,}" if page else ""
            at = f" passage {passage:,} of {passages:,}" if passage else at
            left = f", about {rounded_time(seconds_left)} left" if seconds_left is not None else ""
            text = f"[{number}/{papers}]{at}{left}: {one_line(path.name)}"
        case events.Progressed(what, done, total):
            text = what + (f", {done:,} of {total:,}" if total else f", {done:,} found" if done else "")
        case events.Downloading(item, done, total_bytes):
            size = f" of {total_bytes / 2**20:.1f}" if total_bytes else ""
            text = plain(item) + (f", {done / 2**20:.1f}{size} MiB" if done else "")
        case events.PlanMade():
            return True
        case _:
            return False
    STATUS.show(text, keeps_time=True)
    return True


def event_line(event: events.Event) -> str:
    """The event in words; "" for one that is no line."""
    match event:
        case events.Warned(text) | events.ModelChosen(text):
            return text
        case events.Noted(_, line):
            return line
        case events.PaperStored(paper, is_update):
            warnings = f", {'; '.join(paper.warnings)}" if paper.warnings else ""
            verb = "updated" if is_update else "added"
            return f"{verb} {paper.file}: {counted(paper.pages, 'page')}, {counted(paper.chunks, 'passage')}{warnings}"
        case events.PaperRemoved(paper, newer, is_file_gone):
            if newer is not None:
                return f"removed {pair_line(newer)}"
            if is_file_gone:
                return f"removed {paper.file}: its file is gone"
            return f"removed {paper.file} ({counted(paper.chunks, 'passage')}); the file itself remains"
    return ""


def show_result(result: events.IngestResult, screen: IngestScreen) -> int:
    """What failed, and a summary; an exit code."""
    for failure in result.failures:
        say(_failure_line(failure.path, failure.problem))
    counts = {
        "added": len(result.added),
        "updated": len(result.updated),
        "known already": result.known,
        "not read": len(result.failures),
    }
    again = _skipped_again(result)
    done = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    done = done or ("nothing new" if again else "no PDFs found")
    held = f"{counted(result.papers, 'paper')}, {counted(result.passages, 'passage')}"
    screen.tell(f"{done}; the library has {held}.")
    screen.tell(again)
    return SOME_FAILED if result.failures else 0


def _failure_line(path: Path, problem: FileProblem) -> str:
    """A file that could not be read, and what to do; with its folder where the problem does not name it."""
    return f"not read: {problem if path.name in problem.message else f'{path}: {problem}'}"


def _skipped_again(result: events.IngestResult) -> str:
    """How many files are skipped that an earlier run named, in one line; "" for none."""
    again = {"still unreadable": result.still_unreadable, "still skipped": result.still_left_out}
    parts = [f"{counted(count, 'file is', 'files are')} {what}" for what, count in again.items() if count]
    return f"{' and '.join(parts)}: `python ingest.py list --failed`" if parts else ""


def show_kept_newest(removed: Sequence[events.Duplicate], screen: IngestScreen) -> None:
    """What the removal of older versions means for their files."""
    if removed:
        screen.tell(
            "Their files are kept. `python ingest.py` leaves these out while the newer ones are in the library;"
            " one that is named (`python ingest.py FILE`) is read again."
        )


# Fetch


class FetchScreen(IngestScreen):
    """Shows the events of a fetch and of its ingest on stderr, on a terminal how far each download is."""

    def __init__(self, request: events.FetchRequest, *, quiet: bool, as_json: bool) -> None:
        super().__init__(quiet=quiet)
        self.as_json = as_json
        self._shows_failures = len(request.arguments) > 1 or as_json
        self._is_downloading = False
        self._unread: list[str] = []

    def __call__(self, event: events.Event) -> None:
        """Show the event."""
        match event:
            case events.Noted("busy" | "not-found" | "not-fetched" as kind, line):
                if self._shows_failures or kind != "not-found":
                    say(line)
            case events.Noted("fetched", line, file):
                self._unread.append(file)
                self.tell(line)
            case _:
                self._is_downloading = self._is_downloading or isinstance(event, events.Downloading)
                super().__call__(event)

    def show_interrupted(self) -> None:
        """What is left to do after Ctrl-C."""
        if self._is_downloading:
            say("Run the same command again to fetch the rest.")
        if self._unread and not self._papers:
            say(f"Not read yet, `python ingest.py` reads: {', '.join(self._unread)}")


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

    def __call__(self, event: events.Event) -> None:
        """Show the event."""
        match event:
            case events.Noted(kind, line, file, text) if file or not line:
                self._line(kind, file, text)
            case events.PaperStored(paper, is_update, seconds):
                text = f"{counted(paper.pages, 'page')}, {counted(paper.chunks, 'passage')}"
                text, name = "; ".join([text, *paper.warnings]), "updated" if is_update else "added"
                self._line(name, paper.file, text, seconds, pages=paper.pages, passages=paper.chunks)
            case events.PaperRemoved(paper, seconds=seconds):
                text = f"its file is gone, {counted(paper.chunks, 'passage')}"
                self._line("removed", paper.file, text, seconds, pages=paper.pages, passages=paper.chunks)
            case events.PaperFailed(path, problem, seconds):
                self._line("failed", str(path), str(problem), seconds)
            case _:
                if not self._quiet and not show_progress(event) and (line := event_line(event)):
                    say(line)

    def _line(self, event: str, file: str, text: str, seconds: float | None = None, **counts: int) -> None:
        if self._as_json:
            took = None if seconds is None else round(seconds, 3)
            fields = {"pages": None, "passages": None} | counts
            print_json(
                select(
                    "schema event file text pages passages seconds",
                    event=event,
                    file=file,
                    text=text,
                    seconds=took,
                    **fields,
                )
            )
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
