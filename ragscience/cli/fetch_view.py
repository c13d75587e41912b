"""What `fetch` shows: the papers that were found, as a table to pick from, how far downloads are, and a summary."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ragscience.cli.cli import say
from ragscience.cli.ingest_view import SOME_FAILED, IngestScreen, show_result
from ragscience.cli.screen import console as stdout
from ragscience.cli.screen import print_json
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import UsageError
from ragscience.core.serialization import select
from ragscience.engine.events import Downloading, Event
from ragscience.engine.ingest_events import (
    ArgumentFailed,
    ArgumentKnown,
    DownloadDone,
    DownloadStarted,
    FetchedPaper,
    FetchRequest,
    FetchResult,
    SourceBusy,
)
from ragscience.engine.library_output import FetchedPaper as FetchedPaperOutput
from ragscience.engine.library_output import FetchOutput
from ragscience.engine.printable import plain

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.library_engine import Engine

__all__ = ["FetchScreen", "found_view", "pick", "picked", "run_fetch"]

_AUTHORS = 2
"""Author names shown per row of the table."""


def run_fetch(engine: Engine, request: FetchRequest, screen: FetchScreen, *, take_all: bool) -> int:
    """Fetch, after a person on a terminal has picked from what is found; an exit code.

    Raises UsageError for a request without a meaning, and the one error that there is where nothing else came of it.
    """

    def choose(found: Sequence[FetchedPaper]) -> Sequence[int]:
        if not screen.as_json:
            found_view(found, stdout())
        if request.only_list or take_all or all(paper.file for paper in found):
            return range(len(found))
        if screen.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            screen.tell("Nothing on this list was fetched. --yes fetches all of it; an arXiv id fetches that paper.")
            return ()
        return pick(len(found), _ask, say)

    try:
        result = engine.ingest.fetch(request, choose=choose, on_event=screen)
    except KeyboardInterrupt:
        screen.show_interrupted()
        raise
    return _show(result, request, screen, str(engine.home.papers))


def _show(result: FetchResult, request: FetchRequest, screen: FetchScreen, folder: str) -> int:
    as_json = screen.as_json
    papers, failures, nothing_else = result.papers, result.failures, not (result.papers or result.known_arguments)
    if len(failures) == 1 and nothing_else and not as_json:
        raise failures[0].error
    named = [paper for paper in papers if paper.is_named]
    if request.only_list and named and not as_json:
        found_view(named, stdout())
    code = show_result(result.ingest, screen) if result.ingest is not None else 0
    if as_json:
        failed = [{"argument": failure.argument, "error": str(failure.error)} for failure in failures]
        print_json(select(FetchOutput, papers=[_output(paper) for paper in papers], failures=failed))
    statuses = [paper.status for paper in papers]
    known = statuses.count("known") + result.known_arguments
    counts = {
        "fetched": statuses.count("fetched"),
        "already in papers/": known,
        "not fetched": statuses.count("failed"),
    }
    if counts["fetched"] or counts["not fetched"]:
        done = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        screen.tell(f"{done}; files are in {folder}.")
    if len(failures) == 1 and nothing_else:
        return failures[0].error.exit_code
    return SOME_FAILED if failures or counts["not fetched"] else code


def _output(paper: FetchedPaper) -> FetchedPaperOutput:
    """A paper for `fetch --json`."""
    found = paper.candidate
    ends = {"file": paper.file or None, "md5": paper.md5 or None, "error": paper.error or None}
    return select(
        FetchedPaperOutput,
        found.metadata,
        found,
        status=paper.status,
        withdrawn=found.is_withdrawn,
        url=found.url,
        **ends,
    )


def found_view(papers: Sequence[FetchedPaper], console: Console) -> None:
    """A numbered table of papers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("", "year", "title", "authors", "arXiv", ""):
        table.add_column(name, justify="right" if name == "" and not table.columns else "left", overflow="fold")
    for number, paper in enumerate(papers, 1):
        metadata = paper.candidate.metadata
        notes = [f"in papers/: {paper.file}"] if paper.file else []
        notes += ["withdrawn"] if paper.candidate.is_withdrawn else []
        authors = ", ".join(metadata.authors[:_AUTHORS]) + (" et al." if len(metadata.authors) > _AUTHORS else "")
        title = metadata.title or "(without a title)"
        cells = (str(number), str(metadata.year or ""), title, authors, metadata.arxiv_id, ", ".join(notes))
        table.add_row(*(Text(plain(cell)) for cell in cells))
    console.print(table)


