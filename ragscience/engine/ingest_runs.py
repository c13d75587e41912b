"""Runs that write a library: papers come in, follow their files, and leave."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from threading import Event as Flag

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Paper
from ragscience.core.tokenizing import counted
from ragscience.engine.events import IngestResult, Noted, OnEvent, PaperFailed, PaperRemoved, Progressed, Warned
from ragscience.engine.ingest_pipeline import Pipeline, Read, RunProgress
from ragscience.engine.shared_parts import SharedParts, paper_files, require_some_left
from ragscience.library.ingestion import FoundFiles, IngestPlan, apply_renames, make_plan
from ragscience.library.paper_task import PaperJob, TaskOptions
from ragscience.library.paper_workers import WORKER_BYTES, PaperWorkers, RayWorkers, WorkerProcesses
from ragscience.library.seen_files import SkippedFiles, note_removed
from ragscience.library.similarity import near_duplicates
from ragscience.library.store import Store, known_files, require_identity, text_hash
from ragscience.models.maxsim import EMBEDDING_BATCH
from ragscience.models.model_protocols import Embedder, TokenEmbedder
from ragscience.reading import READING_VERSION
from ragscience.reading.chunking import splitter_class
from ragscience.reading.reader_process import READING_BYTES, READING_SECONDS
from ragscience.reading.worker_pool import ReadingPool

_MOST_DUPLICATES = 20
"""Papers that a run names as being there twice; it counts the others."""


class IngestRun:
    """A library that is open for writing, and what fills it."""

    def __init__(
        self,
        library: Store,
        shared: SharedParts,
        on_event: OnEvent,
        *,
        cancel: Flag | None = None,
        workers: int | str = 0,
    ) -> None:
        """Once `cancel` is set, a run ends after the paper in hand.

        `workers` are processes that read, cut and embed, or a Ray cluster's HOST:PORT; 0: this one embeds.
        """
        self.library = library
        self._settings = shared.settings
        self._models = shared.models
        self._on_event = on_event
        self._cancel = cancel
        self._workers = workers
        self._has_removed = False
        self._files = paper_files(library.home, shared.settings)
        self._skips = SkippedFiles(library.home, self._files.exists, lambda line: on_event(Noted(line)))

    def add(self, paths: Sequence[Path]) -> IngestResult:
        """Read what is new or changed under `paths`, papers/ without any."""
        named = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100  # as find_pdfs does
        return self.carry_out(self._planned(paths or [self.library.home.papers]), named)

    def _planned(self, paths: Sequence[Path]) -> IngestPlan:
        """The work for what the paths name."""
        papers = self.library.home.papers
        if not self._settings.papers and list(paths) == [papers]:
            papers.mkdir(parents=True, exist_ok=True)
        found: FoundFiles = self._files.find(paths, lambda count: self._on_event(Progressed("looking for PDFs", count)))
        self._skips.note_others(found.others)

        try:
            return make_plan(self.library, found.pdfs, found.failures, self._compared(len(found.pdfs)), self._files)
        finally:
            self._files.save()

    def _compared(self, total: int) -> Callable[[int], None]:
        return lambda number: self._on_event(Progressed("comparing files", number, total))

    def sync_plan(self) -> tuple[list[Path], list[Paper]]:
        """What `sync` would do: (the files that it would read, the papers that it would remove)."""
        plan, gone = self._changes()
        skips = SkippedFiles(self.library.home, self._files.exists)
        plan = skips.leave_out(self.library, plan, (), self._read_by)
        return [state.path for state in plan.to_read], gone

    def sync(self) -> IngestResult:
        """Make the library what is on disk: read what is new or changed, remove what is gone."""
        plan, gone = self._changes()
        self.remove_gone(gone, plan)
        return self.carry_out(plan)

    def remove_gone(self, gone: Sequence[Paper], plan: IngestPlan) -> None:
        """Remove papers whose files are gone; not while a new file cannot be read, which may be one of theirs."""
        if gone and plan.failures:
            known = known_files(self.library)
            unread = [failure.path.name for failure in plan.failures if str(failure.path) not in known]
            if unread:
                papers = counted(len(gone), "paper whose file is gone stays", "papers whose files are gone stay")
                self._warn(f"{papers} until {unread[0]} can be read: it may be the same file under another name.")
                return
        self.take_out([(paper, "its file is gone") for paper in gone])

    def leave_out(self, going: Sequence[tuple[Paper, str]]) -> None:
        """Remove papers, each for a reason; their files are left out from now on."""
        # Noted before, so that a run that is killed in between leaves nothing that the next ingest would undo.
        note_removed(self.library, [paper for paper, _ in going])
        self.take_out(going)
        if going:
            self.library.refresh_indexes()

    def take_out(self, going: Sequence[tuple[Paper, str]]) -> None:
        """Remove papers, each for a reason."""
        if going:
            self.library.remove_papers([paper.paper_id for paper, _ in going])
            self._has_removed = True
        for paper, why in going:
            self._on_event(PaperRemoved(paper, why))

    def _changes(self) -> tuple[IngestPlan, list[Paper]]:
        """The changes of papers/ and of the papers outside of it, and the papers whose files are gone."""
        plan = self._planned([self.library.home.papers])
        papers, planned = self.library.papers(), {*plan.paths, *(failure.path for failure in plan.failures)}
        gone = self.gone_of(papers, plan)
        outside = [paper for paper in papers if Path(paper.path) not in planned]
        changed = [Path(paper.path) for paper in outside if _is_changed(paper)]
        if changed:
            plan = make_plan(self.library, [*plan.paths, *changed], plan.failures, where=self._files)
        return plan, gone

    def gone_of(self, papers: Sequence[Paper], plan: IngestPlan) -> list[Paper]:
        """Those of the papers whose files are gone, and not elsewhere now. Raises as `require_some_left`."""
        moved = {paper.paper_id for paper, _ in plan.moved}
        gone = [paper for paper in papers if paper.paper_id not in moved and self._files.is_gone(Path(paper.path))]
        require_some_left(self.library.home, self._settings, self.library.papers(), gone)
        return gone

    # One plan

    def carry_out(self, plan: IngestPlan, named: Sequence[Path] = ()) -> IngestResult:
        """Store what the plan has to read, but for what is left out and not in `named`.

        Raises LibraryUnavailable where the library was made in another way.
        """
        apply_renames(self.library, plan)
        plan = self._skips.leave_out(self.library, plan, named, self._read_by)
        pipeline = None
        try:
            if plan.to_read:
                self._on_event(Progressed("opening the models"))
                embedder = self._models.embedder(self._settings, self.library.about.embedder)
                if self.library.about.chunks:
                    require_identity(self.library, embedder.identity, self._chunker)
                else:
                    self.library.set_identity(embedder.identity, self._chunker)
                pipeline = self._run(plan, embedder)
            elif plan.renames or self._has_removed:
                self.library.refresh_indexes()
            return self._result(plan, pipeline)
        finally:
            self._skips.save(known_files(self.library))

    def _run(self, plan: IngestPlan, embedder: Embedder) -> Pipeline:
        with ExitStack() as stack:
            count = self._settings.reading_workers or max(1, (os.cpu_count() or 2) - 1)
            readers = stack.enter_context(ReadingPool(count, ocr=self._ocr_language))
            readers.start()
            splitter_class()  # imported while the reader's process comes up
            tokens = self._models.ingest_tokens(self._settings, embedder, self._warn)
            options = self._options(embedder, tokens)
            progress = RunProgress({state.path: state.size_bytes for state in plan.to_read}, self._on_event)
            read_all: Callable[..., Read] = readers.read_all
            if self._workers:
                read_all = stack.enter_context(self._open_workers(options, plan)).read_all
            pipeline = Pipeline(self.library, options, embedder, self._on_event, tokens_from=tokens, where=self._files)
            states = {state.path: state for state in plan.to_read}
            opened = lambda path: self._files.opened(path, states[path].md5)  # noqa: E731
            try:
                pipeline.run(plan, partial(read_all, progress=progress, opened=opened), progress, self._cancel)
            finally:
                self._skips.note_failures(pipeline.failures, states, self._read_by)
        return pipeline

    def _options(self, embedder: Embedder | None = None, tokens: TokenEmbedder | None = None) -> TaskOptions:
        """What is done with each paper; a model on a server is asked by this process, never by workers."""
        settings = self._settings
        is_built_in = embedder is not None and embedder.identity.provider == "embedded"
        return TaskOptions(
            ocr=self._ocr_language,
            chunk_size=settings.chunk_size,
            chunk_overlap=settings.chunk_overlap,
            # The built-in model is no faster in larger batches, and Ctrl-C waits for one.
            batch=min(EMBEDDING_BATCH, 16) if is_built_in else EMBEDDING_BATCH,
            embeds=is_built_in,
            tokens=tokens is not None,
            cache_folder=str(settings.chosen("cache_folder") or ""),
        )

    def _open_workers(self, options: TaskOptions, plan: IngestPlan) -> PaperWorkers:
        """So many processes of this machine as have room, or the workers of the Ray cluster at an address."""
        library, states, made_by = self.library, {state.path: state for state in plan.to_read}, options.made_by

        def job_of(path: Path) -> PaperJob:
            state, before = states[path], library.paper(path=str(path))
            known = library.paper_chunks(before.paper_id, notes=True) if before else []
            hashes = frozenset(text_hash(chunk.searched) for chunk in known)
            return PaperJob(path, state.md5, state.size_bytes, made_by, library.sources.of(state.md5), hashes)

        if isinstance(self._workers, str):
            self._on_event(Progressed("connecting to the Ray cluster"))
            cluster = RayWorkers(self._workers, options, job_of)
            self._on_event(Noted(f"{counted(cluster.workers, 'worker')} of the Ray cluster at {self._workers}"))
            return cluster
        import psutil

        wanted = min(self._workers, len(states))
        workers = max(1, min(wanted, psutil.virtual_memory().available // WORKER_BYTES))
        memory = f"about {workers * WORKER_BYTES / 1e9:.1f} GB of memory together"
        self._on_event(Noted(f"{counted(workers, 'worker')}, {memory}"))
        if workers < wanted:
            self._warn(f"There is no memory for {wanted} workers now.")
        return WorkerProcesses(workers, options, job_of)

    def _result(self, plan: IngestPlan, pipeline: Pipeline | None) -> IngestResult:
        """The result of a run, after its last events."""
        for paper, state in plan.renames:
            self._on_event(Noted(f"{paper.file} is now {state.path}: not read again"))
        self._skips.note_copies(plan.copies)
        for failure in plan.failures:
            self._on_event(PaperFailed(failure.path, failure.problem))
        added, updated, failed = (pipeline.added, pipeline.updated, pipeline.failures) if pipeline else ([], [], [])
        ids = {paper.paper_id for paper in (*added, *updated)}
        # By their short names of now, which papers that came after them may have made longer.
        names = {one.file for one in self.library.papers() if one.paper_id in ids} if ids else set()
        pairs = near_duplicates(self.library.fingerprints(), names) if names else []
        one_each = list({pair.older: pair for pair in reversed(pairs)}.values())[::-1]  # the first of each paper
        for pair in one_each[:_MOST_DUPLICATES]:
            keep = "`python ingest.py duplicates --dedupe keep-newest` keeps only the newer one."
            self._on_event(Noted(f"{pair.older}: {pair.why}. {keep}"))
        if len(one_each) > _MOST_DUPLICATES:
            more = counted(len(one_each) - _MOST_DUPLICATES, "more paper")
            self._on_event(Noted(f"{more} may be there twice: `python ingest.py duplicates` lists them."))
        return IngestResult(
            tuple(added),
            tuple(updated),
            failures=(*plan.failures, *failed),
            still_skipped=self._skips.again,
            known=len(plan.unchanged) + len(plan.copies) + len(plan.moved),
            duplicates=tuple(pairs),
            papers=self.library.about.papers,
            passages=self.library.about.chunks,
        )

    @cached_property
    def _ocr_language(self) -> str:
        """The language of OCR; empty without OCR, and with a warning where Tesseract's data is missing."""
        if not self._settings.ocr:
            return ""
        from ragscience.reading.pdf_reader import find_tessdata

        try:
            find_tessdata(self._settings.ocr_language)
        except ModelProblem as problem:
            self._warn(str(problem))
            return ""
        return self._settings.ocr_language

    @property
    def _read_by(self) -> str:
        """What decides whether a file can be read: one that could not is tried again when it changes."""
        limits = f"{READING_SECONDS:g} s, {READING_BYTES >> 20} MB"
        return f"{READING_VERSION}, OCR {self._ocr_language or 'off'}, {limits}"

    @property
    def _chunker(self) -> str:
        return self._options().chunker

    def _warn(self, text: str) -> None:
        if text:
            self._on_event(Warned(text))


def _is_changed(paper: Paper) -> bool:
    """Whether the paper's file is there and has changed."""
    try:
        stat = Path(paper.path).stat()
    except OSError:
        return False
    return (stat.st_size, stat.st_mtime_ns) != (paper.size_bytes, paper.modified_ns)
