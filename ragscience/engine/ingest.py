"""`engine.ingest`: papers into the library, made again, and out of it; and a folder that is followed."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag

from ragscience.core.errors import LibraryBusy, NothingFound, RagScienceError, UsageError
from ragscience.core.paper_records import has_pages
from ragscience.core.records import Paper
from ragscience.core.tokenizing import some_of
from ragscience.engine import events
from ragscience.engine.events import FetchRequest, FetchResult, IngestResult, OnEvent, unheard
from ragscience.engine.fetch_runs import Choose, FetchRun, client_of, html_formulas
from ragscience.engine.ingest_runs import IngestRun
from ragscience.engine.reread_runs import ASKED, Part, RereadRun, put_aside_if_damaged
from ragscience.engine.shared_parts import SharedParts, open_store, refuse_papers_in
from ragscience.library import seen_files
from ragscience.library.ingestion import make_plan
from ragscience.library.seen_files import Folder, FolderState, Work
from ragscience.library.similarity import Duplicate, near_duplicates, without_older
from ragscience.search.paper_lookup import find_papers
from ragscience.sources.bib_reading import read_bib
from ragscience.sources.zotero import narrowed, read_zotero
from ragscience.sources.zotero_folder import data_folder


class Ingest:
    """What changes the library; one run writes at a time."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared

    @contextmanager
    def _writing(self, on_event: OnEvent, cancel: Flag | None = None, workers: int | str = 0) -> Iterator[RereadRun]:
        """A run with the library open for writing. Raises LibraryBusy where another process or thread writes it."""
        with self._shared.writing() as library:
            for text in library.damage():  # the log's, which a writer empties
                on_event(events.Warned(text))
            yield RereadRun(library, self._shared, on_event, cancel=cancel, workers=workers)

    def add(
        self,
        paths: Sequence[str | Path] = (),
        *,
        workers: int | str = 0,
        on_event: OnEvent = unheard,
        cancel: Flag | None = None,
    ) -> IngestResult:
        """Read new and changed PDFs under `paths`, papers/ without any; `cancel` ends it after the paper in hand.

        So many `workers`, processes of one core each, read, cut and embed, or those of the Ray cluster at a HOST:PORT;
        without any this process embeds, on all cores. A script that asks for processes needs its
        `if __name__ == "__main__":`, as they import it. A file that cannot be read is a failure in the result. Raises
        RagScienceError where the library cannot be written or belongs to another model or other settings.
        """
        with self._writing(on_event, cancel, workers) as run:
            return run.add([Path(path) for path in paths])

    def sync(self, *, on_event: OnEvent = unheard) -> IngestResult:
        """Make the library what is on disk: read what is new or changed, remove what is gone. Raises as `add`."""
        with self._writing(on_event) as run:
            return run.sync()

    def sync_plan(self, *, on_event: OnEvent = unheard) -> tuple[list[Path], list[Paper]]:
        """What `sync` would do: (the files that it would read, the papers that it would remove)."""
        with self._writing(on_event) as run:
            return run.sync_plan()

    def remove(self, papers: Sequence[str], *, on_event: OnEvent = unheard) -> tuple[Paper, ...]:
        """Take out all papers that `papers` fit; their files stay, left out of later runs unless they are named.

        Raises NothingFound for a name that fits no paper.
        """
        with self._writing(on_event) as run:
            found = find_papers(run.library, papers)
            run.leave_out([(paper, "the file itself remains") for paper in found])
            return tuple(found)

    def keep_newest(self, *, on_event: OnEvent = unheard) -> tuple[Duplicate, ...]:
        """Take the older paper of each duplicate out, as `remove`; for each that went, the pair with a newer one."""
        with self._writing(on_event) as run:
            pairs = without_older(near_duplicates(run.library.fingerprints()))
            papers = {paper.file: paper for paper in run.library.papers()}
            run.leave_out([(papers[pair.older], pair.why) for pair in pairs])
            return tuple(pairs)

    def rebuild(
        self,
        only: Part | None = None,
        papers: Sequence[str] = (),
        *,
        workers: int | str = 0,
        on_event: OnEvent = unheard,
    ) -> IngestResult:
        """Read, cut and embed every paper again, or those that `papers` fit, or only make one part again.

        `workers` as for `add`. A database that is damaged as a whole is put aside, and every paper that it had is read
        again. Raises as `add`, and NothingFound for a name that fits no paper.
        """
        whole = not only and not papers
        lost = put_aside_if_damaged(self._shared.home, self._shared.settings.library, on_event) if whole else None
        if lost is not None:
            self._shared.close("library")
        with self._writing(on_event, workers=workers) as run:
            return run.rebuild(only, papers) if lost is None else run.read_lost(lost)

    def fetch(
        self,
        request: FetchRequest,
        *,
        choose: Choose | None = None,
        on_event: OnEvent = unheard,
        cancel: Flag | None = None,
    ) -> FetchResult:
        """Papers from arXiv and from URLs into papers/ and the library; `choose` picks from what searches find.

        Raises UsageError offline and for a request without a meaning; other errors are in the result.
        """
        return FetchRun(self._shared, on_event, cancel).fetch(request, choose)

    def formulas(self, papers: Sequence[str] = (), *, on_event: OnEvent = unheard) -> IngestResult:
        """Read papers again with the formulas of arXiv's HTML, where that has any.

        Without names those of all PDFs with an arXiv id that were not asked for yet. Raises UsageError offline,
        NothingFound for papers without one, SourceError where arXiv cannot be reached: the same call goes on.
        """
        client = client_of(self._shared, on_event)
        with self._writing(on_event) as run:
            asked = () if papers else run.library.noted(ASKED)
            meant = find_papers(run.library, papers) if papers else run.library.papers()
            known = [paper for paper in meant if paper.metadata.arxiv_id and has_pages(paper.file)]
            wanted = [paper for paper in known if paper.md5 not in asked]
            if papers and not wanted:
                raise NothingFound("That is no PDF with an arXiv id.", "`python ingest.py show PAPER` says its id.")
            return run.take_formulas(html_formulas(client, self._shared.settings, wanted, on_event))

    def zotero(
        self,
        data: Path | None = None,
        *,
        collections: Sequence[str] = (),
        tags: Sequence[str] = (),
        on_event: OnEvent = unheard,
    ) -> IngestResult:
        """Read the papers that Zotero has, where they are, and follow what changes there; nothing of it is written.

        `data` is Zotero's data folder; None: where this machine's profiles say. With `collections` or `tags` only their
        papers are read. Raises NothingFound without a database or with nothing in it that fits, RagScienceError for a
        database that cannot be read.
        """
        refuse_papers_in(self._shared.settings)
        found = read_zotero(data_folder(data))
        wanted = narrowed(found.attachments, collections, tags)
        if (collections or tags) and not wanted:
            known = (one.metadata for one in found.attachments)
            names = sorted({name for one in known for name in (*one.collections, *one.tags)})
            raise NothingFound("No paper in Zotero has that collection or tag.", f"There are {some_of(names, 10)}.")
        with self._writing(on_event) as run:
            return run.follow_zotero(found, wanted)

    def bib(self, path: Path, files: Path | None = None, *, on_event: OnEvent = unheard) -> IngestResult:
        """Give papers the keys and fields of a .bib file, and read the PDFs that its entries name.

        `files` is where those with relative paths are, if not beside it. Raises UsageError for a file that cannot be
        read, NothingFound for one without entries.
        """
        refuse_papers_in(self._shared.settings)
        found = read_bib(path)
        with self._writing(on_event) as run:
            return run.join_bib(found, files)

    def watch(self, folder: Path | None = None, *, on_event: OnEvent = unheard, cancel: Flag | None = None) -> None:
        """Follow a folder, papers/ without one, until `cancel` is set. Raises UsageError if it does not exist."""
        WatchRun(self._shared, on_event, cancel or Flag()).watch(folder)


