"""The pipeline: files are read, cut into chunks, embedded and stored, paper by paper.

A paper is in the library when its transaction has committed; whatever stops a run costs at most the paper in hand.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Event as Flag

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import FileProblem
from ragscience.core.records import Document, Paper
from ragscience.engine.events import OnEvent, PaperFailed, PaperStored, PlanMade, Progressed, unheard
from ragscience.engine.printable import one_line, rounded_time
from ragscience.library.ingestion import LOCAL, Failure, FileState, IngestPlan, LocalFiles
from ragscience.library.paper_task import EmbeddedPaper, TaskOptions, Vectors, embed_texts, prepare
from ragscience.library.store import NewPaper, Store, text_hash
from ragscience.models.maxsim import MOST_TOKEN_BYTES
from ragscience.models.model_protocols import Embedder, TokenEmbedder
from ragscience.reading.worker_pool import ReadingProgress
from ragscience.search.names import PaperNames

_ENOUGH_SECONDS = 5.0
"""A remaining time is given once a run has lasted so long."""

Read = Iterator[tuple[Path, Document | EmbeddedPaper | FileProblem]]
"""Files in their order, each with what came of it; workers have cut and embedded them, too."""


class RunProgress(ReadingProgress):
    """How far a run is, as `Progressed`. The remaining time follows from the bytes of what is done."""

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
        self._publish(path, f" page {min(number + 1, pages):,} of {pages:,}" if pages else "")

    def embedded(self, path: Path, done: int, passages: int) -> None:
        """So many of its passages have vectors."""
        self._part = self._sizes[path] * done / max(1, passages)
        self._publish(path, f" passage {min(done + 1, passages):,} of {passages:,}")

    def done(self, path: Path) -> None:
        """The file is stored, or has failed."""
        self._left.pop(path, None)
        self._part = 0.0

    def _publish(self, path: Path, at: str) -> None:
        number, total = len(self._sizes) - len(self._left) + 1, len(self._sizes)
        seconds, left = time.monotonic() - self._began, sum(self._left.values()) - self._part
        done = sum(self._sizes.values()) - left
        if seconds >= _ENOUGH_SECONDS and done > 0:
            at += f", about {rounded_time(seconds * left / done)} left"
        self._on_event(Progressed(f"[{number}/{total}]{at}: {one_line(path.name)}"))


class TokenRoom:
    """What token vectors may still take on disk, of MOST_TOKEN_BYTES for all of a library."""

    def __init__(self, taken: int) -> None:
        self._left = MOST_TOKEN_BYTES - taken

    def fitting(self, tokens: Mapping[bytes, NDArray[np.uint8]]) -> dict[bytes, NDArray[np.uint8]]:
        """Those for which there is room, by the hash of their text."""
        kept = {}
        for key, codes in tokens.items():
            self._left -= codes.nbytes
            if self._left >= 0:
                kept[key] = codes
        return kept


@dataclass
class Pipeline:
    """One run over a plan, with what came of it so far."""

    library: Store
    options: TaskOptions
    embedder: Embedder
    on_event: OnEvent
    tokens_from: TokenEmbedder | None = None
    """Makes the token vectors that are kept for late interaction."""
    where: LocalFiles = LOCAL
    """The files."""
    added: list[Paper] = field(default_factory=list)
    updated: list[Paper] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @cached_property
    def _room(self) -> TokenRoom:
        return TokenRoom(self.library.tokens.size_bytes())

    def run(
        self,
        plan: IngestPlan,
        read_all: Callable[[Iterable[Path]], Read],
        progress: RunProgress | None = None,
        cancel: Flag | None = None,
    ) -> None:
        """Store the files of the plan, until `cancel` is set; the caches are brought up to date in any case.

        A file that cannot be read or cut is a failure and the run goes on. Raises ModelProblem where the embedder
        fails, LibraryUnavailable or RagScienceError where the library cannot be written: what was committed stays.
        """
        self.on_event(PlanMade(len(plan.to_read)))
        states = {state.path: state for state in plan.to_read}
        self._progress = progress or RunProgress({path: state.size_bytes for path, state in states.items()}, unheard)
        try:
            for path, read in read_all(states):
                try:
                    if isinstance(read, FileProblem):
                        raise read
                    self._store(states[path], read)
                except FileProblem as problem:
                    self.failures.append(Failure(path, problem))
                    self.on_event(PaperFailed(path, problem))
                self._progress.done(path)
                if cancel is not None and cancel.is_set():
                    return
        finally:
            self.on_event(Progressed("updating the search indexes"))
            self.library.refresh_indexes()
            PaperNames.of(self.library).write()

    def _store(self, state: FileState, read: Document | EmbeddedPaper) -> None:
        library = self.library
        if not self.where.is_as(state):
            message = f"{state.path.name} was changed while it was read."
            raise FileProblem(message, "Run `python ingest.py` again.", reason="changed")
        if isinstance(read, EmbeddedPaper):
            document, chunks, ready = read.document, list(read.chunks), read.vectors
        else:
            document, chunks = prepare(read, library.sources.of(state.md5), self.options)
            ready = {}, {}
        if not chunks:
            raise FileProblem(f"{state.path.name} has no text.", "If it is a scan, add --ocr.", reason="no-text")
        replaced = library.paper(path=str(state.path))
        vectors, tokens = self._vectors(state.path, [chunk.searched for chunk in chunks], ready)
        file = (str(state.path), state.md5, state.size_bytes, state.modified_ns)
        older = [replaced.paper_id] if replaced else []
        paper = library.add_paper(NewPaper(*file, document, chunks, vectors, tokens, older))
        (self.updated if replaced else self.added).append(paper)
        self.on_event(PaperStored(paper, replaced is not None))

    def _vectors(
        self, path: Path, texts: Sequence[str], ready: Vectors
    ) -> tuple[NDArray[np.float32], dict[bytes, NDArray[np.uint8]]]:
        """The vectors of the texts, shape (len(texts), dimension): the library's, a worker's, or made now."""
        order = [text_hash(text) for text in texts]
        known = self.library.vectors.by_hash(order)
        done = sum(key in known for key in order)

        def count(more: int) -> None:
            nonlocal done
            done += more
            self._progress.embedded(path, done, len(order))

        count(0)
        hashed = zip(order, texts, strict=True)
        missing = {key: text for key, text in hashed if key not in known and key not in ready[0]}
        vectors, tokens = embed_texts(missing, self.embedder, self.tokens_from, self.options.batch, count)
        count(len(order) - done)  # those that were ready, and repeated ones
        found = {**known, **ready[0], **vectors}
        rows = np.stack([found[key] for key in order]).astype(np.float32, copy=False)
        return rows, self._room.fitting(ready[1] | tokens)
