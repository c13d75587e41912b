"""What the commands of ingest.py do, over one home."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.duplicates import Duplicate, duplicates
from ragscience.engine.printable import counted
from ragscience.errors import FileProblem, LibraryUnavailable, ModelProblem
from ragscience.ingestion import (
    Failure,
    Ingestion,
    IngestReport,
    Plan,
    Watcher,
    embed_batch,
    find_pdfs,
    make_plan,
    papers_named,
    run_plan,
    settle,
    vanished,
)
from ragscience.records import Chunk, Document, Paper
from ragscience.store import Home, Library, text_hash
from ragscience.store.row_records import short_names
from ragscience.terminal.cli import say
from ragscience.terminal.deduping import drop_older, leave_out
from ragscience.terminal.deduping import said as pair_said
from ragscience.terminal.models_of import embedder_of, tokens_at_ingest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.models.model_protocols import Embedder, TokenEmbedder
    from ragscience.reading.worker_pool import ReadingPool
    from ragscience.settings import Settings

__all__ = ["IngestSession"]

ReadAll = Callable[[Iterable[Path]], Iterator[tuple[Path, Document | FileProblem]]]

SOME_FAILED = 3
REMEDY = "`python ingest.py duplicates --dedupe keep-newest` keeps the newer one alone."


_SAID = {"auto": "where headings are missing", "always": "always", "never": "never"}


class IngestSession:
    """The library opened for writing, and the models that fill it, made when they are needed."""

    def __init__(self, settings: Settings, *, quiet: bool) -> None:
        self.settings = settings
        self.home = Home(settings.home)
        self.quiet = quiet
        self._library: Library | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._library is not None:
            self._library.close()

    @property
    def library(self) -> Library:
        """The library, locked for this process."""
        if self._library is None:
            self._library = Library.open_for_writing(self.home)
        return self._library

    def add(self, paths: Sequence[Path], *, keep_newest: bool = False) -> int:
        """Read what is new or changed under `paths`, then take older versions out if wanted; an exit code."""
        if list(paths) == [self.home.papers]:
            self._make_papers_folder()
        named = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100  # as find_pdfs does
        plan = self._without_older(make_plan(self.library, *find_pdfs(paths)), named)
        code = self._carry_out(plan)
        if keep_newest:
            self.drop_older()
        return code

    def duplicates(self) -> list[Duplicate]:
        """Each pair of papers of the library that are the same one."""
        return duplicates(self.library)

    def drop_older(self) -> list[str]:
        """Take the older one of each pair out of the library; the names of those that went."""
        pairs = self.duplicates()
        return drop_older(self.library, pairs, self._tell) if pairs else []

    def _without_older(self, plan: Plan, named: Sequence[Path] = ()) -> Plan:
        return replace(plan, to_read=leave_out(self.library, plan.to_read, named, self._tell))

    def sync(self, *, dry_run: bool) -> int:
        """Make the library what is on disk; an exit code."""
        self._make_papers_folder()
        plan = make_plan(self.library, *find_pdfs([self.home.papers]))
        moved = {paper.paper_id for paper, _ in plan.moved}
        gone = [paper for paper in vanished(self.library) if paper.paper_id not in moved]
        outside = [Path(paper.path) for paper in self.library.papers() if self._changed_outside(paper, plan)]
        if outside:
            plan = make_plan(self.library, [*_plan_paths(plan), *outside], plan.failures)
        plan = self._without_older(plan)
        if dry_run:
            for state in plan.to_read:
                self._tell(f"would read {state.path}")
            for paper in gone:
                self._tell(f"would remove {paper.file}")
            return 0
        if gone:
            self.library.remove_papers([paper.paper_id for paper in gone])
            for paper in gone:
                self._tell(f"removed {paper.file}: its file is gone")
        return self._carry_out(plan)

    def _changed_outside(self, paper: Paper, plan: Plan) -> bool:
        path = Path(paper.path)
        if path in set(_plan_paths(plan)) or not path.exists():
            return False
        stat = path.stat()
        return (stat.st_size, stat.st_mtime_ns) != (paper.size_bytes, paper.modified_ns)

    def remove(self, names: Sequence[str]) -> int:
        """Take papers out of the library; an exit code."""
        papers = papers_named(self.library, names)
        self.library.remove_papers([paper.paper_id for paper in papers])
        self.library.refresh_indexes()
        for paper in papers:
            self._tell(f"removed {paper.file} ({paper.chunks} passages); the file itself stays")
        return 0

    def rebuild(self) -> int:
        """Read, cut and embed every paper again; a file that is gone leaves its paper as it is."""
        from ragscience.ingestion import file_state

        self._require_layout_model()
        library, embedder = self.library, embedder_of(self.settings, None, self._tell)
        if library.embedder is not None and library.embedder != embedder.identity:
            self._replace_vectors(embedder)
        states, failures, gone = [], [], []
        for paper in library.papers():
            path = Path(paper.path)
            if not path.exists():
                gone.append(paper)
                continue
            try:
                states.append(file_state(path))
            except FileProblem as problem:
                failures.append(Failure(path, problem))
        for paper in gone:
            self._tell(f"{paper.file} is kept as it was: its file is gone (`python ingest.py sync` removes it)")
        plan = Plan(tuple(states), (), (), (), tuple(failures))
        report = self._run(plan, embedder)
        if not report.failures and not gone:
            library.set_identity(embedder.identity, self._chunker())
        self.rebuild_indexes()
        return self._finish(report, plan)

    def rebuild_embeddings(self) -> int:
        """Make all vectors anew with the embedder that the settings name; all or nothing."""
        self._replace_vectors(embedder_of(self.settings, None, self._tell))
        return self.rebuild_indexes()

    def rebuild_indexes(self) -> int:
        """Make the search indexes anew from the database."""
        self.library.compact_tokens()
        self.library.rebuild_indexes()
        self._tell(f"search indexes made anew: {self.library.chunk_count} passages")
        return 0

    def _embedder(self) -> Embedder:
        return embedder_of(self.settings, self.library.embedder, self._tell)

    def _tokens_from(self, embedder: Embedder) -> TokenEmbedder | None:
        return tokens_at_ingest(self.settings, embedder, self._tell)

    def _replace_vectors(self, embedder: Embedder) -> None:
        library, batch = self.library, self.settings.embedding_batch
        total = library.chunk_count

        source = self._tokens_from(embedder)

        def batches() -> Iterator[tuple[Sequence[int], NDArray[np.float32], dict[bytes, NDArray[np.int8]]]]:
            done = 0
            for ids, texts in library.texts(batch):
                vectors, tokens = embed_batch(embedder, source, texts)
                yield ids, vectors, {text_hash(text): kept for text, kept in zip(texts, tokens, strict=False)}
                done += len(ids)
                self._tell(f"embedded {done} of {total} passages")

        library.replace_vectors(embedder.identity, batches())

    def _carry_out(self, plan: Plan) -> int:
        if not plan.to_read:
            return self._finish(settle(self.library, plan), plan)
        self._require_reader()
        embedder = self._embedder()
        if self.library.chunk_count:
            self.library.require_identity(embedder.identity, self._chunker())
        else:
            self.library.set_identity(embedder.identity, self._chunker())
        return self._finish(self._run(plan, embedder), plan)

    def _run(self, plan: Plan, embedder: Embedder) -> IngestReport:
        from ragscience.chunking import chunk_document

        settings = self.settings

        def chunk(document: Document) -> Sequence[Chunk]:
            return chunk_document(
                document,
                size=settings.chunk_size,
                overlap=settings.chunk_overlap,
                separators=settings.separators,
            )

        with self._readers() as read_all, self._progress(plan) as progress:
            ingestion = Ingestion(
                read_all,
                chunk,
                embedder,
                settings.embedding_batch,
                self._tokens_from(embedder),
                settings.token_cache_mb * 2**20,
            )
            return run_plan(self.library, plan, ingestion, progress)

    @contextmanager
    def _readers(self) -> Iterator[ReadAll]:
        with self._pool() as pool:
            yield pool.read_all

    def _pool(self) -> ReadingPool:
        from ragscience.reading.worker_pool import ReadingPool

        settings = self.settings
        workers = settings.reading_workers or max(1, (os.cpu_count() or 2) - 1)
        return ReadingPool(
            workers=workers,
            timeout_seconds=settings.reading_timeout_seconds,
            memory_bytes=settings.reading_memory_mb * 2**20,
            ocr=self._ocr(),
            layout=settings.layout,
        )

    def _progress(self, plan: Plan) -> AbstractContextManager[Watcher]:
        from ragscience.terminal.progress import IngestProgress

        return IngestProgress(len(plan.to_read), quiet=self.quiet)

    def _ocr(self) -> str:
        """The language of OCR, or "" where it is not asked for or, which is said, not installed."""
        from ragscience.reading.ocr import find_tessdata

        if not self.settings.ocr:
            return ""
        try:
            find_tessdata(self.settings.ocr_language)
        except ModelProblem as problem:
            say(str(problem))
            return ""
        return self.settings.ocr_language

    def _finish(self, report: IngestReport, plan: Plan) -> int:
        for paper, state in plan.moved:
            self._tell(f"{paper.file} is now {state.path}")
        for state, other in plan.copies:
            path = str(state.path)
            self._tell(f"{short_names([path, other])[path]} has the same bytes as {other}: not read again")
        for pair in report.duplicates:
            self._tell(f"{pair_said(pair)}. {REMEDY}")
        for failure in report.failures:
            say(f"not read: {failure.path}: {failure.problem}")
        known = len(plan.unchanged) + len(plan.copies) + len(plan.moved)
        counts = {
            "added": len(report.added),
            "updated": len(report.updated),
            "known already": known,
            "not read": len(report.failures),
        }
        said = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no PDFs found"
        self._tell(
            f"{said}; the library has {counted(self.library.paper_count, 'paper')},"
            f" {counted(self.library.chunk_count, 'passage')}."
        )
        return SOME_FAILED if report.failures else 0

    def _require_layout_model(self) -> None:
        """Raise ModelProblem where the layout model is asked for and not there."""
        from ragscience.reading.layout_model import find_layout_model

        if self.settings.layout == "always":
            find_layout_model()

    def _require_reader(self) -> None:
        """Raise LibraryUnavailable where the papers were read in another way, ModelProblem without the model."""
        from ragscience.reading import reader_identity

        read_by = (self.library.chunker or "").partition(";")[0]
        ways = {reader_identity(way): way for way in ("auto", "always", "never")}
        way, ours = ways.get(read_by), self.settings.layout
        if self.library.chunk_count and way is not None and way != ours:
            rebuild = f"RAG_LAYOUT={ours} python ingest.py rebuild"
            raise LibraryUnavailable(
                f"The library's papers were read with the layout model asked {_SAID[way]}, not {_SAID[ours]}.",
                f"Go on so with RAG_LAYOUT={way}, or read all of them anew: {rebuild}",
            )
        self._require_layout_model()

    def _chunker(self) -> str:
        from ragscience.chunking import chunker_identity
        from ragscience.reading import reader_identity

        settings = self.settings
        cut = chunker_identity(settings.chunk_size, settings.chunk_overlap, settings.separators)
        return f"{reader_identity(settings.layout)}; {cut}"

    def _make_papers_folder(self) -> None:
        self.home.papers.mkdir(parents=True, exist_ok=True)

    def _tell(self, text: str) -> None:
        if not self.quiet:
            say(text)


def _plan_paths(plan: Plan) -> list[Path]:
    states = [*plan.to_read, *plan.unchanged, *(state for _, state in plan.moved), *(state for state, _ in plan.copies)]
    return [state.path for state in states]
