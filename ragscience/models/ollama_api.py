"""Ollama's status and model list over its HTTP API (https://docs.ollama.com/api); see also ollama_client.py.

An `Ollama` requests the status at most once, so that a run costs two small requests however many parts need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ragscience.core.errors import ModelProblem
from ragscience.models.json_server import MALFORMED, JsonServer, ServerStatus, is_loopback, positive

__all__ = ["MALFORMED", "ModelDetails", "Ollama", "is_loopback", "status"]

_LONGEST_LINE = 2**16
"""Bytes of a line that tells of progress."""


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """The answer of /api/show about a model."""

    context_length: int | None
    """Context length in tokens; None if unknown."""
    dimension: int | None
    """Dimension of its embeddings (of its hidden state, for a chat model); None if unknown."""
    capabilities: tuple[str, ...]
    parameters: int | None
    """How many parameters it has; None if unknown."""


class Ollama(JsonServer):
    """An Ollama server."""

    called = "Ollama"
    setting = "RAG_OLLAMA_URL"

    @cached_property
    def status(self) -> ServerStatus:
        """The status, requested once. Never raises: without an answer it is not running."""
        import urllib.error
        from http.client import HTTPException

        if self.is_forbidden:
            return ServerStatus(False, why=f"offline, and Ollama at {self.shown} is another machine")
        try:
            version = self.json("/api/version", None, self.connect_seconds).get("version", "")
            listed = self.json("/api/tags", None, self.connect_seconds).get("models") or []
            models = {str(model["name"]): str(model.get("digest", "")) for model in listed}
        except urllib.error.HTTPError as error:
            error.close()
            return ServerStatus(False, why=f"what answers at {self.shown} is not Ollama (HTTP {error.code})")
        except OSError:
            return ServerStatus(False, why=f"Ollama does not answer at {self.shown}")
        except (HTTPException, *MALFORMED):
            return ServerStatus(False, why=f"what answers at {self.shown} is not Ollama")
        return ServerStatus(True, str(version), models)

    def require(self, name: str) -> str:
        """The full name of an installed model. Raises ModelProblem: offline, not running, or without that model."""
        if self.is_forbidden:
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
            answer = self.json("/api/show", {"model": name}, self.timeout_seconds)
            info = answer.get("model_info") or {}
            architecture = info.get("general.architecture", "")
            context, dimension = (info.get(f"{architecture}.{key}") for key in ("context_length", "embedding_length"))
            capabilities = tuple(str(each) for each in answer.get("capabilities") or ())
            size = str((answer.get("details") or {}).get("parameter_size", ""))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 404:
                raise ModelProblem(f"Ollama has no model {name}.", f"Fetch it with `ollama pull {name}`.") from None
            raise self._unreadable(name, f"HTTP {error.code}") from None
        except OSError:
            raise ModelProblem(f"Ollama does not answer at {self.shown}.", "Start it with `ollama serve`.") from None
        except (HTTPException, *MALFORMED) as error:
            raise self._unreadable(name, type(error).__name__) from None
        parameters = positive(info.get("general.parameter_count")) or _parameters(size)
        return ModelDetails(positive(context), positive(dimension), capabilities, parameters)

    def served_context(self, name: str) -> int | None:
        """Context window in tokens of a loaded model (/api/ps); None if unknown."""
        from http.client import HTTPException

        try:
            loaded = self.json("/api/ps", None, self.connect_seconds).get("models") or []
            return next((positive(each.get("context_length")) for each in loaded if each.get("name") == name), None)
        except (OSError, HTTPException, *MALFORMED):
            return None

    def pulled(self, name: str) -> Iterator[dict[str, Any]]:
        """Ollama's progress with the download of a model. Raises OSError, HTTPException, ValueError unchanged."""
        body: Mapping[str, Any] = {"model": name, "stream": True}
        return self.lines("/api/pull", body, longest_line=_LONGEST_LINE)

    def _unreadable(self, name: str, what: str) -> ModelProblem:
        return ModelProblem(f"Ollama at {self.shown} gave no usable answer about {name} ({what}).", "Update Ollama.")


def _parameters(size: str) -> int | None:
    """The number that Ollama writes as "494.03M" or "8.0B"; None for anything else."""
    unit = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}.get(size[-1:])
    try:
        return positive(round(float(size[:-1]) * unit)) if unit else None
    except (ValueError, OverflowError):
        return None


def status(base_url: str, timeout_seconds: float) -> ServerStatus:
    """Whether Ollama answers at `base_url` now. A refused connection returns at once; never raises for it."""
    return Ollama(base_url, connect_seconds=timeout_seconds, timeout_seconds=timeout_seconds, offline=False).status
