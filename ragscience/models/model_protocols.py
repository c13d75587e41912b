"""The three parts that have weights or a server, as the rest of the library sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.models.minilm import TokenVectors
    from ragscience.records import EmbedderIdentity

__all__ = ["LLM", "Embedder", "Reranker", "TokenEmbedder"]


class Embedder(Protocol):
    """Turns text into unit vectors; a text beyond the model's window is embedded in windows and pooled."""

    @property
    def identity(self) -> EmbedderIdentity:
        """What makes these vectors incomparable with another embedder's."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), dimension), float32. Raises ModelProblem."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (dimension,), float32. Raises ModelProblem."""


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder whose one pass gives the vectors of the word pieces, too."""

    def embed_with_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """For each text its vector and those of its word pieces. Raises ModelProblem."""


class Reranker(Protocol):
    """Scores passages against a question, reading both together."""

    @property
    def name(self) -> str:
        """What the answer's JSON calls it."""

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """One score a passage, higher is better, shape (len(passages),), float32. Raises ModelProblem."""


class LLM(Protocol):
    """A chat model."""

    @property
    def name(self) -> str:
        """What the answer's JSON calls it, with its tag: "llama3.1:8b"."""

    def stream(self, prompt: str) -> Iterator[str]:
        """The reply, piece by piece. Raises ModelProblem."""
