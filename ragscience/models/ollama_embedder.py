"""Embeddings from Ollama, through LangChain's OllamaEmbeddings; its chat models are in ollama_llm.py.

The heavy client is imported when the first text is embedded.
"""

from __future__ import annotations

from typing import Any

from ragscience.core.records import EmbedderIdentity
from ragscience.models.http_options import client_options
from ragscience.models.ollama_api import ModelDetails, Ollama
from ragscience.models.ollama_client import as_problem, may_pass, reply_errors
from ragscience.models.reply_limits import LONGEST_REPLY
from ragscience.models.text_windows import LARGEST_CONTEXT, UNKNOWN_CONTEXT, WindowedEmbedder

__all__ = ["OllamaEmbedder"]

ATTEMPTS = 3
"""Tries per batch, as Ollama restarts its runner after a crash."""


class OllamaEmbedder(WindowedEmbedder):
    """An Embedder over an Ollama model: its full name ("nomic-embed-text:latest") and the digest that Ollama gives."""

    def __init__(self, ollama: Ollama, name: str, digest: str, *, batch_size: int) -> None:
        super().__init__(name, batch_size=batch_size)
        self._ollama = ollama
        self._digest = digest
        self._details: ModelDetails | None = None
        self._dimension: int | None = None
        self._client: Any = None

    @property
    def identity(self) -> EmbedderIdentity:
        """Requests the dimension from the server, once. Raises ModelProblem."""
        if self._dimension is None:
            self._dimension = self._known().dimension or len(self._ask(["dimension"])[0])
        return EmbedderIdentity("ollama", self._name, self._digest, self._dimension)

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
