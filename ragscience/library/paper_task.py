"""What is done with one paper, whoever does it: read, cut, embedded. A pure function of its bytes and of the options.

A worker that calls `embed_paper` knows nothing of the library: it may run anywhere, be repeated, and be thrown away.
"""

import hashlib
import importlib.metadata
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ragscience.core import __version__
from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.core.records import Chunk, Document
from ragscience.library.dense_index import Codes, Matrix
from ragscience.library.paper_contents import text_hash
from ragscience.library.paper_rows import FileSource, merged
from ragscience.models.maxsim import embed_batch
from ragscience.models.minilm import IDENTITY, MiniLM
from ragscience.models.model_protocols import Embedder, TokenEmbedder
from ragscience.reading import READING_VERSION
from ragscience.reading.chunking import chunk_document, chunker_identity, with_notes
from ragscience.reading.worker_pool import ReadingPool

_DECIDING = ("pymupdf", "onnxruntime", "tokenizers")
"""Packages whose version decides the text of a page, or the bits of a vector."""

Vectors = tuple[dict[bytes, "Matrix"], dict[bytes, "Codes"]]
"""By the hash of a text: its unit vector, shape (dimension,), float32; codes of its token vectors, (tokens, 28)."""


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """How papers are read, cut and embedded: the same for all papers of a run."""

    ocr: str
    """Language of OCR; empty: none."""
    chunk_size: int
    chunk_overlap: int
    batch: int
    """Passages in one call of the embedder."""
    embeds: bool
    """Whether a worker embeds, with the built-in model; else the process that asks does."""
    tokens: bool
    """Whether token vectors are made, too."""
    cache_folder: str = ""
    """Where the built-in model is kept after its conversion; empty: the default of the worker's machine."""

    @property
    def chunker(self) -> str:
        """How papers are read and cut, as the library keeps it."""
        return f"{READING_VERSION}; {chunker_identity(self.chunk_size, self.chunk_overlap)}"

    @property
    def made_by(self) -> str:
        """What decides the result besides the options: the versions of the program, its model and its libraries."""
        libraries = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _DECIDING)
        model = f"{IDENTITY.model} {IDENTITY.digest[:12]}"
        return f"RAG Science {__version__}; {self.chunker}; {model}; {libraries}"


@dataclass(frozen=True, slots=True)
class PaperJob:
    """One paper that is to be read."""

    path: Path
    """What the library knows it by; the file need not be there."""
    md5: str
    """Of its bytes, in hexadecimal."""
    size_bytes: int
    made_by: str
    """`TaskOptions.made_by` of the process that asks."""
    source: FileSource | None = None
    """Where it was fetched from."""
    known: frozenset[bytes] = frozenset()
    """Hashes of texts whose vectors the library has: these are not embedded again."""


@dataclass(frozen=True, slots=True)
class EmbeddedPaper:
    """A paper as a worker gives it back."""

    md5: str
    """Of the bytes that were read."""
    document: Document
    chunks: tuple[Chunk, ...]
    vectors: Vectors
    """Of what was not known; empty where the worker does not embed."""


def prepare(document: Document, source: FileSource | None, options: TaskOptions) -> tuple[Document, list[Chunk]]:
    """The document, with what its source says of it and its reader's notes, and its passages."""
    document = merged(document, source)
    chunks = chunk_document(document, size=options.chunk_size, overlap=options.chunk_overlap)
    return with_notes(document, chunks, options.chunk_size)


def embed_texts(
    texts: Mapping[bytes, str],
    embedder: Embedder,
    tokens_from: TokenEmbedder | None,
    batch: int,
    on_batch: Callable[[int], None] = lambda _: None,
) -> Vectors:
    """The vectors of the texts, which are by their hash; `on_batch` gets the size of each batch that is done."""
    vectors: dict[bytes, Matrix] = {}
    tokens: dict[bytes, Codes] = {}
    keys = list(texts)
    for first in range(0, len(keys), batch):
        some = keys[first : first + batch]
        rows, kept = embed_batch(embedder, tokens_from, [texts[key] for key in some])
        vectors.update(zip(some, rows, strict=True))
        tokens.update(zip(some, kept, strict=False))  # none where none are made
        on_batch(len(some))
    return vectors, tokens


def embed_paper(options: TaskOptions, job: PaperJob, pdf: Path | bytes) -> EmbeddedPaper | RagScienceError:
    """The paper; its problem is a value, as are those of the worker.

    `pdf` is the file, where this machine has it, or its bytes. It is read in a process of its own, with limits.
    """
    ours = options.made_by
    if ours != job.made_by:
        fix = "Install the same version of RAG Science and of its requirements on every node."
        return RagScienceError(f"A worker reads by {ours}, this process by {job.made_by}.", fix)
    try:
        with tempfile.TemporaryDirectory(prefix="ragscience-") as folder:
            path = pdf if isinstance(pdf, Path) else Path(folder) / job.path.name
            if isinstance(pdf, bytes):
                path.write_bytes(pdf)
            ((_, read),) = _readers(options).read_all([path])
            md5 = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        if not isinstance(read, Document):
            return read
        document, chunks = prepare(read, job.source, options)
        vectors: Vectors = ({}, {})
        if options.embeds:
            model = _model(options.cache_folder)
            texts = {text_hash(chunk.searched): chunk.searched for chunk in chunks}
            texts = {key: text for key, text in texts.items() if key not in job.known}
            vectors = embed_texts(texts, model, model if options.tokens else None, options.batch)
        return EmbeddedPaper(md5, document, tuple(chunks), vectors)
    except RagScienceError as problem:
        return problem
    except OSError as error:
        return FileProblem(f"{job.path.name} cannot be read by a worker: {error.strerror}.", reason="worker-failed")


@cache
def _readers(options: TaskOptions) -> ReadingPool:
    """The reading process of this worker, kept from one paper to the next; it ends with the worker."""
    _pools.append(ReadingPool(1, ocr=options.ocr))
    return _pools[-1]


_pools: list[ReadingPool] = []


def close_readers() -> None:
    """End the reading processes of this worker."""
    _readers.cache_clear()
    while _pools:
        _pools.pop().close()


@cache
def _model(cache_folder: str) -> MiniLM:
    """The built-in model on one core: there is a worker for each."""
    from ragscience.core.settings import Settings

    folder = Path(cache_folder) if cache_folder else Settings.model_fields["cache_folder"].default
    return MiniLM(cache_folder=folder, on_warning=lambda _: None, cores=1)
