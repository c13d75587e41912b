"""What a worker does with one paper: a pure function of the PDF's bytes and of the options.

It knows nothing of the library, so it may run anywhere, be repeated, and be thrown away.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.core.program import __version__
from ragscience.core.records import Chunk, Document
from ragscience.library.sources_table import Source
from ragscience.library.store import merged, text_hash
from ragscience.models.maxsim import embed_batch
from ragscience.models.minilm import IDENTITY, MiniLM
from ragscience.reading import reader_identity
from ragscience.reading.chunking import chunk_document, chunker_identity
from ragscience.reading.worker_pool import ReadingPool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EmbeddedPaper", "PaperJob", "TaskOptions", "check", "close_readers", "embed_paper", "made_by"]

_DECIDING = ("pymupdf", "onnxruntime", "tokenizers")
"""Packages whose version decides the text of a page, or the bits of a vector."""


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """How papers are read, cut and embedded: the same for all papers of a run."""

    timeout_seconds: float
    """Most seconds for reading one file."""
    memory_bytes: int
    """Most address space of the process that reads."""
    ocr: str
    """Language of OCR; empty: none."""
    layout: str
    chunk_size: int
    chunk_overlap: int
    separators: tuple[str, ...]
    batch: int
    """Passages in one call of the embedder."""
    embeds: bool
    """Whether the worker embeds, with the built-in model; else the process that asks does."""
    tokens: bool
    """Whether token vectors are made, too."""
    cache_folder: str
    """Where the built-in model is kept after its conversion; empty: the default of the worker's machine."""
    made_by: str
    """`made_by` of the process that asks."""


@dataclass(frozen=True, slots=True)
class PaperJob:
    """One paper that is to be read."""

    path: Path
    """What the library knows it by; the file need not be there."""
    md5: str
    """Of its bytes, in hexadecimal."""
    size_bytes: int
    source: Source | None = None
    """Where it was fetched from."""
    known: frozenset[bytes] = frozenset()
    """Hashes of texts whose vectors the library has: these are not embedded again."""


@dataclass(frozen=True, slots=True)
class EmbeddedPaper:
    """A paper as a worker gives it back; its passages are keyed by the MD5 and their ordinals."""

    md5: str
    """Of the bytes that were read."""
    made_by: str
    document: Document
    chunks: tuple[Chunk, ...]
    vectors: dict[bytes, NDArray[np.float32]]
    """Unit vectors, shape (384,), float32, by text hash; empty where the worker does not embed."""
    tokens: dict[bytes, NDArray[np.uint8]]
    """Codes of the token vectors, shape (tokens, 28), by text hash; empty where none were asked for."""


def made_by(options: TaskOptions) -> str:
    """What decides the result besides the options: the versions of the program, of its model and of its libraries."""
    cut = chunker_identity(options.chunk_size, options.chunk_overlap, options.separators)
    libraries = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _DECIDING)
    return (
        f"RAG Science {__version__}; {reader_identity(options.layout)}; {cut}; "
        f"{IDENTITY.model} {IDENTITY.digest[:12]}; {libraries}"
    )


def embed_paper(options: TaskOptions, job: PaperJob, pdf: Path | bytes) -> EmbeddedPaper | RagScienceError:
    """The paper; its problem is a value, as are those of the worker.

    `pdf` is the file, where this machine has it, or its bytes. It is read in a process of its own, with the limits
    of the options.
    """
    ours = made_by(options)
    if ours != options.made_by:
        return _other_version(ours, options)
    try:
        with _file(job, pdf) as path:
            document = merged(_read(options, path), job.source)
            md5 = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        chunks = tuple(
            chunk_document(
                document, size=options.chunk_size, overlap=options.chunk_overlap, separators=options.separators
            )
        )
        return EmbeddedPaper(md5, ours, document, chunks, *_vectors(options, job, chunks))
    except RagScienceError as problem:
        return problem
    except OSError as error:
        return FileProblem(f"{job.path.name} cannot be read by a worker: {error.strerror}.", reason="worker-failed")


