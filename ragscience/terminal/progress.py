"""How an ingest tells of itself on stderr: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.terminal.cli import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ragscience.ingestion import Failure, FileState
    from ragscience.records import Paper

__all__ = ["IngestProgress"]


class IngestProgress:
    """A Watcher for people: papers, chunks, rate and time left."""

    def __init__(self, papers: int, *, quiet: bool) -> None:
        self._papers = papers
        self._quiet = quiet
        self._done = 0
        self._chunks = 0
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._quiet or not self._papers or not sys.stderr.isatty():
            return self
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
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def reading(self, state: FileState) -> None:
        """Show which paper is in hand."""
        if self._bar and self._task is not None:
            self._bar.update(self._task, file=_short(state.path.name))

    def embedded(self, chunks: int) -> None:
        """Count the passages and show their rate."""
        self._chunks += chunks
        if self._bar and self._task is not None:
            rate = self._chunks / max(time.monotonic() - self._started, 1e-3)
            self._bar.update(self._task, chunks=self._chunks, rate=f"{rate:.0f}")

    def done(self, paper: Paper, *, updated: bool) -> None:
        """One line for the paper that is now in the library."""
        what = "updated" if updated else "added"
        warning = f", {'; '.join(paper.warnings)}" if paper.warnings else ""
        self._step(f"{what} {paper.file}: {paper.pages} pages, {paper.chunks} passages{warning}")

    def failed(self, failure: Failure) -> None:  # noqa: ARG002  # the protocol has it
        """Nothing yet: what failed is listed at the end, where it is seen."""
        self._step("")

    def _step(self, line: str) -> None:
        self._done += 1
        if self._quiet:
            return
        if self._bar and self._task is not None:
            if line:
                from rich.text import Text

                from ragscience.engine.printable import plain

                self._bar.console.print(Text(plain(line)), soft_wrap=True)
            self._bar.update(self._task, completed=min(self._done, self._papers))
        elif line:
            say(f"[{min(self._done, self._papers)}/{self._papers}] {line}")


def _short(name: str) -> str:
    from ragscience.engine.printable import plain

    shown = plain(name)
    return shown if len(shown) <= 40 else shown[:39] + "…"
