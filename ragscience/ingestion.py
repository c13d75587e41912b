"""Files become papers of the library: the pipeline that joins reading, chunking, models and store.

What decides is a file's content: the MD5 of its bytes. A paper is in the library when its transaction has committed;
whatever stops a run costs at most the paper in hand.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol

from ragscience.duplicates import Duplicate, duplicates_of
from ragscience.errors import FileProblem, RagScienceError, UsageError
from ragscience.records import Chunk, Document, Paper

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.models.model_protocols import Embedder, TokenEmbedder
    from ragscience.store import Library

__all__ = [
    "Failure",
    "FileState",
    "IngestReport",
    "Ingestion",
    "Plan",
    "Watcher",
    "embed_batch",
    "find_pdfs",
    "make_plan",
    "run_plan",
    "settle",
]


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that is not in the library, and why."""

    path: Path
    problem: FileProblem


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was found on disk."""

    path: Path
    md5: str
    size_bytes: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run has to do, found out without loading a model."""

    to_read: tuple[FileState, ...]
    moved: tuple[tuple[Paper, FileState], ...]
    """Papers whose bytes are now under another name."""
    unchanged: tuple[FileState, ...]
    copies: tuple[tuple[FileState, str], ...]
    """Files whose bytes are in the library, or in this plan, under another name, which still exists."""
    failures: tuple[Failure, ...]


@dataclass(slots=True)
class IngestReport:
    """What a run did."""

    added: list[Paper] = field(default_factory=list)
    updated: list[Paper] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    embedded: int = 0
    """Chunks that the embedder was asked for."""
    reused: int = 0
    """Chunks whose vectors the library had already."""
    duplicates: list[Duplicate] = field(default_factory=list)
    """Papers of this run that are the same as another one of the library, each with it."""


class Watcher(Protocol):
    """Told of a run's progress."""

    def reading(self, state: FileState) -> None:
        """The file's text is here; its chunks are next."""

    def embedded(self, chunks: int) -> None:
        """So many more chunks have vectors."""

    def done(self, paper: Paper, *, updated: bool) -> None:
        """The paper is in the library."""

    def failed(self, failure: Failure) -> None:
        """The file is not in the library."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """How files are read, cut and embedded."""

    read_all: Callable[[Iterable[Path]], Iterator[tuple[Path, Document | FileProblem]]]
    chunk: Callable[[Document], Sequence[Chunk]]
    embedder: Embedder
    batch: int
    """Chunks in one call of the embedder."""
    tokens_from: TokenEmbedder | None = None
    """What makes the token vectors that are kept for late interaction; None keeps none."""
    max_token_bytes: int = 0
    """What all token vectors may take on disk."""


def find_pdfs(paths: Sequence[Path]) -> tuple[list[Path], list[Failure]]:
    """The PDFs that `paths` name, full paths, each once, sorted within a folder; and the paths that name nothing.

    Folders are searched recursively, hidden ones left out; a file that is named is taken whatever its ending.
    """
    found: dict[Path, None] = {}
    failures: list[Failure] = []
    for path in paths:
        full = Path(os.path.abspath(path))  # noqa: PTH100  # a link keeps its own name
        if full.is_dir():
            for folder, folders, files in os.walk(full):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(files):
                    if name.lower().endswith(".pdf") and not name.startswith("."):
                        found[Path(folder) / name] = None
        elif full.exists():
            found[full] = None
        else:
            problem = FileProblem(f"There is no file or folder {path}.", "Check the name.", reason="missing")
            failures.append(Failure(full, problem))
    return list(found), failures


def file_state(path: Path) -> FileState:
    """The file's MD5, size and time. Raises FileProblem where it cannot be read."""
    try:
        if not path.is_file():
            raise FileProblem("It is not a regular file.", reason="unreadable")
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except OSError as error:
        raise FileProblem(f"It cannot be read: {error.strerror}.", reason="unreadable") from error
    return FileState(path, digest, stat.st_size, stat.st_mtime_ns)


