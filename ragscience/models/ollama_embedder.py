"""Embeddings from Ollama, through LangChain's OllamaEmbeddings; its chat models are in ollama_llm.py.

The heavy client is imported when the first text is embedded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragscience.errors import ModelProblem
from ragscience.models.http_options import client_options
from ragscience.models.ollama_api import ModelDetails, Ollama
from ragscience.models.ollama_client import as_problem, may_pass, reply_errors
from ragscience.models.reply_limits import LONGEST_REPLY
from ragscience.models.wordpieces import sendable, split_windows
from ragscience.records import EmbedderIdentity

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TASK_PREFIXES", "OllamaEmbedder", "byte_windows"]

TASK_PREFIXES: dict[str, tuple[str, str]] = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "mxbai-embed-large": ("", "Represent this sentence for searching relevant passages: "),
    "snowflake-arctic-embed": ("", "Represent this sentence for searching relevant passages: "),
}
"""Prefix of a model's name to its prompts for a document and for a question (model cards)."""
UNKNOWN_CONTEXT = 512
"""Tokens, if /api/show gives none: the smallest window of the usual embedding models."""
LARGEST_CONTEXT = 8192
"""Largest window in tokens to request: a chunk never needs more, and memory grows with it."""
BYTES_PER_TOKEN = 2
"""Low on purpose (English has four or more, formulas and digits about two): Ollama truncates silently."""
ATTEMPTS = 3
"""Tries per batch, as Ollama restarts its runner after a crash."""


class OllamaEmbedder:
    """An Embedder over an Ollama model: its full name ("nomic-embed-text:latest") and the digest that Ollama gives."""

    def __init__(self, ollama: Ollama, name: str, digest: str, *, batch_size: int) -> None:
        self._ollama = ollama
        self._name = name
        self._digest = digest
        self._batch_size = batch_size
        self._details: ModelDetails | None = None
        self._dimension: int | None = None
        self._client: Any = None
        prefixes = [both for start, both in TASK_PREFIXES.items() if name.rpartition("/")[2].startswith(start)]
        self._document_prefix, self._query_prefix = prefixes[0] if prefixes else ("", "")

    @property
    def identity(self) -> EmbedderIdentity:
        """Requests the dimension from the server, once. Raises ModelProblem."""
        if self._dimension is None:
            self._dimension = self._known().dimension or len(self._ask(["dimension"])[0])
        return EmbedderIdentity("ollama", self._name, self._digest, self._dimension)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), dimension), float32. Raises ModelProblem.

        Sends batches; a failed one is retried alone, and finished ones are kept.
        """
        return self._embed(texts, self._document_prefix)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (dimension,), float32. Raises ModelProblem."""
        vector: NDArray[np.float32] = self._embed([text], self._query_prefix)[0]
        return vector

    def _embed(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        """The mean of each text's unit window vectors, weighted by their length, normalised."""
        dimension = self.identity.dimension
        most_bytes = max(64, self._context() * BYTES_PER_TOKEN - len(prefix.encode()))
        windows = [
            (number, window)
            for number, text in enumerate(texts)
            for window in byte_windows(sendable(text) or " ", most_bytes)
        ]
        totals = np.zeros((len(texts), dimension), dtype=np.float32)
        for start in range(0, len(windows), self._batch_size):
            batch = windows[start : start + self._batch_size]
            vectors = self._checked([prefix + window for _, window in batch], dimension)
            weights = np.array([len(window) for _, window in batch], dtype=np.float32)
            np.add.at(totals, [number for number, _ in batch], vectors * weights[:, None])
        return _unit(totals, self._name)

    def _checked(self, inputs: list[str], dimension: int) -> NDArray[np.float32]:
        """Unit rows for the inputs, checked for number and dimension."""
        rows = self._ask(inputs)
        found = sorted({len(row) for row in rows})
        if len(rows) != len(inputs) or found != [dimension]:
            raise ModelProblem(
                f"{self._name} gave {len(rows)} vectors of dimension {found} for {len(inputs)} texts; "
                f"{dimension} was expected.",
                "Pull the model again, then `python ingest.py rebuild --embeddings`.",
            )
        return _unit(np.array(rows, dtype=np.float32), self._name)

    def _ask(self, inputs: list[str]) -> list[list[float]]:
        """One call, retried after a transient failure."""
        client = self._open()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                rows: list[list[float]] = client.embed_documents(inputs)
            except reply_errors() as error:
                if attempt == ATTEMPTS or not may_pass(error):
                    raise as_problem(error, self._name, self._ollama.url) from error
            else:
                return rows
        raise NotImplementedError  # the loop returns or raises

    def _open(self) -> Any:
        if self._client is None:
            from langchain_ollama import OllamaEmbeddings

            self._client = OllamaEmbeddings(
                model=self._name,
                base_url=self._ollama.url,
                num_ctx=self._context(),
                client_kwargs=client_options(
                    self._ollama, longest_line=LONGEST_REPLY, read_seconds=self._ollama.timeout_seconds
                ),
            )
        return self._client

    def _known(self) -> ModelDetails:
        if self._details is None:
            self._details = self._ollama.show(self._name)
        return self._details

    def _context(self) -> int:
        return min(self._known().context_length or UNKNOWN_CONTEXT, LARGEST_CONTEXT)


def byte_windows(text: str, most_bytes: int) -> list[str]:
    """The text in pieces of at most `most_bytes` of UTF-8 that overlap by an eighth; unchanged if it fits."""
    if len(text.encode()) <= most_bytes:
        return [text]
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    widths = 1 + (points > 0x7F) + (points > 0x7FF) + (points > 0xFFFF).astype(np.int64)
    ends = np.cumsum(widths)
    starts = ends - widths
    pieces = []
    for first, last in split_windows(int(ends[-1]), most_bytes, most_bytes // 8):
        pieces.append(text[np.searchsorted(starts, first) : np.searchsorted(ends, last, side="right")])
    return pieces


def _unit(rows: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or not np.all(norms > 0):
        raise ModelProblem(f"{name} gave a vector that is zero or not a number.", "Pull the model again.")
    unit: NDArray[np.float32] = (rows / norms).astype(np.float32)
    return unit
