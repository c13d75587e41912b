"""Embeddings of texts that may be longer than a server's model reads: in windows, whose vectors are pooled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.errors import ModelProblem
from ragscience.models.wordpieces import sendable, split_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.core.records import EmbedderIdentity

__all__ = ["LARGEST_CONTEXT", "UNKNOWN_CONTEXT", "WindowedEmbedder", "byte_windows", "unit_rows"]

TASK_PREFIXES: dict[str, tuple[str, str]] = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "mxbai-embed-large": ("", "Represent this sentence for searching relevant passages: "),
    "snowflake-arctic-embed": ("", "Represent this sentence for searching relevant passages: "),
}
"""Prefix of a model's name to its prompts for a document and for a question (model cards)."""
UNKNOWN_CONTEXT = 512
"""Tokens, if the server tells none: the smallest window of the usual embedding models."""
LARGEST_CONTEXT = 8192
"""Largest window in tokens to request: a chunk never needs more, and memory grows with it."""
BYTES_PER_TOKEN = 2
"""Low on purpose (English has four or more, formulas and digits about two): Ollama truncates silently."""


class WindowedEmbedder(ABC):
    """An Embedder over a server's model."""

    def __init__(self, name: str, *, batch_size: int) -> None:
        self._name = name
        self._batch_size = batch_size
        plain = name.rpartition("/")[2].removeprefix("text-embedding-")  # which LM Studio puts before its own names
        prefixes = [both for start, both in TASK_PREFIXES.items() if plain.startswith(start)]
        self._document_prefix, self._query_prefix = prefixes[0] if prefixes else ("", "")

    @property
    @abstractmethod
    def identity(self) -> EmbedderIdentity:
        """The identity of the embedder. Raises ModelProblem."""

    @abstractmethod
    def _ask(self, inputs: list[str]) -> list[list[float]]:
        """A vector for each input; transient failures are retried. Raises ModelProblem."""

    @abstractmethod
    def _context(self) -> int:
        """What the model reads at once, in tokens. Raises ModelProblem."""

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
        return unit_rows(totals, self._name)

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
        return unit_rows(np.array(rows, dtype=np.float32), self._name)


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


def unit_rows(rows: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    """The rows at length 1, float32. Raises ModelProblem for one that is zero or not finite."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or not np.all(norms > 0):
        raise ModelProblem(f"{name} gave a vector that is zero or not a number.", "Pull the model again.")
    unit: NDArray[np.float32] = (rows / norms).astype(np.float32)
    return unit