# A watch

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
        state = FolderState(known, settle_seconds=seen_files.SETTLE_SECONDS, is_whole=seen_files.looks_whole)
        pause = 0.0
        wall_ns: int | None = time.time_ns()
        is_there = True
        self.on_event(events.Noted(f"watching {folder.path}"))
        while not self.cancel.wait(pause):
            now = time.monotonic()
            files = folder.files()
            least = max(seen_files.LOOK_SECONDS, _LOOK_SHARE * (time.monotonic() - now))
            if (files is not None) != is_there:
                is_there = files is not None
                lost = "the folder is gone; its papers stay in the library"
                self.on_event(events.Noted(f"{folder.path}: {'the folder is there again' if is_there else lost}"))
            if files is None:
                pause = seen_files.LOOK_SECONDS
                continue
            work = state.look(files, now, wall_ns=wall_ns)
            wall_ns = None
            pause = self.carry_out(work)
            if pause:
                state.again(work)
            pause = pause or least
        self.on_event(events.Noted("stopped"))

    def carry_out(self, work: Work) -> float:
        """Do a piece of work; 0, or where it fails, the seconds until the next try."""
        if not (work.read or work.gone):
            return 0.0
        try:
            self._write(work)
        except LibraryBusy as busy:
            if not self.is_waiting:
                self.on_event(events.Noted(f"waiting: {busy.message}"))
            self.is_waiting = True
            return BUSY_SECONDS
        except RagScienceError as problem:
            if not self.has_worked:
                raise
            # Models are made again: what they were made for may have changed.
            self.shared.close("models")
            self.on_event(events.Noted(f"{problem} It is tried again in {PROBLEM_SECONDS:g} s."))
            self.is_waiting = True
            return PROBLEM_SECONDS
        self.is_waiting, self.has_worked = False, True
        return 0.0

    def _write(self, work: Work) -> None:
        with self.shared.writing() as library:
            run = IngestRun(library, self.shared, self._told, cancel=self.cancel)
            plan = make_plan(library, work.read, where=self.shared.files)
            self.shared.files.save()
            found = [library.paper(path=str(path)) for path in work.gone if not os.path.lexists(path)]
            gone = run.gone_of([paper for paper in found if paper is not None], plan)
            run.remove_gone(gone, plan)
            run.carry_out(plan)

    def _told(self, event: events.Event) -> None:
        # A file that is gone by now is an event of its own when it counts as gone.
        if not (isinstance(event, events.PaperFailed) and not self.shared.files.exists(str(event.path))):
            self.on_event(event)
