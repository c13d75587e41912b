"""`engine.ingest`: papers into the library, out of it and between libraries."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING

from ragscience.core.errors import NothingFound, RagScienceError, UsageError
from ragscience.core.records import Chunk, Document, Page, Paper
from ragscience.core.tokenizing import counted
from ragscience.engine.events import OnEvent, PaperStored, PlanMade, Progressed, unheard
from ragscience.engine.left_out_files import remove_older, remove_papers
from ragscience.engine.shared_parts import SharedParts, open_at, open_store
from ragscience.library.store import Home, NewPaper, Store, text_hash

if TYPE_CHECKING:
    from ragscience.engine.events import FetchRequest, FetchResult, IngestResult, SyncPlan
    from ragscience.engine.fetch_runs import Choose
    from ragscience.engine.ingest_runs import IngestRun
    from ragscience.engine.rebuild_runs import Part
    from ragscience.library.similarity import Duplicate


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

    def remove(
        self, papers: Sequence[str], *, forget: bool = False, on_event: OnEvent | None = None
    ) -> tuple[Paper, ...]:
        """Take out all papers that `papers` fit; their files stay, left out of later runs unless they are named.

        With `forget` the next run reads them again. Raises NothingFound for a name that fits no paper.
        """
        with open_store(self._shared.home, self._shared.settings, writing=True) as library:
            return remove_papers(library, papers, on_event or unheard, forget=forget)

    def keep_newest(self, *, on_event: OnEvent | None = None) -> tuple[Duplicate, ...]:
        """Take the older paper of each duplicate out; its file stays, and is left out from now on."""
        with open_store(self._shared.home, self._shared.settings, writing=True) as library:
            return remove_older(library, on_event or unheard)

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

    def copy(self, target: str, source: str | None = None, *, on_event: OnEvent | None = None) -> CopyResult:
        """Copy the library, or the one at `source`, to `target`, and compare the two: URIs as the setting `library`.

        A copy that was cut off is continued. Raises UsageError where the target holds other papers, RagScienceError
        where the copy differs.
        """
        return copy_library(self._shared.home, source or self._shared.settings.library, target, on_event or unheard)

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


@dataclass(frozen=True, slots=True)
class CopyResult:
    """A copy that was made and compared."""

    papers: int
    """In both libraries."""
    passages: int
    copied: int
    """Papers that this run copied; the others were there."""


def copy_library(home: Home, source: str, target: str, on_event: OnEvent) -> CopyResult:
    """Copy the library at one URI to another; a copy that was cut off continues. The source is only read.

    Raises UsageError where both are the same or the target holds other papers, NothingFound for an empty source,
    RagScienceError where the copy differs.
    """
    if source == target:
        raise UsageError(f"The library is at {source} already.", "Name another place with --to.")
    with ExitStack() as stack:
        old = stack.enter_context(open_at(home, source))
        stack.enter_context(old.snapshot())
        papers = sorted(old.papers(), key=lambda paper: paper.paper_id)
        if not papers or old.about.embedder is None:
            raise NothingFound(f"The library at {source} has no papers.", "Name another library with --from.")
        new = stack.enter_context(open_at(home, target, writing=True, is_copy=True))
        there = {paper.md5 for paper in new.papers()}
        others = there - {paper.md5 for paper in papers}
        if others:
            text = f"The library at {target} holds {counted(len(others), 'paper')} that the one at {source} does not."
            raise UsageError(text, "Copy to an empty place.")
        new.set_identity(old.about.embedder, old.about.chunker or "")
        for one in old.sources.all():
            if new.sources.of(one.md5) is None:
                new.sources.put(one.md5, one.metadata)
        wanted = [paper for paper in papers if paper.md5 not in there]
        on_event(PlanMade(len(wanted)))
        for paper in wanted:
            began = time.monotonic()
            copied = new.add_paper(_new_paper(old, paper))
            on_event(PaperStored(copied, is_update=False, seconds=time.monotonic() - began))
        _copy_rest(old, new)
        new.refresh_indexes()
        _compare(old, new, papers, on_event)
        return CopyResult(len(papers), old.about.chunks, len(wanted))


def _new_paper(library: Store, paper: Paper) -> NewPaper:
    """What adds the same paper to another library."""
    contents = library.contents(paper.paper_id)
    pages, texts = contents.pages, contents.texts
    chunks = library.paper_chunks(paper.paper_id)
    ids = [chunk.chunk_id for chunk in chunks]
    vectors = library.vectors.of(ids)[1]
    if len(pages) != paper.pages or not len(chunks) == len(vectors) == paper.chunks:
        raise RagScienceError(f"{paper.file} is damaged and cannot be copied.", "`python ingest.py doctor` says more.")
    tokens = library.tokens.of(ids)
    text = _whole_text(pages, texts)
    return NewPaper(
        path=paper.path,
        md5=paper.md5,
        size_bytes=paper.size_bytes,
        modified_ns=paper.modified_ns,
        document=Document(text, pages, paper.title, paper.warnings, contents.elements, paper.metadata),
        chunks=[Chunk(**{one.name: getattr(chunk, one.name) for one in fields(Chunk)}) for chunk in chunks],
        vectors=vectors,
        tokens={text_hash(chunk.searched): tokens[chunk.chunk_id] for chunk in chunks if chunk.chunk_id in tokens},
        added_at=paper.added_at,
    )


def _whole_text(pages: Sequence[Page], texts: Sequence[str]) -> str:
    """The text of a document from that of its pages: what stands between two of them is white."""
    parts, end = [], 0
    for page, text in zip(pages, texts, strict=True):
        parts += ["\n" * (page.start - end), text]
        end = page.end
    return "".join(parts)


def _copy_rest(old: Store, new: Store) -> None:
    """Copy what belongs to no single paper: files that are left out, and the graph's rows."""
    for kind in ("aside", "removed"):
        new.note(kind, old.noted(kind))
    if _graph(old) == _graph(new):
        return
    ids = {name: chunk_id for chunk_id, name in new.graph.stable_ids().items()}
    names = old.graph.stable_ids()
    rows = old.graph.rows()
    for extractor, version in old.graph.counts():
        pending = set(old.graph.pending(extractor, version))
        found = [(ids[names[one]], text) for one, _, by, text in rows if by == extractor and one not in pending]
        new.graph.put(extractor, version, found)


