"""The pipeline: files are read, cut into chunks, embedded and stored, paper by paper.

A paper is in the library when its transaction has committed; whatever stops a run costs at most the paper in hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem
from ragscience.core.records import Document, Paper
from ragscience.engine.events import (
    PaperFailed,
    PaperStored,
    PlanMade,
    Progressed,
    RunProgressed,
)
from ragscience.library import left_out
from ragscience.library.ingestion import LOCAL, Failure, FileState, IngestPlan, LocalFiles
from ragscience.library.left_out import duplicates_of
from ragscience.library.paper_task import EmbeddedPaper, TaskOptions, Vectors, embed_texts, prepare
from ragscience.library.similarity import Duplicate
from ragscience.library.store import NewPaper, Store, text_hash
from ragscience.reading.worker_pool import ReadingProgress
from ragscience.search.names import PaperNames

if TYPE_CHECKING:
    from threading import Event as Flag

    import numpy as np
    from numpy.typing import NDArray

    from ragscience.engine.events import OnEvent
    from ragscience.models.model_protocols import Embedder, TokenEmbedder


_ENOUGH_SECONDS = 5.0
"""A remaining time is given once a run has lasted so long."""

Read = Iterator[tuple[Path, Document | EmbeddedPaper | FileProblem]]
"""Files in their order, each with what came of it; workers have cut and embedded them, too."""


class RunProgress(ReadingProgress):
    """How far a run is; publishes `RunProgressed`. The remaining time follows from the bytes of what is done."""

    def __init__(self, sizes: Mapping[Path, int], on_event: OnEvent) -> None:
        """`sizes` are the files' bytes."""
        self._sizes = sizes
        self._left = dict(sizes)
        self._read: dict[Path, tuple[int, int]] = {}
        self._on_event = on_event
        self._began = time.monotonic()
        self._part = 0.0
        """Bytes of the file in hand that stand for what is embedded."""

    def page_done(self, path: Path, number: int, pages: int) -> None:
        """A page is read, of so many; from the readers' threads."""
        self._read[path] = number, pages

    def waiting(self, path: Path) -> None:
        """The run waits for this file to be read."""
        number, pages = self._read.get(path, (0, 0))
        self._publish(path, page=min(number + 1, pages), pages=pages)

    def embedded(self, path: Path, done: int, passages: int) -> None:
        """So many of its passages have vectors."""
        self._part = self._sizes[path] * done / max(1, passages)
        self._publish(path, passage=min(done + 1, passages), passages=passages)

    def done(self, path: Path) -> None:
        """The file is stored, or has failed."""
        self._left.pop(path, None)
        self._part = 0.0

    def _publish(self, path: Path, *, page: int = 0, pages: int = 0, passage: int = 0, passages: int = 0) -> None:
        number, total = len(self._sizes) - len(self._left) + 1, len(self._sizes)
        self._on_event(RunProgressed(path, number, total, page, pages, passage, passages, self.seconds_left()))

    def seconds_left(self) -> float | None:
        """Seconds until the last file is stored; None until enough is measured to say so."""
        seconds, left = time.monotonic() - self._began, sum(self._left.values()) - self._part
        done = sum(self._sizes.values()) - left
        return seconds * left / done if seconds >= _ENOUGH_SECONDS and done > 0 else None