def check(paper: EmbeddedPaper, job: PaperJob, options: TaskOptions) -> None:
    """Raise RagScienceError where the paper of a worker is not what this process would have made of the job's file.

    A file that changed meanwhile is a FileProblem.
    """
    import numpy as np

    from ragscience.models.token_codes import CODE_BYTES

    if paper.made_by != options.made_by:
        raise _other_version(paper.made_by, options)
    if paper.md5 != job.md5:
        text = f"{job.path.name} was changed while it was read."
        raise FileProblem(text, "Run `python ingest.py` again.", reason="changed")
    text, hashes = paper.document.text, {text_hash(chunk.searched) for chunk in paper.chunks}
    wanted = hashes - job.known if options.embeds else set()
    is_sound = (
        all(chunk.ordinal == number for number, chunk in enumerate(paper.chunks))
        and all(text[chunk.start : chunk.end] == chunk.text for chunk in paper.chunks)
        and wanted == paper.vectors.keys()
        and paper.tokens.keys() == (wanted if options.tokens else set())
        and all(row.shape == (IDENTITY.dimension,) and row.dtype == np.float32 for row in paper.vectors.values())
        and all(abs(float(np.linalg.norm(row)) - 1) < 1e-3 for row in paper.vectors.values())  # not with NaN
        and all(kept.shape[1:] == (CODE_BYTES,) and kept.dtype == np.uint8 for kept in paper.tokens.values())
    )
    if not is_sound:
        raise RagScienceError(
            f"What a worker made of {job.path.name} is not whole: nothing of it is stored.",
            "The same command reads it again; where that happens again, leave out --workers or --ray.",
        )


def _other_version(theirs: str, options: TaskOptions) -> RagScienceError:
    return RagScienceError(
        f"A worker reads by {theirs}, this process by {options.made_by}.",
        "Install the same version of RAG Science and of its requirements on every node.",
    )


@contextmanager
def _file(job: PaperJob, pdf: Path | bytes) -> Iterator[Path]:
    """The PDF under its own name."""
    if isinstance(pdf, Path):
        yield pdf
        return
    with tempfile.TemporaryDirectory(prefix="ragscience-") as folder:
        path = Path(folder) / job.path.name
        path.write_bytes(pdf)
        yield path


def _read(options: TaskOptions, path: Path) -> Document:
    """The document. Raises FileProblem, RagScienceError where no reading process can be started."""
    for _, read in _readers(options).read_all([path]):
        if isinstance(read, Document):
            return read
        raise read
    raise AssertionError("a pool gives something for each path")


def _vectors(
    options: TaskOptions, job: PaperJob, chunks: tuple[Chunk, ...]
) -> tuple[dict[bytes, NDArray[np.float32]], dict[bytes, NDArray[np.uint8]]]:
    """The vectors and token vectors of what the library does not know."""
    vectors: dict[bytes, NDArray[np.float32]] = {}
    tokens: dict[bytes, NDArray[np.uint8]] = {}
    if not options.embeds:
        return vectors, tokens
    texts = {text_hash(chunk.searched): chunk.searched for chunk in chunks}
    missing = [key for key in texts if key not in job.known]
    for first in range(0, len(missing), options.batch):
        keys, model = missing[first : first + options.batch], _model(options.cache_folder)
        rows, kept = embed_batch(model, model if options.tokens else None, [texts[key] for key in keys])
        vectors.update(zip(keys, rows, strict=True))
        tokens.update(zip(keys, kept, strict=False))
    return vectors, tokens


_pools: dict[TaskOptions, ReadingPool] = {}


def _readers(options: TaskOptions) -> ReadingPool:
    """The reading process of this worker, kept from one paper to the next; it ends with the worker."""
    if options not in _pools:
        _pools[options] = ReadingPool(
            1, options.timeout_seconds, options.memory_bytes, options.ocr, layout=options.layout
        )
    return _pools[options]


def close_readers() -> None:
    """End the reading processes of this worker."""
    while _pools:
        _pools.popitem()[1].close()


@cache
def _model(cache_folder: str) -> MiniLM:
    """The built-in model on one core: there is a worker for each."""
    from ragscience.core.settings import Settings

    folder = Path(cache_folder) if cache_folder else Settings.model_fields["cache_folder"].default
    return MiniLM(cache_folder=folder, on_warning=lambda _: None, packed=True, cores=1)