def _graph(library: Store) -> list[tuple[str, str, str]]:
    names = library.graph.stable_ids()
    return sorted((names[chunk_id], extractor, text) for chunk_id, _, extractor, text in library.graph.rows())


# Comparison


def _compare(old: Store, new: Store, papers: list[Paper], on_event: OnEvent) -> None:
    """Compare counts and contents. Raises RagScienceError for a difference."""
    fix = "Remove what is there and copy again; the source is unchanged."
    counts = (new.about.papers, new.about.chunks)
    if counts != (len(papers), old.about.chunks):
        raise RagScienceError(f"The copy holds {counts[0]} papers with {counts[1]} passages, which is wrong.", fix)
    copies = {paper.md5: paper for paper in new.papers()}
    for number, paper in enumerate(papers):
        on_event(Progressed("comparing papers", number, len(papers)))
        if not _same(_new_paper(old, paper), _new_paper(new, copies[paper.md5])):
            raise RagScienceError(f"{paper.file} is not the same in the copy.", fix)
    if _graph(old) != _graph(new) or old.graph.counts() != new.graph.counts():
        raise RagScienceError("The rows of the knowledge graph are not the same in the copy.", fix)


def _same(one: NewPaper, other: NewPaper) -> bool:
    """Whether all that is stored of a paper is the same."""
    import numpy as np

    plain = [repr(replace(each, vectors=np.zeros(0, np.float32), tokens={})) for each in (one, other)]
    tokens = [{key: codes.tobytes() for key, codes in (each.tokens or {}).items()} for each in (one, other)]
    return plain[0] == plain[1] and np.array_equal(one.vectors, other.vectors) and tokens[0] == tokens[1]