class Pipeline:
    """One run over a plan, with what came of it so far."""

    max_token_bytes = 0
    """What all token vectors may take on disk."""
    progress: RunProgress | None = None

    def __init__(
        self,
        library: Store,
        options: TaskOptions,
        embedder: Embedder,
        on_event: OnEvent,
        *,
        tokens_from: TokenEmbedder | None = None,
        where: LocalFiles = LOCAL,
    ) -> None:
        """`tokens_from` makes the token vectors that are kept for late interaction; the files are `where`."""
        self._library = library
        self._options = options
        self._embedder = embedder
        self._tokens_from = tokens_from
        self._where = where
        self._on_event = on_event
        self._began = time.monotonic()
        self.added: list[Paper] = []
        self.updated: list[Paper] = []
        self.failures: list[Failure] = []
        self.embedded = 0
        """Chunks that the embedder embedded."""
        self.reused = 0
        """Chunks whose vectors the library had already."""

    def run(self, plan: IngestPlan, read_all: Callable[[Iterable[Path]], Read], cancel: Flag | None = None) -> None:
        """Store the files of the plan, until `cancel` is set; the caches are brought up to date in any case.

        A file that cannot be read or cut is a failure and the run goes on. Raises ModelProblem where the embedder
        fails, LibraryUnavailable or RagScienceError where the library cannot be written: what was committed stays.
        """
        self._on_event(PlanMade(len(plan.to_read)))
        states = {state.path: state for state in plan.to_read}
        try:
            for path, read in read_all(states):
                try:
                    if isinstance(read, FileProblem):
                        raise read
                    self._store(states[path], read)
                except FileProblem as problem:
                    self.failures.append(Failure(path, problem))
                    self._on_event(PaperFailed(path, problem, self._seconds()))
                if self.progress is not None:
                    self.progress.done(path)
                if cancel is not None and cancel.is_set():
                    return
        finally:
            self._on_event(Progressed("updating the search indexes"))
            self._library.refresh_indexes()
            PaperNames.of(self._library).write()

    def duplicates(self) -> list[Duplicate]:
        """The papers of this run that are the same as another one of the library, each with it."""
        ids = {paper.paper_id for paper in (*self.added, *self.updated)}
        # By their short names of now, which papers that came after them may have made longer.
        files = {paper.file for paper in self._library.papers() if paper.paper_id in ids} if ids else set()
        return duplicates_of(self._library, files)

    def _store(self, state: FileState, read: Document | EmbeddedPaper) -> None:
        library = self._library
        if not self._where.is_as(state):
            message = f"{state.path.name} was changed while it was read."
            raise FileProblem(message, "Run `python ingest.py` again.", reason="changed")
        if isinstance(read, EmbeddedPaper):
            document, chunks, ready = read.document, list(read.chunks), read.vectors
        else:
            document, chunks = prepare(read, library.sources.of(state.md5), self._options)
            ready = {}, {}
        if not chunks:
            raise FileProblem(f"{state.path.name} has no text.", "If it is a scan, add --ocr.", reason="no-text")
        replaced = library.paper(path=str(state.path))
        vectors, tokens = self._vectors(state.path, [chunk.searched for chunk in chunks], ready)
        new = NewPaper(
            path=str(state.path),
            md5=state.md5,
            size_bytes=state.size_bytes,
            modified_ns=state.modified_ns,
            document=document,
            chunks=chunks,
            vectors=vectors,
            tokens=tokens,
            replaces=[replaced.paper_id] if replaced else [],
        )
        older = left_out.versions_aside(library, new)
        paper = library.add_paper(new)
        left_out.inherit_aside(library, older, paper)
        (self.updated if replaced else self.added).append(paper)
        self._on_event(PaperStored(paper, replaced is not None, self._seconds()))

    def _vectors(
        self, path: Path, texts: Sequence[str], ready: Vectors
    ) -> tuple[NDArray[np.float32], dict[bytes, NDArray[np.uint8]]]:
        """The vectors of the texts, shape (len(texts), dimension): the library's, a worker's, or made now."""
        import numpy as np

        order = [text_hash(text) for text in texts]
        known = self._library.vectors.by_hash(order)
        done = sum(key in known for key in order)
        self.reused += done

        def count(more: int) -> None:
            nonlocal done
            done += more
            self.embedded += more
            if self.progress is not None:
                self.progress.embedded(path, done, len(order))

        count(0)
        hashed = zip(order, texts, strict=True)
        missing = {key: text for key, text in hashed if key not in known and key not in ready[0]}
        vectors, tokens = embed_texts(missing, self._embedder, self._tokens_from, self._options.batch, count)
        count(len(order) - done)  # those that were ready, and repeated ones
        room = self.max_token_bytes - self._library.tokens.size_bytes() if self._tokens_from is not None else 0
        kept: dict[bytes, NDArray[np.uint8]] = {}
        for key, codes in (ready[1] | tokens).items():
            room -= codes.nbytes
            if room >= 0:
                kept[key] = codes
        found = {**known, **ready[0], **vectors}
        return np.stack([found[key] for key in order]).astype(np.float32, copy=False), kept

    def _seconds(self) -> float:
        """Since the last call."""
        began, self._began = self._began, time.monotonic()
        return self._began - began