def make_plan(library: Library, files: Iterable[Path], failures: Sequence[Failure] = ()) -> Plan:
    """What of `files` the library does not have yet, or not under that name."""
    to_read: dict[str, FileState] = {}
    moved: list[tuple[Paper, FileState]] = []
    unchanged: list[FileState] = []
    copies: list[tuple[FileState, str]] = []
    failed = list(failures)
    by_md5 = {paper.md5: paper for paper in library.papers()}
    for path in files:
        try:
            state = file_state(path)
        except FileProblem as problem:
            failed.append(Failure(path, problem))
            continue
        known = by_md5.get(state.md5)
        if state.md5 in to_read:
            copies.append((state, str(to_read[state.md5].path)))
        elif known is None:
            to_read[state.md5] = state
        elif known.path == str(path):
            unchanged.append(state)
        elif _still_holds(known):
            copies.append((state, known.path))
        else:
            moved.append((known, state))
            by_md5[state.md5] = replace(known, path=str(state.path))
    return Plan(tuple(to_read.values()), tuple(moved), tuple(unchanged), tuple(copies), tuple(failed))


def _still_holds(paper: Paper) -> bool:
    """Whether the file that the paper was read from still has the same bytes."""
    try:
        return file_state(Path(paper.path)).md5 == paper.md5
    except FileProblem:
        return False


def settle(library: Library, plan: Plan) -> IngestReport:
    """What of the plan needs neither reading nor a model: files that have another name now."""
    if plan.moved:
        library.rename_papers([(paper.paper_id, str(state.path), state.modified_ns) for paper, state in plan.moved])
    return IngestReport(failures=list(plan.failures))


def run_plan(library: Library, plan: Plan, ingestion: Ingestion, watcher: Watcher) -> IngestReport:
    """Carry the plan out, paper by paper; the caches are brought up to date at the end, also when it is interrupted.

    A file that cannot be read or cut is reported and the run goes on. Raises ModelProblem where the embedder fails and
    LibraryUnavailable or RagScienceError where the library cannot be written: what was committed stays.
    """
    report = settle(library, plan)
    states = {state.path: state for state in plan.to_read}
    try:
        for path, read in ingestion.read_all(state.path for state in plan.to_read):
            try:
                if isinstance(read, FileProblem):
                    raise read
                _ingest_one(library, states[path], read, ingestion, watcher, report)
            except FileProblem as problem:
                failure = Failure(path, problem)
                report.failures.append(failure)
                watcher.failed(failure)
        report.duplicates += duplicates_of(library, _files_now(library, [*report.added, *report.updated]))
    finally:
        library.refresh_indexes()
    return report


def _files_now(library: Library, papers: Sequence[Paper]) -> set[str]:
    """Their short names, which papers that came after them may have made longer."""
    ids = {paper.paper_id for paper in papers}
    return {paper.file for paper in library.papers() if paper.paper_id in ids} if ids else set()


