"""Embeddings from a server: one class over LangChain's OllamaEmbeddings and OpenAIEmbeddings.

A server with OpenAI's API gives no digest of its weights. What identifies its model is how it embeds a probe text that
each request carries: a model that is replaced under the same name is noticed at once, also while the program runs.
LangChain is imported when the first text is embedded.
"""

import time
from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import LibraryUnavailable, ModelProblem
from ragscience.core.records import EmbedderIdentity
from ragscience.core.serialization import storable
from ragscience.models.model_protocols import Embedder, ModelDetails, TaskEmbedder
from ragscience.models.model_servers import ModelServer, Ollama, OpenAIServer
from ragscience.models.token_counting import byte_windows, unit_rows

PROBE = "Water boils at 100 degrees Celsius at sea level, and at a lower temperature on a mountain."
"""The text whose vector identifies a model; another text would make every library's embedder another one."""
SIGNATURE_BITS = 256
MOST_OTHER_BITS = 0.05
"""Share of the bits that rounding may turn: a vector at 9 degrees (cosine 0.988) turns as many on average."""
TASK_PREFIXES: dict[str, tuple[str, str]] = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "mxbai-embed-large": ("", "Represent this sentence for searching relevant passages: "),
    "snowflake-arctic-embed": ("", "Represent this sentence for searching relevant passages: "),
}
"""Prefix of a model's name to its prompts for a document and for a question (model cards)."""
BATCH = 64
"""Texts in one request."""
ATTEMPTS = 3
"""Tries per batch, as a server starts its runner again after a crash."""
PAUSE_SECONDS = 60.0
"""How long a server that failed is not asked for a question's vector."""
UNKNOWN_CONTEXT = 512
"""Tokens, if the server gives none: the smallest window of the usual embedding models."""
LARGEST_CONTEXT = 8192
"""Largest window in tokens to request: a chunk never needs more, and memory grows with it."""
BYTES_PER_TOKEN = 2
"""Low on purpose (English has four or more, formulas and digits about two): Ollama truncates silently."""
_LONGEST_REPLY = 64 * 2**20
"""Bytes of a whole reply; a batch of embeddings takes a tenth of that."""


def signature(vector: Sequence[float] | NDArray[np.float32]) -> str:
    """The signs of a vector's first 256 numbers, as hexadecimal digits: the angle between two is how many differ."""
    signs = "".join("1" if number > 0 else "0" for number in vector[:SIGNATURE_BITS])
    return f"{int(signs or '0', 2):0{(len(signs) + 3) // 4}x}"


def same_signature(one: str, other: str) -> bool:
    """Whether two signatures are of the same vector but for rounding."""
    if len(one) != len(other):
        return False
    return (int(one or "0", 16) ^ int(other or "0", 16)).bit_count() <= MOST_OTHER_BITS * 4 * len(one)


