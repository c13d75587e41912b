"""Ollama's status and model list over its HTTP API (https://docs.ollama.com/api); see also ollama_client.py.

An `Ollama` requests the status at most once, so that a run costs two small requests however many parts need it. The
HTTP client is imported with the first request: a run without Ollama does not pay for it.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ragscience.errors import ModelProblem
from ragscience.models.reply_limits import ReplyLimits
from ragscience.text.addresses import shown_address

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.request import OpenerDirector

__all__ = [
    "MALFORMED",
    "ModelDetails",
    "Ollama",
    "OllamaStatus",
    "is_loopback",
    "status",
]


_LONGEST_ANSWER = 16 * 2**20
"""Bytes of the answer to a small request: a list of ten thousand models."""
_LONGEST_LINE = 2**16
"""Bytes of a line that tells of progress."""
_AT_ONCE = 2**16
MALFORMED = (ValueError, AttributeError, TypeError, KeyError, RecursionError)
"""What JSON of another shape than Ollama's ends in, within its client or here."""


@dataclass(frozen=True, slots=True)
class OllamaStatus:
    """Whether Ollama answers, and its models."""

    running: bool
    version: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    """Full name ("llama3.1:8b") to digest, in hexadecimal."""
    why: str = ""
    """Why it is not running: a sentence without its full stop."""

    def find(self, name: str) -> str | None:
        """The full name of an installed model; a name without a tag means its tag `latest`."""
        return next((known for known in (name, f"{name}:latest") if known in self.models), None)


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """The answer of /api/show about a model."""

    context_length: int | None
    """Context length in tokens; None if unknown."""
    dimension: int | None
    """Dimension of its embeddings (of its hidden state, for a chat model); None if unknown."""
    capabilities: tuple[str, ...]


