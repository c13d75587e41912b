"""Any other local model that sentence-transformers can load; never downloads.

torch is imported with the first text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ragscience.core.errors import ModelProblem
from ragscience.core.records import EmbedderIdentity
from ragscience.models.windows import sendable, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.models.model_protocols import Scale

__all__ = ["SentenceTransformerEmbedder", "TorchCrossEncoder", "folder_digest"]

WEIGHT_NAMES = ("*.safetensors", "*.bin")


def folder_digest(folder: Path) -> str:
    """The sha256 of a model folder's weights, in hexadecimal: of each file's name and bytes, sorted by name."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in WEIGHT_NAMES for path in folder.rglob(pattern)}):
        digest.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


class SentenceTransformerEmbedder:
    """An Embedder over a sentence-transformers folder. Of a text longer than its window the beginning counts."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._model: Any = None
        self._identity: EmbedderIdentity | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """Loads the model to get its dimension. Raises ModelProblem."""
        if self._identity is None:
            dimension = int(self._load().get_embedding_dimension() or 0)
            digest = folder_digest(self._folder)
            self._identity = EmbedderIdentity("sentence-transformers", self._name, digest, dimension)
        return self._identity

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), dimension), float32. Raises ModelProblem."""
        return self._embed(texts, "document")

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (dimension,), float32. Raises ModelProblem."""
        vector: NDArray[np.float32] = self._embed([text], "query")[0]
        return vector

    def _embed(self, texts: Sequence[str], task: str) -> NDArray[np.float32]:
        model = self._load()
        encode = model.encode_query if task == "query" else model.encode_document
        if not texts:
            return np.empty((0, self.identity.dimension), dtype=np.float32)
        rows = encode([sendable(text) for text in texts], convert_to_numpy=True, show_progress_bar=False)
        return unit_rows(np.asarray(rows, dtype=np.float32), self._name)

    def _load(self) -> Any:
        if self._model is None:
            self._model = _loaded("SentenceTransformer", self._folder, self._name)
        return self._model


class TorchCrossEncoder:
    """A Reranker through sentence_transformers.CrossEncoder: the fallback for models other than BERT."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.name = name
        """Its name in the answer's JSON."""
        self._model: Any = None

    @cached_property
    def digest(self) -> str:
        """The sha256 of the weights, as `folder_digest` gives it."""
        return folder_digest(self._folder)

    @property
    def scale(self) -> Scale:
        """By the activation that sentence-transformers puts over the model's output. Raises ModelProblem."""
        scales: dict[str, Scale] = {"Identity": "log-odds", "Sigmoid": "probability"}
        return scales.get(type(self._load().activation_fn).__name__, "other")

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """One score per passage, higher is better, shape (len(passages),), float32. Raises ModelProblem."""
        if not passages:
            return np.empty(0, dtype=np.float32)
        model = self._load()
        pairs = [(sendable(question), sendable(passage)) for passage in passages]
        scores = np.asarray(model.predict(pairs, show_progress_bar=False), dtype=np.float32)
        if scores.shape != (len(passages),):
            raise ModelProblem(
                f"{self.name} gives {scores.shape[-1]} scores a passage instead of one.",
                "Name a cross-encoder in RAG_RERANKER.",
            )
        return scores

    def _load(self) -> Any:
        if self._model is None:
            self._model = _loaded("CrossEncoder", self._folder, self.name)
        return self._model


def _loaded(kind: str, folder: Path, name: str) -> Any:
    """The model in `folder` by that class of sentence-transformers."""
    import sentence_transformers

    try:
        return getattr(sentence_transformers, kind)(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        message = " ".join(str(error).split())[:200]
        raise ModelProblem(
            f"sentence-transformers cannot load {name}: {message}.", "Name a folder with all of the model's files."
        ) from error
