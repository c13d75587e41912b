"""The interfaces of the models."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ragscience.core.records import EmbedderIdentity
from ragscience.models.token_counting import TokenCounter


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The output of one pass of the embedded model over a text of n word pieces."""

    vector: NDArray[np.float32]
    """Unit vector, shape (384,)."""
    token_vectors: NDArray[np.float32]
    """The last hidden state of each word piece, not normalised, shape (n, 384)."""
    offsets: NDArray[np.int32]
    """Where each word piece begins and ends in the text, in characters, shape (n, 2)."""
    pieces: tuple[str, ...]
    """The n word pieces; one that continues a word begins with "##"."""


@dataclass(frozen=True, slots=True)
class QuestionVectors:
    """A question of n word pieces, as the question encoder reads it."""

    vector: NDArray[np.float32]
    """Unit vector, shape (384,), to compare with those of passages."""
    tokens: NDArray[np.float32]
    """Unit rows, shape (n, 64), to compare with the stored token vectors of passages (models/maxsim.py)."""
    weights: NDArray[np.float32]
    """How much each word piece counts, shape (n,); their sum is 1."""
    offsets: NDArray[np.int32]
    """As of `TokenVectors`."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Whether a model server answers, and its models."""

    running: bool
    version: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    """Full name ("llama3.1:8b") to digest, in hexadecimal; empty where the server gives none."""
    why: str = ""
    """Why it is not running: a sentence without its full stop."""

    def find(self, name: str) -> str | None:
        """The full name of a model that is there; a name without a tag means its tag `latest`."""
        return next((known for known in (name, f"{name}:latest") if known in self.models), None)


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """What a server says about a model; None where it says nothing."""

    context_length: int | None = None
    """In tokens."""
    dimension: int | None = None
    """Of its embeddings (of its hidden state, for a chat model)."""
    capabilities: tuple[str, ...] = ()
    """Among them "tools" and "thinking"."""
    parameters: int | None = None


class Embedder(Protocol):
    """Turns text into unit vectors; a text longer than the model's window is embedded in windows and pooled."""

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the embedder: vectors of different identities are not comparable."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), dimension), float32. Raises ModelProblem."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (dimension,), float32. Raises ModelProblem."""


class TaskEmbedder(ABC):
    """An Embedder whose model is told which texts are questions."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), dimension), float32. Raises ModelProblem, LibraryUnavailable."""
        return self._embed(texts, "document")

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (dimension,), float32. Raises ModelProblem, LibraryUnavailable."""
        vector: NDArray[np.float32] = self._embed([text], "query")[0]
        return vector

    @abstractmethod
    def _embed(self, texts: Sequence[str], task: Literal["document", "query"]) -> NDArray[np.float32]:
        """Unit rows, as the task wants them."""


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder whose one pass also gives the vectors of the word pieces."""

    def embed_with_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """For each text its vector and those of its word pieces. Raises ModelProblem."""

    def questions(self, texts: Sequence[str]) -> list[QuestionVectors]:
        """Each text as a question. Raises ModelProblem."""

    def kept_places(self, text: str) -> NDArray[np.int32]:
        """Where each word piece that `maxsim.compress` keeps begins and ends in `text`, in characters, shape (n, 2).

        It takes no pass. Raises ModelProblem.
        """


class Reranker(Protocol):
    """Scores passages against a question, reading both together."""

    @property
    def name(self) -> str:
        """Its name in the answer's JSON."""

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """One score per passage, higher is better, shape (len(passages),), float32. Raises ModelProblem."""


class Reply(Protocol):
    """A streamed reply, such as models.served_llm.ServedReply."""

    prompt_tokens: int | None
    answer_tokens: int | None
    done_reason: str
    """ "stop", or "length" at the token limit; empty if the reply is not complete."""

    def __iter__(self) -> Iterator[str]:
        """Its text, piece by piece. Raises ModelProblem."""


class ChatModel(Protocol):
    """A chat model, such as models.served_llm.ServedLLM."""

    num_predict: int
    """Longest answer, in tokens."""

    @property
    def name(self) -> str:
        """Its name in the answer's JSON, with its tag: "llama3.1:8b"."""

    @property
    def digest(self) -> str:
        """Digest of the weights."""

    @property
    def window(self) -> int:
        """Context window in tokens, for prompt and reply together."""

    @property
    def counter(self) -> TokenCounter:
        """Estimates tokens for this model."""

    def reply(
        self, messages: Sequence[tuple[str, str]], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """A reply to (role, text) messages, of at most `max_tokens`, constrained by the JSON `schema` if given.

        Code that a call needs is loaded here; the request goes out when the reply is iterated over. A clock that starts
        in between measures the server alone.
        """

    def was_cut(
        self, messages: Sequence[tuple[str, str]], prompt_tokens: int | None, answer_tokens: int | None
    ) -> bool:
        """Whether the server truncated the messages, by the tokens that it counted; else the counter learns from it."""


SOFTER = 6.0
"""By which scores are divided, so that the reader is not surer than it is right: of 5, 6 and 7 the one in between."""


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Where a passage answers best."""

    score: float
    """Log-odds that the answer is here; comparable between passages and questions."""
    start: int
    end: int
    """In characters of the passage."""

    @property
    def probability(self) -> float:
        """The score between 0 and 1, less sure than the model is: it was trained on other texts (`SOFTER`)."""
        return float(0.5 * (1.0 + np.tanh(0.5 * self.score / SOFTER)))


Reader = Callable[[str, Sequence[str]], list[AnswerSpan]]
"""For a question and texts the best span of each. Raises ModelProblem."""
Splitter = Callable[[str, Sequence[str]], tuple[str, ...]]
"""For a question and those before it what it asks, a part each. Raises ModelProblem."""