def _ingest_one(
    library: Library, state: FileState, document: Document, ingestion: Ingestion, watcher: Watcher, report: IngestReport
) -> None:
    stat = state.path.stat() if state.path.exists() else None
    if stat is None or (stat.st_size, stat.st_mtime_ns) != (state.size_bytes, state.modified_ns):
        raise FileProblem("It was changed while it was read.", "Run `python ingest.py` again.", reason="changed")
    from ragscience.store import NewPaper, merged

    watcher.reading(state)
    document = merged(document, library.sources.of(state.md5))
    chunks = ingestion.chunk(document)
    if not chunks:
        raise FileProblem("It has no text.", "Is it a scan? It needs OCR first.", reason="no-text")
    vectors, tokens = embed_texts(library, [chunk.searched for chunk in chunks], ingestion, watcher, report)
    replaced = library.paper_by_path(str(state.path))
    paper = library.add_paper(
        NewPaper(
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
    )
    (report.updated if replaced else report.added).append(paper)
    watcher.done(paper, updated=replaced is not None)


def embed_texts(
    library: Library, texts: Sequence[str], ingestion: Ingestion, watcher: Watcher, report: IngestReport
) -> tuple[NDArray[np.float32], dict[bytes, NDArray[np.int8]]]:
    """Unit rows, shape (len(texts), dimension), float32, from the library where it has them, else embedded.

    And the token vectors, shape (tokens, 64), int8, of what was embedded, by the text's hash, as far as there is room.
    """
    import numpy as np

    from ragscience.store import text_hash

    hashes = [text_hash(text) for text in texts]
    known = library.vectors_by_hash(hashes)
    vectors = np.empty((len(texts), ingestion.embedder.identity.dimension), np.float32)
    missing: list[int] = []
    for row, key in enumerate(hashes):
        if key in known:
            vectors[row] = known[key]
        else:
            missing.append(row)
    report.reused += len(texts) - len(missing)
    watcher.embedded(len(texts) - len(missing))
    room = ingestion.max_token_bytes - library.token_bytes() if ingestion.tokens_from is not None else 0
    tokens: dict[bytes, NDArray[np.int8]] = {}
    for first in range(0, len(missing), ingestion.batch):
        rows = missing[first : first + ingestion.batch]
        batch = [texts[row] for row in rows]
        vectors[rows], compressed = embed_batch(ingestion.embedder, ingestion.tokens_from, batch)
        for row, kept in zip(rows, compressed, strict=False):
            room -= kept.nbytes
            if room >= 0:
                tokens[hashes[row]] = kept
        report.embedded += len(rows)
        watcher.embedded(len(rows))
    return vectors, tokens


def embed_batch(
    embedder: Embedder, source: TokenEmbedder | None, texts: Sequence[str]
) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
    """Unit rows, shape (len(texts), dimension), float32, and the token vectors to keep of each text.

    No token vectors at all without a `source`; where that is the embedder itself, one model pass gives both.
    """
    import numpy as np

    if source is None:
        return embedder.embed_documents(texts), []
    from ragscience.models.maxsim import compress

    passes = source.embed_with_tokens(texts)
    compressed = [compress(each) for each in passes]
    if source is embedder:
        return np.stack([each.vector for each in passes]), compressed
    return embedder.embed_documents(texts), compressed


def vanished(library: Library) -> list[Paper]:
    """The papers whose file is gone from where it was."""
    return [paper for paper in library.papers() if not Path(paper.path).exists()]


def papers_named(library: Library, names: Sequence[str]) -> list[Paper]:
    """The papers that `names` mean: a file name as `list` shows it, its full path or the end of it, or its MD5.

    Raises RagScienceError for a name that means none, UsageError for one that several files have.
    """
    papers = library.papers()
    found: dict[int, Paper] = {}
    for name in names:
        full = os.path.abspath(name)  # noqa: PTH100  # as find_pdfs does
        matching = [paper for paper in papers if name in (paper.file, paper.md5, paper.path) or paper.path == full]
        matching = matching or _ending_in(papers, name)
        if not matching:
            raise RagScienceError(f"The library has no paper {name!r}.", "`python ingest.py list` shows what it has.")
        found.update((paper.paper_id, paper) for paper in matching)
    return list(found.values())


def _ending_in(papers: Sequence[Paper], name: str) -> list[Paper]:
    """The paper whose path ends so, cut at a folder: by a shorter or longer name than it is listed by.

    Empty without one; raises UsageError for several.
    """
    wanted = PurePath(name).parts
    matching = [paper for paper in papers if wanted and PurePath(paper.path).parts[-len(wanted) :] == wanted]
    if len(matching) > 1:
        listed = ", ".join(paper.file for paper in matching)
        raise UsageError(f"{len(matching)} papers are called {name}: {listed}.", "Name one of them so.")
    return matching