def is_loopback(url: str) -> bool:
    """Whether the URL's host is this machine, judged without DNS."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


class Ollama:
    """An Ollama server; `offline` rejects one that is not on this machine.

    Requests to this machine never use a proxy, whatever the environment sets.
    """

    def __init__(self, url: str, *, connect_seconds: float, timeout_seconds: float, offline: bool) -> None:
        self.url = url.rstrip("/")
        self.shown = shown_address(self.url)
        """The address as a message may show it."""
        self.connect_seconds = connect_seconds
        self.timeout_seconds = timeout_seconds
        self.offline = offline

    @cached_property
    def _opener(self) -> OpenerDirector:
        import urllib.request

        class NoRedirect(urllib.request.HTTPRedirectHandler):
            """Rejects redirects: Ollama sends none, and one could lead to another machine."""

            def redirect_request(self, *_: Any, **__: Any) -> None:
                return None

        proxies = urllib.request.ProxyHandler({}) if is_loopback(self.url) else urllib.request.ProxyHandler()
        return urllib.request.build_opener(proxies, NoRedirect)

    @cached_property
    def status(self) -> OllamaStatus:
        """The status, requested once. Never raises: without an answer it is not running."""
        import urllib.error
        from http.client import HTTPException

        if self.offline and not is_loopback(self.url):
            return OllamaStatus(False, why=f"offline, and Ollama at {self.shown} is another machine")
        try:
            version = self._json("/api/version", None, self.connect_seconds).get("version", "")
            listed = self._json("/api/tags", None, self.connect_seconds).get("models") or []
            models = {str(model["name"]): str(model.get("digest", "")) for model in listed}
        except urllib.error.HTTPError as error:
            error.close()
            return OllamaStatus(False, why=f"what answers at {self.shown} is not Ollama (HTTP {error.code})")
        except OSError:
            return OllamaStatus(False, why=f"Ollama does not answer at {self.shown}")
        except (HTTPException, *MALFORMED):
            return OllamaStatus(False, why=f"what answers at {self.shown} is not Ollama")
        return OllamaStatus(True, str(version), models)

    def require(self, name: str) -> str:
        """The full name of an installed model. Raises ModelProblem: offline, not running, or without that model."""
        if self.offline and not is_loopback(self.url):
            raise ModelProblem(
                f"Offline, and Ollama at {self.shown} is another machine.",
                "Leave out --offline, or set RAG_OLLAMA_URL.",
            )
        if not self.status.running:
            why = self.status.why[:1].upper() + self.status.why[1:]
            raise ModelProblem(f"{why}.", "Start it with `ollama serve`.")
        full = self.status.find(name)
        if full is None:
            raise ModelProblem(f"Ollama has no model {name}.", f"Fetch it with `ollama pull {name}`.")
        return full

    def show(self, name: str) -> ModelDetails:
        """What the server reports about an installed model. Raises ModelProblem."""
        import urllib.error
        from http.client import HTTPException

        try:
            answer = self._json("/api/show", {"model": name}, self.timeout_seconds)
            info = answer.get("model_info") or {}
            architecture = info.get("general.architecture", "")
            context, dimension = (info.get(f"{architecture}.{key}") for key in ("context_length", "embedding_length"))
            capabilities = tuple(str(each) for each in answer.get("capabilities") or ())
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 404:
                raise ModelProblem(f"Ollama has no model {name}.", f"Fetch it with `ollama pull {name}`.") from None
            raise self._unreadable(name, f"HTTP {error.code}") from None
        except OSError:
            raise ModelProblem(f"Ollama does not answer at {self.shown}.", "Start it with `ollama serve`.") from None
        except (HTTPException, *MALFORMED) as error:
            raise self._unreadable(name, type(error).__name__) from None
        return ModelDetails(_positive(context), _positive(dimension), capabilities)

    def served_context(self, name: str) -> int | None:
        """Context window in tokens of a loaded model (/api/ps); None if unknown."""
        from http.client import HTTPException

        try:
            loaded = self._json("/api/ps", None, self.connect_seconds).get("models") or []
            return next((_positive(each.get("context_length")) for each in loaded if each.get("name") == name), None)
        except (OSError, HTTPException, *MALFORMED):
            return None

    def lines(self, path: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """A streamed answer, one object per line. Raises OSError, HTTPException, ValueError unchanged."""
        limits = ReplyLimits(longest_line=_LONGEST_LINE, seconds=self.timeout_seconds)
        begun = b""
        with self._open(path, body, self.timeout_seconds) as response:
            for data in self._bytes(response, limits):
                *whole, begun = (begun + data).split(b"\n")
                yield from (_json_object(line) for line in whole if line.strip())
        if begun.strip():
            yield _json_object(begun)

    def _json(self, path: str, body: Mapping[str, Any] | None, timeout_seconds: float) -> dict[str, Any]:
        limits = ReplyLimits(longest_line=_LONGEST_ANSWER, longest=_LONGEST_ANSWER, seconds=timeout_seconds)
        with self._open(path, body, timeout_seconds) as response:
            return _json_object(b"".join(self._bytes(response, limits)))

    @staticmethod
    def _bytes(response: HTTPResponse, limits: ReplyLimits) -> Iterator[bytes]:
        while data := response.read1(_AT_ONCE):
            limits.add(data)
            yield data

    def _open(self, path: str, body: Mapping[str, Any] | None, timeout_seconds: float) -> HTTPResponse:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ModelProblem(f"{self.shown!r} is not an address of Ollama.", "RAG_OLLAMA_URL begins with http://.")
        import urllib.request

        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})  # noqa: S310  # the scheme is checked above
        response: HTTPResponse = self._opener.open(request, timeout=timeout_seconds)
        return response

    def _unreadable(self, name: str, what: str) -> ModelProblem:
        return ModelProblem(f"Ollama at {self.shown} gave no usable answer about {name} ({what}).", "Update Ollama.")


def _json_object(text: bytes) -> dict[str, Any]:
    """Raises ValueError."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def status(base_url: str, timeout_seconds: float) -> OllamaStatus:
    """Whether Ollama answers at `base_url` now. A refused connection returns at once; never raises for it."""
    return Ollama(base_url, connect_seconds=timeout_seconds, timeout_seconds=timeout_seconds, offline=False).status


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
