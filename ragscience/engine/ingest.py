"""`engine.ingest`: papers into the library, and out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING

from ragscience.core.records import Paper
from ragscience.engine.events import OnEvent, PaperRemoved, Warned, unheard
from ragscience.engine.shared_parts import SharedParts, open_store
from ragscience.library.left_out import duplicates, note_removed, without_older
from ragscience.search.paper_lookup import find_papers

if TYPE_CHECKING:
    from ragscience.engine.events import FetchRequest, FetchResult, IngestResult, SyncPlan
    from ragscience.engine.fetch_runs import Choose
    from ragscience.engine.ingest_runs import IngestRun
    from ragscience.engine.rebuild_runs import Part
    from ragscience.library.similarity import Duplicate
    from ragscience.library.store import Store


class Ingest:
    """What changes the library; one run writes at a time."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared

    @contextmanager
    def _writing(
        self, on_event: OnEvent | None, cancel: Flag | None = None, workers: int | str = 0
    ) -> Iterator[IngestRun]:
        """A run with the library open for writing. Raises LibraryBusy where another process or thread writes it."""
        from ragscience.engine.ingest_runs import IngestRun

        with open_store(self._shared.home, self._shared.settings, writing=True) as library:
            run = IngestRun(library, self._shared.settings, self._shared.models, on_event or unheard, cancel=cancel)
            run.workers = workers
            for text in library.damage():  # the log's, which a writer empties
                (on_event or unheard)(Warned(text))
            yield run

    def add(
        self,
        paths: Sequence[str | Path] = (),
        *,
        workers: int | str = 0,
        on_event: OnEvent | None = None,
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

    def sync(self, *, on_event: OnEvent | None = None, cancel: Flag | None = None) -> IngestResult:
        """Make the library what is on disk: read what is new or changed, remove what is gone. Raises as `add`."""
        with self._writing(on_event, cancel) as run:
            return run.sync()

    def sync_plan(self, *, on_event: OnEvent | None = None) -> SyncPlan:
        """What `sync` would do."""
        with self._writing(on_event) as run:
            return run.sync_plan()

    def remove(self, papers: Sequence[str], *, on_event: OnEvent | None = None) -> tuple[Paper, ...]:
        """Take out all papers that `papers` fit; their files stay, left out of later runs unless they are named.

        Raises NothingFound for a name that fits no paper.
        """
        with open_store(self._shared.home, self._shared.settings, writing=True) as library:
            found = find_papers(library, papers)
            _take_out(library, [(paper, "the file itself remains") for paper in found], on_event or unheard)
            return tuple(found)

    def keep_newest(self, *, on_event: OnEvent | None = None) -> tuple[Duplicate, ...]:
        """Take the older paper of each duplicate out, as `remove`; for each that went, the pair with a newer one."""
        with open_store(self._shared.home, self._shared.settings, writing=True) as library:
            pairs = without_older(duplicates(library))
            papers = {paper.file: paper for paper in library.papers()}
            _take_out(library, [(papers[pair.older], pair.why) for pair in pairs], on_event or unheard)
            return tuple(pairs)

    def rebuild(
        self,
        only: Part | None = None,
        papers: Sequence[str] = (),
        *,
        workers: int | str = 0,
        on_event: OnEvent | None = None,
        cancel: Flag | None = None,
    ) -> IngestResult:
        """Read, cut and embed every paper again, or those that `papers` fit, or only make one part again.

        `workers` as for `add`. A database that is damaged as a whole is put aside, and every paper that it had is read
        again. Raises as `add`, and NothingFound for a name that fits no paper.
        """
        from ragscience.engine.rebuild_runs import RebuildRun, put_aside_if_damaged

        told = on_event or unheard
        whole = not only and not papers
        lost = put_aside_if_damaged(self._shared.home, self._shared.settings.library, told) if whole else None
        if lost is not None:
            self._shared.close(only_library=True)
        with open_store(self._shared.home, self._shared.settings, writing=True) as library:
            run = RebuildRun(library, self._shared.settings, self._shared.models, told, cancel=cancel)
            run.workers = workers
            return run.rebuild(only, papers) if lost is None else run.read_lost(lost)

    def fetch(
        self,
        request: FetchRequest,
        *,
        choose: Choose | None = None,
        on_event: OnEvent | None = None,
        cancel: Flag | None = None,
    ) -> FetchResult:
        """Papers from arXiv and from URLs into papers/ and the library; `choose` picks from what searches find.

        Raises UsageError offline and for a request without a meaning; other errors are in the result.
        """
        from ragscience.engine.fetch_runs import FetchRun

        return FetchRun(
            self._shared.home, self._shared.settings, self._shared.models, on_event or unheard, cancel
        ).fetch(request, choose)

    def watch(self, folder: Path | None = None, *, on_event: OnEvent | None = None, cancel: Flag | None = None) -> None:
        """Follow a folder, papers/ without one, until `cancel` is set. Raises UsageError if it does not exist."""
        from ragscience.engine.rebuild_runs import WatchRun

        WatchRun(self._shared.home, self._shared.settings, self._shared.models, on_event or unheard, cancel).watch(
            folder
        )


def _take_out(library: Store, going: Sequence[tuple[Paper, str]], on_event: OnEvent) -> None:
    """Remove papers, each for a reason; their files are left out from now on."""
    if not going:
        return
    # Before, so that a run that is killed in between leaves nothing that the next ingest would undo.
    note_removed(library, [paper for paper, _ in going])
    library.remove_papers([paper.paper_id for paper, _ in going])
    library.refresh_indexes()
    for paper, why in going:
        on_event(PaperRemoved(paper, why))