def picked(answer: str, count: int) -> list[int]:
    """Indices, from 0 and ascending, that "1,3-5", "all" or "none" mean of `count` papers; an empty answer picks none.

    Raises UsageError for anything else.
    """
    text = answer.strip().casefold()
    if text in ("", "none", "n", "no"):
        return []
    if text in ("all", "a", "*"):
        return list(range(count))
    chosen: set[int] = set()
    for part in filter(None, re.split(r"[\s,;]+", re.sub(r"\s*[-–]\s*", "-", text))):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= count:
            raise UsageError(
                f"{part!r} is not a number from 1 to {count}.", "Type numbers such as 1,3-5, or all, or none."
            )
        chosen.update(range(first - 1, last))
    return sorted(chosen)


def pick(count: int, ask: Callable[[str], str], tell: Callable[[str], None]) -> list[int]:
    """Ask until the answer is understood; indices from 0."""
    while True:
        try:
            return picked(ask(f"Which ones to fetch (1-{count}, as 1,3-5; all; none)"), count)
        except UsageError as error:
            tell(str(error))


def _ask(question: str) -> str:
    import typer

    return str(typer.prompt(question, default="none", err=True))


class FetchScreen(IngestScreen):
    """Shows the events of a fetch and of its ingest on stderr, on a terminal how far each download is."""

    def __init__(self, request: FetchRequest, *, quiet: bool, as_json: bool) -> None:
        super().__init__(quiet=quiet)
        self.as_json = as_json
        self._shows_failures = len(request.arguments) > 1 or as_json
        self._is_downloading = False
        self._unread: list[str] = []
        self._download = ""

    def __call__(self, event: Event) -> None:
        """Show the event."""
        match event:
            case SourceBusy(reason, seconds):
                say(f"{reason} Trying again in {seconds:.0f} s.")
            case ArgumentKnown(name, file):
                self.tell(f"{name} is already in papers/: {file}")
            case ArgumentFailed(failure):
                if self._shows_failures:
                    argument = " ".join(failure.argument.split())
                    argument = argument if len(argument) <= 80 else f"{argument[:79]}…"
                    say(f"not found: {argument}: {failure.error}")
            case DownloadStarted(paper, number, total):
                self._is_downloading = True
                self._download = f"[{number}/{total}] fetching {plain(paper.title)}"
                STATUS.show(self._download)
            case Downloading(_, done, total_bytes):
                size = f" of {total_bytes / 2**20:.1f}" if total_bytes else ""
                STATUS.show(f"{self._download}, {done / 2**20:.1f}{size} MiB", keeps_time=True)
            case DownloadDone(paper, number, total, size):
                at, name = f"[{number}/{total}] ", paper.file.rpartition("/")[2]
                if paper.status == "failed":
                    say(f"not fetched: {paper.title}: {paper.error}")
                elif paper.status == "fetched":
                    self._unread.append(name)
                    self.tell(f"{at}fetched {name} ({size / 2**20:.1f} MiB)")
                else:
                    self.tell(f"{at}{paper.title} is identical to {name}: not saved twice")
            case _:
                super().__call__(event)

    def show_interrupted(self) -> None:
        """What is left to do after Ctrl-C."""
        if self._is_downloading:
            say("Run the same command again to resume the download.")
        if self._unread and not self._papers:
            say(f"Not read yet, `python ingest.py` reads: {', '.join(self._unread)}")
