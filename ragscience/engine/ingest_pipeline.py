"""The pipeline: files are read, cut into chunks, embedded and stored, paper by paper.

A paper is in the library when its transaction has committed; whatever stops a run costs at most the paper in hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem
from ragscience.core.records import Chunk, Document, Paper
from ragscience.engine.ingest_events import PaperFailed, PaperRead, PaperStored, PassagesEmbedded, PlanMade, Preparing
from ragscience.library import left_out
from ragscience.library.duplicates import Duplicate, duplicates_of
from ragscience.library.ingestion import LOCAL, Failure, FileState, LocalFiles, Plan
from ragscience.models.maxsim import embed_batch
from ragscience.search.names import PaperNames

if TYPE_CHECKING:
    from threading import Event as Flag

    import numpy as np
    from numpy.typing import NDArray

    from ragscience.engine.events import OnEvent
    from ragscience.engine.ingest_progress import RunProgress
    from ragscience.library.paper_task import EmbeddedPaper
    from ragscience.library.store import Store
    from ragscience.models.model_protocols import Embedder, TokenEmbedder

__all__ = ["Ingestion", "Pipeline"]

Vectors = tuple["NDArray[np.float32]", "dict[bytes, NDArray[np.uint8]]"]
"""Unit rows, shape (texts, dimension), float32; codes of new texts' token vectors, shape (tokens, 28), by text hash."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """How files are read, cut and embedded."""

    read_all: Callable[[Iterable[Path]], Iterator[tuple[Path, Document | EmbeddedPaper | FileProblem]]]
    """What reads files, in their order; workers have cut and embedded them, too."""
    chunk: Callable[[Document], Sequence[Chunk]]
    embedder: Embedder
    batch: int
    """Chunks in one call of the embedder."""
    tokens_from: TokenEmbedder | None = None
    """What makes the token vectors that are kept for late interaction; None keeps none."""
    max_token_bytes: int = 0
    """What all token vectors may take on disk."""
    progress: RunProgress | None = None
    """Is told how far the run is."""
    where: LocalFiles = LOCAL
    """Where the files are."""


class Pipeline:
    """One run over a plan, with what came of it so far."""

    def __init__(self, library: Store, ingestion: Ingestion, on_event: OnEvent) -> None:
        self._library = library
        self._ingestion = ingestion
        self._on_event = on_event
        self._progress = ingestion.progress
        self._began = time.monotonic()
        self.added: list[Paper] = []
        self.updated: list[Paper] = []
        self.failures: list[Failure] = []
        self.embedded = 0
        """Chunks that the embedder embedded."""
        self.reused = 0
        """Chunks whose vectors the library had already."""

    def run(self, plan: Plan, cancel: Flag | None = None) -> None:
        """Store the files of the plan, until `cancel` is set; the caches are brought up to date in any case.

        A file that cannot be read or cut is a failure and the run goes on. Raises ModelProblem where the embedder
        fails, LibraryUnavailable or RagScienceError where the library cannot be written: what was committed stays.
        """
        self._on_event(PlanMade(len(plan.to_read)))
        states = {state.path: state for state in plan.to_read}
        try:
            for path, read in self._ingestion.read_all(states):
                try:
                    if isinstance(read, FileProblem):
                        raise read
                    self._store(states[path], read)
                except FileProblem as problem:
                    self.failures.append(Failure(path, problem))
                    self._on_event(PaperFailed(path, problem, self._seconds()))
                if self._progress is not None:
                    self._progress.done(path)
                if cancel is not None and cancel.is_set():
                    return
        finally:
            self._on_event(Preparing("updating the search indexes"))
            self._library.refresh_indexes()
            PaperNames.of(self._library).write()

    def duplicates(self) -> list[Duplicate]:
        """The papers of this run that are the same as another one of the library, each with it."""
        ids = {paper.paper_id for paper in (*self.added, *self.updated)}
        # By their short names of now, which papers that came after them may have made longer.
        files = {paper.file for paper in self._library.papers() if paper.paper_id in ids} if ids else set()
        return duplicates_of(self._library, files)

    def _store(self, state: FileState, read: Document | EmbeddedPaper) -> None:
        if not self._ingestion.where.is_as(state):
            message = f"{state.path.name} was changed while it was read."
            raise FileProblem(message, "Run `python ingest.py` again.", reason="changed")
        from ragscience.library.store import NewPaper, merged

        library = self._library
        self._on_event(PaperRead(state.path))
        if isinstance(read, Document):
            document = merged(read, library.sources.of(state.md5))
            chunks = self._ingestion.chunk(document)
        else:
            document, chunks = read.document, read.chunks
        if not chunks:
            raise FileProblem(f"{state.path.name} has no text.", "If it is a scan, add --ocr.", reason="no-text")
        if self._progress is not None:
            self._progress.cut(state.path, len(chunks))
        ready = None if isinstance(read, Document) else read
        vectors, tokens = self._embed(state.path, [chunk.searched for chunk in chunks], ready)
        replaced = library.paper(path=str(state.path))
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

    def _embed(self, path: Path, texts: Sequence[str], ready: EmbeddedPaper | None) -> Vectors:
        """The vectors of the texts: from the library, else as a worker has them `ready`, else made now."""
        import numpy as np

        from ragscience.library.store import text_hash

        library, ingestion = self._library, self._ingestion
        hashes = [text_hash(text) for text in texts]
        known = library.vectors.by_hash(hashes)
        vectors = np.empty((len(texts), ingestion.embedder.identity.dimension), np.float32)
        missing: list[int] = []
        for row, key in enumerate(hashes):
            if key in known:
                vectors[row] = known[key]
            else:
                missing.append(row)
        self.reused += len(texts) - len(missing)
        self._tell_of_vectors(path, len(texts) - len(missing), 0.0)
        room = ingestion.max_token_bytes - library.tokens.size_bytes() if ingestion.tokens_from is not None else 0
        tokens: dict[bytes, NDArray[np.uint8]] = {}
        for first in range(0, len(missing), ingestion.batch):
            rows, began = missing[first : first + ingestion.batch], time.monotonic()
            if ready is not None and all(hashes[row] in ready.vectors for row in rows):
                for row in rows:
                    vectors[row] = ready.vectors[hashes[row]]
                compressed = [ready.tokens[hashes[row]] for row in rows if ready.tokens]
            else:
                batch = [texts[row] for row in rows]
                vectors[rows], compressed = embed_batch(ingestion.embedder, ingestion.tokens_from, batch)
            for row, kept in zip(rows, compressed, strict=False):
                room -= kept.nbytes
                if room >= 0:
                    tokens[hashes[row]] = kept
            self.embedded += len(rows)
            self._tell_of_vectors(path, len(rows), time.monotonic() - began)
        return vectors, tokens

    def _tell_of_vectors(self, path: Path, more: int, seconds: float) -> None:
        self._on_event(PassagesEmbedded(self.embedded + self.reused))
        if self._progress is not None:
            self._progress.embedded(path, more, seconds)

    def _seconds(self) -> float:
        """Since the last call."""
        began, self._began = self._began, time.monotonic()
        return self._began - began
