"""How far a run is, and how long it will take: measured in pages that are read and passages that are embedded."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.engine.ingest_events import RunProgressed
from ragscience.reading.worker_pool import ReadingProgress

if TYPE_CHECKING:
    from ragscience.engine.events import OnEvent

__all__ = ["RunProgress"]

_ENOUGH_SECONDS = 5.0
"""A remaining time is given once reading and embedding were measured for so long together."""
_ENOUGH_PASSAGES = 16
"""And once so many passages are embedded."""


@dataclass(slots=True)
class _File:
    pages: int
    """0 where they could not be counted: such a file is hardly ever one that can be read."""
    read: int = 0
    began: float | None = None
    """When its reading began."""
    seconds: float | None = None
    """How long it was read."""
    passages: int | None = None
    """None until it is cut."""
    embedded: int = 0


class RunProgress(ReadingProgress):
    """The files of a run, in their order, each until it is stored or has failed; publishes `RunProgressed`."""

    def __init__(
        self,
        pages: Mapping[Path, int],
        workers: int,
        on_event: OnEvent,
        clock: Callable[[], float] = time.monotonic,
        *,
        by_file: bool = False,
    ) -> None:
        """`pages` has each file's number of pages, 0 where it is not known; `workers` files are read at once.

        `by_file`: a file's pages are told all at once, when it is done.
        """
        self._files = {path: _File(count) for path, count in pages.items()}
        self._left = dict.fromkeys(self._files)
        self._workers = workers
        self._on_event = on_event
        self._clock = clock
        self._by_file = by_file
        self._embed_seconds = 0.0
        self._embedded = self._cut_pages = self._cut_passages = 0

    # From the readers' threads

    def page_done(self, path: Path, number: int, pages: int) -> None:
        """A page is done; page 0 of 0 where the reading begins."""
        file = self._files[path]
        if number == 0:
            file.began = self._clock()
        else:
            file.read, file.pages = number, pages

    def file_done(self, path: Path) -> None:
        """A file is read, or cannot be."""
        file = self._files[path]
        if file.began is not None:
            file.seconds = self._clock() - file.began

    # From the run's thread

    def waiting(self, path: Path) -> None:
        """The run waits for this file to be read."""
        file = self._files[path]
        self._publish(path, page=0 if self._by_file else min(file.read + 1, file.pages), pages=file.pages)

    def cut(self, path: Path, passages: int) -> None:
        """A file is read and cut into passages."""
        file = self._files[path]
        file.passages = passages
        self._cut_pages += file.pages
        self._cut_passages += passages

    def embedded(self, path: Path, passages: int, seconds: float) -> None:
        """More of its passages have vectors, after so many seconds."""
        file = self._files[path]
        file.embedded += passages
        self._embedded += passages
        self._embed_seconds += seconds
        self._publish(path, passage=min(file.embedded + 1, file.passages or 0), passages=file.passages or 0)

    def done(self, path: Path) -> None:
        """The file is stored, or has failed."""
        self._left.pop(path, None)

    def _publish(self, path: Path, *, page: int = 0, pages: int = 0, passage: int = 0, passages: int = 0) -> None:
        number, total = len(self._files) - len(self._left) + 1, len(self._files)
        self._on_event(RunProgressed(path, number, total, page, pages, passage, passages, self.seconds_left()))

    def seconds_left(self) -> float | None:
        """Seconds until the last file is stored; None until enough is measured to say so.

        Files are read by `workers` processes at once, and embedded one after the other once they are read.
        """
        now = self._clock()
        seconds, pages = 0.0, 0
        for file in self._files.values():
            if file.began is not None:
                seconds += file.seconds if file.seconds is not None else now - file.began
                pages += file.read
        enough = seconds + self._embed_seconds >= _ENOUGH_SECONDS and self._embedded >= _ENOUGH_PASSAGES
        if not (enough and pages and self._cut_pages):
            return None
        a_page, a_passage = seconds / pages, self._embed_seconds / self._embedded
        readers, end = [0.0] * self._workers, 0.0
        for file in (self._files[path] for path in self._left):
            passages = file.pages * self._cut_passages / self._cut_pages if file.passages is None else file.passages
            read = heapq.heappop(readers) + self._reading_left(file, a_page, now)
            heapq.heappush(readers, read)
            end = max(end, read) + (passages - file.embedded) * a_passage
        return end

    def _reading_left(self, file: _File, a_page: float, now: float) -> float:
        if file.seconds is not None:
            return 0.0
        if file.began is None:
            return file.pages * a_page
        # Its last page is not its end: what is found on the pages is put together then.
        return max((file.pages - file.read) * a_page, file.pages * a_page - (now - file.began))
