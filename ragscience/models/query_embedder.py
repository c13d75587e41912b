"""The embedder of a library as questions use it: one that failed is left alone for a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from ragscience.core.errors import ModelProblem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.core.records import EmbedderIdentity
    from ragscience.models.model_protocols import Embedder

__all__ = ["QueryEmbedder"]


class QueryEmbedder:
    """An Embedder over one that may not be there: a server that is down, or slow. Thread-safe.

    It is opened with the first text. After a failure each call fails in the same way at once for `pause_seconds`: a
    question that waited for a timeout does not wait for the next one, and neither does the question after it.
    """

    def __init__(
        self,
        identity: EmbedderIdentity,
        open_embedder: Callable[[], Embedder],
        *,
        pause_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        """`open_embedder` raises ModelProblem where it is not there; `clock` gives monotonic seconds."""
        self._identity = identity
        self._open_embedder = open_embedder
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._opened: Embedder | None = None
        self._opening = Lock()
        self._failure: tuple[ModelProblem, float] | None = None
        """What went wrong, and until when it is believed to."""

    @property
    def identity(self) -> EmbedderIdentity:
        """That of the library, known without asking anybody."""
        return self._identity

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), dimension), float32. Raises ModelProblem, LibraryUnavailable."""
        return self._tried(lambda embedder: embedder.embed_documents(texts))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (dimension,), float32. Raises ModelProblem, LibraryUnavailable."""
        return self._tried(lambda embedder: embedder.embed_query(text))

    def _tried(self, call: Callable[[Embedder], NDArray[np.float32]]) -> NDArray[np.float32]:
        failure = self._failure
        if failure is not None and self._clock() < failure[1]:
            raise ModelProblem(failure[0].message, failure[0].fix)
        try:
            vectors = call(self._embedder())
        except ModelProblem as problem:
            self._failure = problem, self._clock() + self._pause_seconds
            raise
        self._failure = None
        return vectors

    def _embedder(self) -> Embedder:
        with self._opening:
            if self._opened is None:
                self._opened = self._open_embedder()
            return self._opened
