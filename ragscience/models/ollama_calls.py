"""What both clients of Ollama's share: how a connection is made, and how a failure becomes one line."""

from __future__ import annotations

import ssl
from typing import Any, cast

from ragscience.errors import ModelProblem
from ragscience.models.ollama_api import Ollama, is_loopback

__all__ = ["as_problem", "client_options", "may_pass"]


def as_problem(error: Exception, name: str, url: str) -> ModelProblem:
    """What happened to a call of Ollama, in one line, with what to do about it."""
    import httpx
    import ollama

    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
        return ModelProblem(f"Ollama does not answer at {url}.", "Start it with `ollama serve`.")
    if isinstance(error, httpx.TimeoutException):
        return ModelProblem(
            f"{name} sent nothing for too long.", "Raise RAG_OLLAMA_TIMEOUT_SECONDS, or choose a smaller model."
        )
    if isinstance(error, httpx.HTTPError):
        return ModelProblem(f"The connection to Ollama at {url} broke ({type(error).__name__}).", "Try again.")
    if not isinstance(error, ollama.ResponseError):
        return ModelProblem(f"{name}'s reply could not be read: {_one_line(error)}.", "Try again, or update Ollama.")
    # mypy sees no types of the `ollama` package's error.
    refused = cast("Any", error)
    said = _one_line(refused.error)
    if refused.status_code == 404:
        return ModelProblem(f"Ollama has no model {name}.", f"Fetch it with `ollama pull {name}`.")
    if "context" in said.casefold() and "exceed" in said.casefold():
        return ModelProblem(f"The prompt is too long for {name}: {said}.", "Raise RAG_NUM_CTX, or lower RAG_TOP_K.")
    if "memory" in said.casefold():
        return ModelProblem(f"{name} does not fit in memory: {said}.", "Lower RAG_NUM_CTX, or choose a smaller model.")
    return ModelProblem(f"Ollama failed with {name}: {said}.", "Try again; `ollama ps` shows what it is running.")


def _one_line(said: object) -> str:
    return " ".join(str(said).split())[:300].rstrip(".")


def may_pass(error: Exception) -> bool:
    """Whether the same call may succeed: a cut connection or a crashed runner, not a refusal or a silence."""
    import httpx
    import ollama

    if isinstance(error, ollama.ResponseError):
        refused = cast("Any", error)
        return bool(refused.status_code >= 500 and "memory" not in str(refused.error).casefold())
    return isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)


def client_options(ollama: Ollama) -> dict[str, Any]:
    """For httpx: our timeouts, no redirects, no proxy for this machine, and no connection kept open unused."""
    import httpx

    local = is_loopback(ollama.url)
    options: dict[str, Any] = {
        "timeout": httpx.Timeout(ollama.timeout_seconds, connect=ollama.connect_seconds),
        "limits": httpx.Limits(max_keepalive_connections=0),
        "follow_redirects": False,
        "trust_env": not local,
    }
    if local and ollama.url.startswith("http://"):
        # Reading the certificates takes longer than a question; a context without any trusts nobody.
        options["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return options