class ServedEmbedder(TaskEmbedder):
    """An Embedder over a model of `server`; `digest` is what Ollama gives for it.

    `required` is the identity that a library was made with, if there is one: another server's model must be that one.
    """

    def __init__(
        self,
        server: ModelServer,
        name: str,
        *,
        digest: str = "",
        required: EmbedderIdentity | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.server = server
        self._name = name
        self._digest = digest
        self._known = required if not isinstance(server, Ollama) else None
        self._is_asked = False
        self._sleep = sleep
        plain = name.rpartition("/")[2].removeprefix("text-embedding-")  # which LM Studio puts before its own names
        known = (both for start, both in TASK_PREFIXES.items() if plain.startswith(start))
        self._prefixes = next(known, ("", ""))

    @property
    def identity(self) -> EmbedderIdentity:
        """The library's, or what the server shows. Raises ModelProblem, LibraryUnavailable."""
        if isinstance(self.server, Ollama):
            if self._known is None:
                dimension = self._details.dimension or len(self._ask(["dimension"])[0])
                self._known = EmbedderIdentity("ollama", self._name, self._digest, dimension)
        elif not self._is_asked:
            self._ask([])
        assert self._known is not None  # noqa: S101 - for the type: a reply sets it
        return self._known

    def _embed(self, texts: Sequence[str], task: str) -> NDArray[np.float32]:
        """The rows; sends batches: a failed one is retried alone, and finished ones are kept."""
        dimension, prefix = self.identity.dimension, self._prefixes[task == "query"]
        most_bytes = max(64, self._context * BYTES_PER_TOKEN - len(prefix.encode()))
        windows = [
            (number, window)
            for number, text in enumerate(texts)
            for window in byte_windows(storable(text) or " ", most_bytes)
        ]
        # Of each text the mean of its windows, weighted by their length.
        totals = np.zeros((len(texts), dimension), dtype=np.float32)
        for start in range(0, len(windows), BATCH):
            batch = windows[start : start + BATCH]
            rows = self._ask([prefix + window for _, window in batch])
            found = sorted({len(row) for row in rows})
            if len(rows) != len(batch) or found != [dimension]:
                raise ModelProblem(
                    f"{self._name} gave {len(rows)} vectors of dimension {found} for {len(batch)} texts; "
                    f"{dimension} was expected.",
                    "Pull the model again, then `python ingest.py rebuild --embeddings`.",
                )
            for (number, window), vector in zip(batch, unit_rows(np.stack(rows), self._name), strict=True):
                totals[number] += vector * np.float32(len(window))
        return unit_rows(totals, self._name)

    def _ask(self, inputs: list[str]) -> list[NDArray[np.float32]]:
        """A vector for each input; where the server gives no digest, checked by that of the probe, which goes first."""
        if isinstance(self.server, Ollama):
            return self._rows(inputs)
        probe, *rows = self._rows([PROBE, *inputs]) or [np.empty(0, dtype=np.float32)]
        found = EmbedderIdentity("openai", self._name, signature(probe), len(probe))
        known = self._known or found
        if found.dimension != known.dimension or not same_signature(found.digest, known.digest):
            raise LibraryUnavailable(
                f"The server's {self._name} is not the model that this library was made with: it embeds the same "
                f"text differently (dimension {found.dimension} instead of {known.dimension}).",
                "Rebuild the vectors with `python ingest.py rebuild --embeddings`, or start the earlier model again.",
            )
        self._known, self._is_asked = known, True
        return rows

    def _rows(self, inputs: list[str]) -> list[NDArray[np.float32]]:
        """One call, tried again after a transient failure."""

        def ask() -> Generator[NDArray[np.float32], None, None]:
            yield from (np.asarray(row, dtype=np.float32) for row in self._client.embed_documents(inputs))

        return list(self.server.asked(self._name, ask, attempts=ATTEMPTS, sleep=self._sleep))

    @cached_property
    def _client(self) -> Any:
        """LangChain's embeddings for this model."""
        seconds = self.server.timeout_seconds
        if isinstance(self.server, OpenAIServer):
            options = self.server.langchain_options(seconds, seconds, _LONGEST_REPLY)
            from langchain_openai import OpenAIEmbeddings

            return OpenAIEmbeddings(
                model=self._name,
                check_embedding_ctx_length=False,  # else it sends OpenAI's own tokens instead of text
                chunk_size=BATCH + 1,
                model_kwargs={"encoding_format": "float"},
                **options,
            )
        from langchain_ollama import OllamaEmbeddings

        how = self.server.client_options(seconds, seconds, _LONGEST_REPLY)
        return OllamaEmbeddings(model=self._name, base_url=self.server.url, num_ctx=self._context, client_kwargs=how)

    @property
    def _context(self) -> int:
        return min(self._details.context_length or UNKNOWN_CONTEXT, LARGEST_CONTEXT)

    @cached_property
    def _details(self) -> ModelDetails:
        return self.server.show(self._name)


class QueryEmbedder:
    """The embedder of a library as questions use it: one that may not be there (a server that is down). Thread-safe.

    `open_embedder` opens it with the first text, and raises ModelProblem where it is not there. After a failure each
    call fails in the same way at once for PAUSE_SECONDS: a question that waited for a timeout does not wait for the
    next one, and neither does the question after it. `clock` gives monotonic seconds.
    """

    def __init__(
        self,
        identity: EmbedderIdentity,
        open_embedder: Callable[[], Embedder],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.identity = identity
        """That of the library, known without asking anybody."""
        self._open_embedder = open_embedder
        self._clock = clock
        self._opened: Embedder | None = None
        self._opening = Lock()
        self._failure: tuple[ModelProblem, float] | None = None
        """What went wrong, and until when it is believed to."""

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
            with self._opening:
                self._opened = self._opened or self._open_embedder()
            vectors = call(self._opened)
        except ModelProblem as problem:
            self._failure = problem, self._clock() + PAUSE_SECONDS
            raise
        self._failure = None
        return vectors
