"""A watch: a library follows a folder, or a bucket, until it is cancelled."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING

from ragscience.core.errors import LibraryBusy, RagScienceError, UsageError
from ragscience.engine.events import OnEvent, PaperFailed, Warned, WatchChanged
from ragscience.engine.ingest_runs import IngestRun, ocr_language, open_readers
from ragscience.engine.model_pool import ModelPool
from ragscience.engine.shared_parts import open_store, paper_files, require_some_left
from ragscience.library.folder_watch import BucketFolder, Folder, Watched, Work
from ragscience.library.ingestion import make_plan

if TYPE_CHECKING:
    from ragscience.core.settings import Settings
    from ragscience.engine.events import Event
    from ragscience.library.store import Home
    from ragscience.reading.worker_pool import ReadingPool

__all__ = ["WatchRun"]

BUSY_SECONDS = 1.0
"""Pause before the next try while another process writes the library, or the folder is gone."""
PROBLEM_SECONDS = 30.0
"""Pause after an error that is not of a file: a full disk, a server that is down."""


class WatchRun:
    """Writes the changes of a folder into a library, which is locked only during each piece of work.

    The models, and the processes that read, stay from one piece to the next.
    """

    def __init__(
        self, home: Home, settings: Settings, models: ModelPool, on_event: OnEvent, cancel: Flag | None = None
    ) -> None:
        self.home = home
        self.settings = settings
        self.models = models
        self.readers: ReadingPool | None = None
        self._files = paper_files(home, settings)
        self._publish = on_event
        self._cancel = cancel or Flag()
        self._is_waiting = False
        self._has_worked = False

    def close(self) -> None:
        """Stop the processes that read."""
        if self.readers is not None:
            self.readers.close()
            self.readers = None

    def watch(self, folder: Path | None = None) -> None:
        """Follow the folder, papers/ without one, until the cancel flag is set.

        Raises UsageError where there is no such folder, and what the first piece of work raises, LibraryBusy aside;
        later errors are events, and the work is tried again.
        """
        path = Path(os.path.abspath(folder or self.home.papers))  # noqa: PTH100  # a link keeps its own name
        there: Watched = Folder(path)
        if self.settings.papers and path == Path(os.path.abspath(self.home.papers)):  # noqa: PTH100
            from ragscience.library.bucket import BucketFiles

            assert isinstance(self._files, BucketFiles)  # noqa: S101 - for the type: the settings name a bucket
            there = BucketFolder(self._files, path)
        elif folder is None:
            path.mkdir(parents=True, exist_ok=True)
        elif not path.is_dir():
            raise UsageError(f"There is no folder {path}.", "Name the folder to watch, or none for papers/.")
        try:
            self._follow(there)
        finally:
            self.close()

    def _follow(self, folder: Watched) -> None:
        with open_store(self.home, self.settings) as library:
            papers = [Path(paper.path) for paper in library.papers()]
        state = folder.state(path for path in papers if path.is_relative_to(folder.path))
        next_look = 0.0
        wall_ns: int | None = time.time_ns()
        is_there = True
        self._publish(WatchChanged("watching", folder.shown))
        for changed in folder.ticks(self._cancel, lambda text: self._publish(Warned(text))):
            now = time.monotonic()
            if now < next_look and (not changed or self._is_waiting):
                continue
            files = folder.files()
            if (files is not None) != is_there:
                is_there = files is not None
                gone = WatchChanged("vanished", folder.shown, folder.lost)
                self._publish(WatchChanged("back", folder.shown, folder.back) if is_there else gone)
            if files is None:
                next_look = now + min(BUSY_SECONDS, folder.pause)
                continue
            work = state.look(files, now, wall_ns=wall_ns)
            wall_ns = None
            pause = self.carry_out(work)
            if pause:
                state.again(work)
            next_look = time.monotonic() + (pause or (folder.settle if state.is_waiting else folder.pause))
        self._publish(WatchChanged("stopped"))

    def carry_out(self, work: Work) -> float:
        """Do a piece of work; 0, or where it fails, the seconds until the next try."""
        if not (work.read or work.gone):
            return 0.0
        try:
            self._write(work)
        except LibraryBusy as busy:
            if not self._is_waiting:
                self._publish(WatchChanged("waiting", text=busy.message))
            self._is_waiting = True
            return BUSY_SECONDS
        except RagScienceError as problem:
            if not self._has_worked:
                raise
            # Models and readers are made again: what they were made for may have changed.
            self.close()
            self.models = ModelPool(lambda *_: None)
            self._publish(WatchChanged("problem", text=f"{problem} It is tried again in {PROBLEM_SECONDS:g} s."))
            self._is_waiting = True
            return PROBLEM_SECONDS
        self._is_waiting, self._has_worked = False, True
        return 0.0

    def _write(self, work: Work) -> None:
        with open_store(self.home, self.settings, writing=True) as library:
            if work.read and self.readers is None:
                self.readers = open_readers(self.settings, ocr_language(self.settings, self._publish))
            run = IngestRun(
                library, self.settings, self.models, self._on_event, cancel=self._cancel, readers=self.readers
            )
            plan = make_plan(library, work.read, where=self._files)
            self._files.save()
            moved = {paper.paper_id for paper, _ in plan.moved}
            found = [library.paper(path=str(path)) for path in work.gone if not os.path.lexists(path)]
            gone = [
                paper
                for paper in found
                if paper is not None and paper.paper_id not in moved and self._files.is_gone(Path(paper.path))
            ]
            require_some_left(self.home, self.settings, library.papers(), gone)
            run.remove_gone(gone, plan)
            if gone and not plan.to_read:
                library.refresh_indexes()
            run.carry_out(plan)

    def _on_event(self, event: Event) -> None:
        # A file that is gone by now is an event of its own when it counts as gone.
        if not (isinstance(event, PaperFailed) and not self._files.exists(str(event.path))):
            self._publish(event)
