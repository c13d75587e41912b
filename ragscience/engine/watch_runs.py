"""A watch of a folder: what is new, changed or gone in it is brought into the library."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Event as Flag

from ragscience.core.errors import LibraryBusy, RagScienceError, UsageError
from ragscience.engine.events import Event, Noted, OnEvent, PaperFailed
from ragscience.engine.ingest_runs import IngestRun
from ragscience.engine.shared_parts import SharedParts, open_store, paper_files
from ragscience.library.ingestion import LocalFiles, make_plan
from ragscience.library.seen_files import LOOK_SECONDS, SETTLE_SECONDS, Folder, FolderState, Work, looks_whole

BUSY_SECONDS = 1.0
"""Pause before the next try while another process writes the library, or the folder is gone."""
_LOOK_SHARE = 20
"""Times as long as a search of the folder took is waited before the next one."""
PROBLEM_SECONDS = 30.0
"""Pause after an error that is not of a file: a full disk, a server that is down."""


@dataclass
class WatchRun:
    """Writes the changes of a folder into a library, which is locked only during each piece of work.

    The models stay from one piece to the next.
    """

    shared: SharedParts
    on_event: OnEvent
    cancel: Flag = field(default_factory=Flag)
    is_waiting: bool = False
    has_worked: bool = False

    @cached_property
    def _files(self) -> LocalFiles:
        return paper_files(self.shared.home, self.shared.settings)

    def watch(self, folder: Path | None = None) -> None:
        """Follow the folder, papers/ without one, until the cancel flag is set.

        Raises UsageError where there is no such folder, and what the first piece of work raises, LibraryBusy aside;
        later errors are events, and the work is tried again.
        """
        path = Path(os.path.abspath(folder or self.shared.home.papers))  # noqa: PTH100  # a link keeps its own name
        if self.shared.settings.papers and path == Path(os.path.abspath(self.shared.home.papers)):  # noqa: PTH100
            what = f"The papers are in {self.shared.settings.papers}, and a watch follows a folder."
            raise UsageError(what, "Run `python ingest.py sync` when the bucket has changed.")
        if folder is None:
            path.mkdir(parents=True, exist_ok=True)
        elif not path.is_dir():
            raise UsageError(f"There is no folder {path}.", "Name the folder to watch, or none for papers/.")
        self._follow(Folder(path))

    def _follow(self, folder: Folder) -> None:
        with open_store(self.shared.home, self.shared.settings) as library:
            papers = [Path(paper.path) for paper in library.papers()]
        known = [path for path in papers if path.is_relative_to(folder.path)]
        state = FolderState(known, settle_seconds=SETTLE_SECONDS, is_whole=looks_whole)
        pause = 0.0
        wall_ns: int | None = time.time_ns()
        is_there = True
        self.on_event(Noted(f"watching {folder.path}"))
        while not self.cancel.wait(pause):
            now = time.monotonic()
            files = folder.files()
            least = max(LOOK_SECONDS, _LOOK_SHARE * (time.monotonic() - now))
            if (files is not None) != is_there:
                is_there = files is not None
                lost = "the folder is gone; its papers stay in the library"
                self.on_event(Noted(f"{folder.path}: {'the folder is there again' if is_there else lost}"))
            if files is None:
                pause = LOOK_SECONDS
                continue
            work = state.look(files, now, wall_ns=wall_ns)
            wall_ns = None
            pause = self.carry_out(work)
            if pause:
                state.again(work)
            pause = pause or least
        self.on_event(Noted("stopped"))

    def carry_out(self, work: Work) -> float:
        """Do a piece of work; 0, or where it fails, the seconds until the next try."""
        if not (work.read or work.gone):
            return 0.0
        try:
            self._write(work)
        except LibraryBusy as busy:
            if not self.is_waiting:
                self.on_event(Noted(f"waiting: {busy.message}"))
            self.is_waiting = True
            return BUSY_SECONDS
        except RagScienceError as problem:
            if not self.has_worked:
                raise
            # Models are made again: what they were made for may have changed.
            self.shared.close("models")
            self.on_event(Noted(f"{problem} It is tried again in {PROBLEM_SECONDS:g} s."))
            self.is_waiting = True
            return PROBLEM_SECONDS
        self.is_waiting, self.has_worked = False, True
        return 0.0

    def _write(self, work: Work) -> None:
        with self.shared.writing() as library:
            run = IngestRun(library, self.shared, self._told, cancel=self.cancel)
            plan = make_plan(library, work.read, where=self._files)
            self._files.save()
            found = [library.paper(path=str(path)) for path in work.gone if not os.path.lexists(path)]
            gone = run.gone_of([paper for paper in found if paper is not None], plan)
            run.remove_gone(gone, plan)
            run.carry_out(plan)

    def _told(self, event: Event) -> None:
        # A file that is gone by now is an event of its own when it counts as gone.
        if not (isinstance(event, PaperFailed) and not self._files.exists(str(event.path))):
            self.on_event(event)
