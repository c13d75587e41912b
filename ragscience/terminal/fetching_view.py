"""What `fetch` shows: the papers that were found, as a table to pick from, and a bar for each download."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ragscience.engine.printable import plain
from ragscience.errors import UsageError
from ragscience.sources.arxiv import Candidate

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console
    from rich.progress import Progress

__all__ = ["Bars", "Row", "found_view", "pick", "picked", "title_line"]

_AUTHORS = 2
"""Names that a row of the table has room for."""


@dataclass(slots=True)
class Row:
    """A paper that was found or named, and what became of it."""

    candidate: Candidate
    status: str
    """ "listed", "known", "fetched" or "failed"."""
    file: str = ""
    """Where it is, of one that is known or was fetched."""
    md5: str = ""
    error: str = ""


def found_view(rows: Sequence[Row], console: Console) -> None:
    """A numbered table of papers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("", "year", "title", "authors", "arXiv", ""):
        table.add_column(name, justify="right" if name == "" and not table.columns else "left", overflow="fold")
    for number, row in enumerate(rows, 1):
        metadata = row.candidate.metadata
        notes = [f"is there: {row.file}"] if row.status == "known" else []
        notes += ["withdrawn"] if row.candidate.is_withdrawn else []
        cells = (
            str(number),
            str(metadata.year or ""),
            metadata.title or "(without a title)",
            _authors(metadata.authors),
            metadata.arxiv_id,
            ", ".join(notes),
        )
        table.add_row(*(Text(plain(cell)) for cell in cells))
    console.print(table)


def _authors(names: Sequence[str]) -> str:
    return ", ".join(names[:_AUTHORS]) + (" et al." if len(names) > _AUTHORS else "")


def title_line(candidate: Candidate) -> str:
    """What a paper is called in a message."""
    title = candidate.metadata.title
    short = title if len(title) <= 60 else f"{title[:59]}…"
    name = str(candidate.arxiv or candidate.url)
    return f"{name} ({short})" if short else name


def picked(answer: str, count: int) -> list[int]:
    """Indices, from 0 and ascending, that "1,3-5", "all" or "none" mean of `count` papers; nothing is none.

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
            raise UsageError(f"{part!r} is none of 1 to {count}.", "Write as 1,3-5, or all, or none.")
        chosen.update(range(first - 1, last))
    return sorted(chosen)


def pick(count: int, ask: Callable[[str], str], tell: Callable[[str], None]) -> list[int]:
    """Ask until the answer can be understood; indices from 0."""
    while True:
        try:
            return picked(ask(f"Which ones to fetch (1-{count}, as 1,3-5; all; none)"), count)
        except UsageError as error:
            tell(str(error))


class Bars:
    """A bar for each download on a terminal, else a line when it is done; nothing when quiet."""

    def __init__(self, count: int, *, quiet: bool, tell: Callable[[str], None]) -> None:
        self._count = count
        self._number = 0
        self._tell = tell
        self._progress: Progress | None = None
        if quiet or not count or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            console=Console(stderr=True),
            transient=True,
        )

    def __enter__(self) -> Self:
        if self._progress:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress:
            self._progress.stop()

    def begin(self, name: str) -> Callable[[int, int | None], None]:
        """The next download; what is returned takes (bytes so far, bytes in all, None where that is not known)."""
        self._number += 1
        progress = self._progress
        if progress is None:
            return _unseen
        for old in progress.task_ids:
            progress.remove_task(old)
        task = progress.add_task(f"{self._number}/{self._count} {plain(name)[:40]}", total=None)
        return lambda done, total: progress.update(task, completed=done, total=total)

    def done(self, line: str) -> None:
        """What became of it."""
        self._tell(f"[{self._number}/{self._count}] {line}")


def _unseen(done: int, total: int | None) -> None:
    """Progress that nobody looks at."""
