"""Embeddings from a server with OpenAI's API (`/v1/embeddings`), over plain HTTP.

Such a server gives no digest of its weights. What identifies a model is how it embeds a probe text, which goes along
with each request: a model that is replaced behind the same name is noticed at once, also while the program runs.
"""

from __future__ import annotations

import math
import time
import urllib.error
from collections.abc import Callable, Sequence
from http.client import HTTPException, RemoteDisconnected

from ragscience.core.errors import LibraryUnavailable, ModelProblem
from ragscience.core.records import EmbedderIdentity
from ragscience.models.json_server import MALFORMED, error_text
from ragscience.models.openai_api import OpenAIServer
from ragscience.models.reply_limits import LONGEST_REPLY
from ragscience.models.text_windows import LARGEST_CONTEXT, UNKNOWN_CONTEXT, WindowedEmbedder

__all__ = ["PROVIDER", "OpenAIEmbedder", "same_signature", "signature"]

PROVIDER = "openai"
PROBE = "Water boils at 100 degrees Celsius at sea level, and at a lower temperature on a mountain."
"""The text whose vector identifies a model; another text would make every library's embedder another one."""
SIGNATURE_BITS = 256
MOST_OTHER_BITS = 0.05
"""Share of the bits that rounding may turn: a vector at 9 degrees (cosine 0.988) turns as many on average."""
ATTEMPTS = 3
PAUSE_SECONDS = 1.0
_REBUILD = "Rebuild the vectors with `python ingest.py rebuild --embeddings`, or start the earlier model again."


def signature(vector: Sequence[float]) -> str:
    """The signs of a vector's first 256 numbers, as hexadecimal digits: the angle between two tells how many differ."""
    signs = "".join("1" if number > 0 else "0" for number in vector[:SIGNATURE_BITS])
    return f"{int(signs or '0', 2):0{(len(signs) + 3) // 4}x}"


def same_signature(one: str, other: str) -> bool:
    """Whether two signatures are of the same vector but for rounding."""
    if len(one) != len(other):
        return False
    return (int(one or "0", 16) ^ int(other or "0", 16)).bit_count() <= MOST_OTHER_BITS * 4 * len(one)


class OpenAIEmbedder(WindowedEmbedder):
    """An Embedder over a model of a server with OpenAI's API.

    `required` is the identity that a library was made with, if there is one: the server's model must be that one.
    """

    def __init__(
        self,
        server: OpenAIServer,
        name: str,
        *,
        batch_size: int,
        required: EmbedderIdentity | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(name, batch_size=batch_size)
        self._server = server
        self._sleep = sleep
        self._identity = required
        self._is_asked = False

    @property
    def identity(self) -> EmbedderIdentity:
        """The library's, or what the first reply shows. Raises ModelProblem, LibraryUnavailable."""
        if self._identity is None or not self._is_asked:
            self._ask([])
        if self._identity is None:
            raise NotImplementedError  # a reply sets it
        return self._identity

    def _context(self) -> int:
        return min(self._server.context_length(self._name) or UNKNOWN_CONTEXT, LARGEST_CONTEXT)

    def _ask(self, inputs: list[str]) -> list[list[float]]:
        """A vector for each input, checked by that of the probe, which goes first."""
        probe, *rows = self._rows([PROBE, *inputs])
        found = EmbedderIdentity(PROVIDER, self._name, signature(probe), len(probe))
        known = self._identity or found
        if found.dimension != known.dimension or not same_signature(found.digest, known.digest):
            raise LibraryUnavailable(
                f"The server's {self._name} is not the model that this library was made with: it embeds the same "
                f"text differently (dimension {found.dimension} instead of {known.dimension}).",
                _REBUILD,
            )
        self._identity, self._is_asked = known, True
        return rows

    def _rows(self, inputs: list[str]) -> list[list[float]]:
        body = {"model": self._name, "input": inputs, "encoding_format": "float"}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = self._server.json("/embeddings", body, self._server.timeout_seconds, longest=LONGEST_REPLY)
                return _in_order(answer["data"], len(inputs))
            except urllib.error.HTTPError as error:
                said = self._server.redacted(error_text(error))
                if attempt == ATTEMPTS or error.code not in (429, 500, 502, 503):
                    raise self._refused(error.code, said) from None
            except (RemoteDisconnected, ConnectionResetError) as error:
                if attempt == ATTEMPTS:
                    raise self._broken(error) from None
            except TimeoutError:
                raise ModelProblem(
                    f"{self._name} gave no embeddings within {self._server.timeout_seconds:g} s.",
                    "Raise RAG_LLM_TIMEOUT_SECONDS, or lower RAG_EMBEDDING_BATCH.",
                ) from None
            except urllib.error.URLError as error:
                if attempt == ATTEMPTS or not isinstance(error.reason, ConnectionResetError):
                    raise self._unreachable(error) from None
            except (OSError, HTTPException) as error:
                raise self._broken(error) from None
            except MALFORMED as error:
                raise ModelProblem(
                    f"The embeddings of {self._name} cannot be used: {_reason(error)}.",
                    f"Check {self._server.setting}, or update the server.",
                ) from None
            self._sleep(PAUSE_SECONDS)
        raise NotImplementedError  # the loop returns or raises

    def _unreachable(self, error: urllib.error.URLError) -> ModelProblem:
        if isinstance(error.reason, TimeoutError):
            return ModelProblem(f"The server at {self._server.shown} does not answer.", "Look at the server's own log.")
        return ModelProblem(
            f"No server answers at {self._server.shown}.", f"Start it, or correct {self._server.setting}."
        )

    def _broken(self, error: Exception) -> ModelProblem:
        where = self._server.shown
        return ModelProblem(f"The connection to the server at {where} broke ({type(error).__name__}).", "Try again.")

    def _refused(self, code: int, said: str) -> ModelProblem:
        told = f": {said}" if said else ""
        if code in (401, 403):
            fix = "Set RAG_LLM_KEY, or name a file that holds the key in RAG_LLM_KEY_FILE."
            return ModelProblem(f"The server at {self._server.shown} does not accept the key (HTTP {code}).", fix)
        if code == 404:
            fix = f"`python query.py models` lists what it has; check {self._server.setting}."
            return ModelProblem(f"The server at {self._server.shown} embeds with no model {self._name}{told}.", fix)
        if "too large" in said or "batch size" in said:
            return ModelProblem(
                f"A passage is too long for {self._name}{told}.",
                "Start llama.cpp's server with a larger --ubatch-size, or lower RAG_CHUNK_SIZE.",
            )
        fix = "Try again; the server's own log may tell more."
        return ModelProblem(f"The server at {self._server.shown} failed with {self._name} (HTTP {code}{told}).", fix)


def _in_order(data: object, count: int) -> list[list[float]]:
    """The vectors by their index. Raises MALFORMED for another number of them, or other things than numbers."""
    if not isinstance(data, list) or len(data) != count:
        raise ValueError(f"there are {len(data) if isinstance(data, list) else 'no'} vectors for {count} texts")
    rows: dict[int, list[float]] = {}
    for place, entry in enumerate(data):
        rows[int(entry.get("index", place))] = [float(number) for number in entry["embedding"]]
    if sorted(rows) != list(range(count)):
        raise ValueError("their indices do not fit the texts")
    if not all(math.isfinite(number) for row in rows.values() for number in row):
        raise ValueError("a number in them is not finite")
    return [rows[place] for place in range(count)]


def _reason(error: Exception) -> str:
    return (
        str(error)[:200].rstrip(".")
        if type(error) is ValueError or "Unusable" in type(error).__name__
        else "they have another form"
    )
