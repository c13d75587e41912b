"""Runs that make a library again, all of it or a part, and runs that follow a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Literal

from ragscience.core.errors import FileProblem, LibraryBusy, RagScienceError, UsageError
from ragscience.core.records import Paper
from ragscience.core.tokenizing import counted
from ragscience.engine.events import (
    IngestResult,
    Noted,
    OnEvent,
    PaperFailed,
    Progressed,
    Warned,
)
from ragscience.engine.ingest_pipeline import TokenRoom
from ragscience.engine.ingest_runs import IngestRun
from ragscience.engine.model_pool import ModelPool
from ragscience.engine.shared_parts import EMBEDDED, open_store, paper_files, require_some_left
from ragscience.library.folder_watch import LOOK_SECONDS, SETTLE_SECONDS, Folder, FolderState, Work, looks_whole
from ragscience.library.ingestion import Failure, IngestPlan, apply_renames, make_plan
from ragscience.library.store import DamagedDatabase, Home, damage_of, put_aside, require_identity, text_hash
from ragscience.models.maxsim import EMBEDDING_BATCH, embed_batch
from ragscience.search.paper_lookup import find_papers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.core.settings import Settings
    from ragscience.engine.events import Event
    from ragscience.models.model_protocols import Embedder

Part = Literal["embeddings", "indexes"]
"""What alone is made again; with either come the token vectors that are missing."""


class RebuildRun(IngestRun):
    """A library that is open for writing, to be made again."""

    def rebuild(self, only: Part | None = None, papers: Sequence[str] = ()) -> IngestResult:
        """Read, cut and embed every paper again, or those that `papers` fit; or only make one part again.

        A file that is gone leaves its paper as it is; vectors are replaced all or none. Raises NothingFound for a name
        that fits no paper.
        """
        if papers:
            return self._read_named(papers)
        if only is None:
            return self._read_again()
        if only == "embeddings":
            self._replace_vectors(self._models.embedder(self._settings, None, self._warn, packed=True))
        self._rebuild_indexes()
        result = self._result(IngestPlan(()), None)
        for text in self.library.damage():
            self._warn(text)
        return result

    def read_lost(self, lost: DamagedDatabase) -> IngestResult:
        """Read all papers again that a database had which was put aside."""
        papers = self.library.home.papers
        lost.carry_over(self.library)
        return self.add([papers, *(path for path in lost.files if path.exists() and papers not in path.parents)])

    def _read_named(self, names: Sequence[str]) -> IngestResult:
        library = self.library
        embedder = self._models.embedder(self._settings, library.about.embedder, self._warn, packed=True)
        require_identity(library, embedder.identity, self._chunker)
        plan = self._plan(find_papers(library, names))
        return self._result(plan, self._run(plan, embedder))

    def _read_again(self) -> IngestResult:
        library, embedder = self.library, self._models.embedder(self._settings, None, self._warn, packed=True)
        if library.about.embedder is not None and library.about.embedder != embedder.identity:
            self._replace_vectors(embedder)
        # A paper follows its bytes first: two files may have changed places.
        apply_renames(library, make_plan(library, [Path(paper.path) for paper in library.papers()], where=self._files))
        plan = self._plan(library.papers())
        pipeline = self._run(plan, embedder)
        read = len(pipeline.added) + len(pipeline.updated)
        if not plan.failures and read == len(plan.to_read) == library.about.papers:
            library.set_identity(embedder.identity, self._chunker)
        self._rebuild_indexes()
        return self._result(plan, pipeline)

    def _plan(self, papers: Sequence[Paper]) -> IngestPlan:
        """Read these papers again, as far as their files are there."""
        states, failures = [], []
        for paper in papers:
            if self._files.is_gone(Path(paper.path)):
                text = f"{paper.file} is kept as it was: its file is gone (`python ingest.py sync` removes it)"
                self._on_event(Warned(text))
                continue
            try:
                state = self._files.state(Path(paper.path), (paper.md5,))
            except FileProblem as problem:
                failures.append(Failure(Path(paper.path), problem))
                continue
            other = self.library.paper(md5=state.md5) if state.md5 != paper.md5 else None
            if other is not None:
                text = f"{paper.file} is kept as it was: its file has the bytes of {other.file} now"
                self._on_event(Warned(f"{text} (`python ingest.py sync` follows files)"))
                continue
            states.append(state)
        return IngestPlan(tuple(states), failures=tuple(failures))

    def _rebuild_indexes(self) -> None:
        self._make_tokens()
        self.library.refresh_indexes(anew=True)
        self._on_event(Noted(f"search indexes rebuilt: {counted(self.library.about.chunks, 'passage')}"))

    def _replace_vectors(self, embedder: Embedder) -> None:
        library = self.library
        total = library.about.chunks
        source = self._models.ingest_tokens(self._settings, embedder, self._warn)
        # Token vectors are of one model: those of another embedder stay, and what they lack is made afterwards.
        source = source if source is embedder else None
        room = TokenRoom(0)

        def batches() -> Iterator[tuple[Sequence[int], NDArray[np.float32], dict[bytes, NDArray[np.uint8]]]]:
            done = 0
            for ids, texts in library.texts(EMBEDDING_BATCH):
                vectors, tokens = embed_batch(embedder, source, texts)
                yield ids, vectors, room.fitting(_by_hash(texts, tokens))
                done += len(ids)
                self._on_event(Progressed("embedding passage", done, total))

        library.vectors.replace(embedder.identity, batches())

    def _make_tokens(self) -> None:
        """Make the token vectors that are lost, damaged or were not kept, up to the size limit."""
        library, settings = self.library, self._settings
        embedder = self._models.embedder(settings, library.about.embedder, self._warn, packed=True)
        source = self._models.ingest_tokens(settings, embedder, self._warn)
        if source is None:
            return
        lost, unkept = library.tokens.missing()
        wanted, done = [*lost, *unkept], 0
        room = TokenRoom(library.tokens.size_bytes())
        for first in range(0, len(wanted), EMBEDDING_BATCH):
            chunks = library.chunks(wanted[first : first + EMBEDDING_BATCH])
            texts = [chunk.searched for chunk in chunks]
            library.tokens.put(room.fitting(_by_hash(texts, embed_batch(source, source, texts)[1])))
            done += len(chunks)
            self._on_event(Progressed("embedding passage", done, len(wanted)))


def _by_hash(texts: Sequence[str], tokens: Sequence[NDArray[np.uint8]]) -> dict[bytes, NDArray[np.uint8]]:
    """The token vectors by the hash of their text; none of `texts` without `tokens`."""
    return {text_hash(text): rows for text, rows in zip(texts, tokens, strict=False)}


def put_aside_if_damaged(home: Home, uri: str, on_event: OnEvent) -> DamagedDatabase | None:
    """What the database had where the library's damage is not of single papers; None where there is none of that.

    A database of the home is renamed, and stays beside the new one; so is a folder of LanceDB. Raises LibraryBusy
    while another process writes.
    """
    if uri != EMBEDDED:
        from ragscience.library.lance_store import put_lance_aside

        damage, left = put_lance_aside(home, uri) or (None, "")
    else:
        damage, left = damage_of(home), ""
    if damage is None:
        return None
    if uri == EMBEDDED and (kept := put_aside(home)) is not None:
        left = kept.name
    on_event(Warned(f"{damage.why} All papers are read again.{f' What is left is kept as {left}.' if left else ''}"))
    return damage


BUSY_SECONDS = 1.0
"""Pause before the next try while another process writes the library, or the folder is gone."""
_LOOK_SHARE = 20
"""Times as long as a search of the folder took is waited before the next one."""
PROBLEM_SECONDS = 30.0
"""Pause after an error that is not of a file: a full disk, a server that is down."""


class WatchRun:
    """Writes the changes of a folder into a library, which is locked only during each piece of work.

    The models stay from one piece to the next.
    """

    def __init__(
        self, home: Home, settings: Settings, models: ModelPool, on_event: OnEvent, cancel: Flag | None = None
    ) -> None:
        self.home = home
        self.settings = settings
        self.models = models
        self._files = paper_files(home, settings)
        self._publish = on_event
        self._cancel = cancel or Flag()
        self._is_waiting = False
        self._has_worked = False

    def watch(self, folder: Path | None = None) -> None:
        """Follow the folder, papers/ without one, until the cancel flag is set.

        Raises UsageError where there is no such folder, and what the first piece of work raises, LibraryBusy aside;
        later errors are events, and the work is tried again.
        """
        path = Path(os.path.abspath(folder or self.home.papers))  # noqa: PTH100  # a link keeps its own name
        if self.settings.papers and path == Path(os.path.abspath(self.home.papers)):  # noqa: PTH100
            what = f"The papers are in {self.settings.papers}, and a watch follows a folder."
            raise UsageError(what, "Run `python ingest.py sync` when the bucket has changed.")
        if folder is None:
            path.mkdir(parents=True, exist_ok=True)
        elif not path.is_dir():
            raise UsageError(f"There is no folder {path}.", "Name the folder to watch, or none for papers/.")
        self._follow(Folder(path))

    def _follow(self, folder: Folder) -> None:
        with open_store(self.home, self.settings) as library:
            papers = [Path(paper.path) for paper in library.papers()]
        known = [path for path in papers if path.is_relative_to(folder.path)]
        state = FolderState(known, settle_seconds=SETTLE_SECONDS, is_whole=looks_whole)
        pause = 0.0
        wall_ns: int | None = time.time_ns()
        is_there = True
        self._publish(Noted(f"watching {folder.path}"))
        while not self._cancel.wait(pause):
            now = time.monotonic()
            files = folder.files()
            least = max(LOOK_SECONDS, _LOOK_SHARE * (time.monotonic() - now))
            if (files is not None) != is_there:
                is_there = files is not None
                lost = "the folder is gone; its papers stay in the library"
                self._publish(Noted(f"{folder.path}: {'the folder is there again' if is_there else lost}"))
            if files is None:
                pause = LOOK_SECONDS
                continue
            work = state.look(files, now, wall_ns=wall_ns)
            wall_ns = None
            pause = self.carry_out(work)
            if pause:
                state.again(work)
            pause = pause or least
        self._publish(Noted("stopped"))

    def carry_out(self, work: Work) -> float:
        """Do a piece of work; 0, or where it fails, the seconds until the next try."""
        if not (work.read or work.gone):
            return 0.0
        try:
            self._write(work)
        except LibraryBusy as busy:
            if not self._is_waiting:
                self._publish(Noted(f"waiting: {busy.message}"))
            self._is_waiting = True
            return BUSY_SECONDS
        except RagScienceError as problem:
            if not self._has_worked:
                raise
            # Models are made again: what they were made for may have changed.
            self.models = ModelPool(lambda *_: None)
            self._publish(Noted(f"{problem} It is tried again in {PROBLEM_SECONDS:g} s."))
            self._is_waiting = True
            return PROBLEM_SECONDS
        self._is_waiting, self._has_worked = False, True
        return 0.0

    def _write(self, work: Work) -> None:
        with open_store(self.home, self.settings, writing=True) as library:
            run = IngestRun(library, self.settings, self.models, self._on_event, cancel=self._cancel)
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
