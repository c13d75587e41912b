"""Ollama's own client, which LangChain calls: its errors as ours.

httpx, the client and its types are imported with the first call.
"""

from __future__ import annotations

from typing import Any, cast

from ragscience.core.addresses import shown_address
from ragscience.core.errors import ModelProblem
from ragscience.models.json_server import MALFORMED, one_line

__all__ = ["as_problem", "may_pass", "reply_errors"]

_ANOTHER = "Try again, or update Ollama."


def reply_errors() -> tuple[type[Exception], ...]:
    """What a call of Ollama through its own client may end in."""
    import httpx
    import ollama

    return httpx.HTTPError, ollama.ResponseError, ConnectionError, *MALFORMED


def as_problem(error: Exception, name: str, url: str) -> ModelProblem:
    """A RagScience error for a failed call of Ollama: one line and a fix."""
    import httpx
    import ollama
    from pydantic import ValidationError

    url = shown_address(url)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
        return ModelProblem(f"Ollama does not answer at {url}.", "Start it with `ollama serve`.")
    if isinstance(error, httpx.TimeoutException):
        seconds = error.request.extensions["timeout"]["read"]
        return ModelProblem(
            f"{name} sent nothing for {seconds:g} s.", "Raise RAG_OLLAMA_TIMEOUT_SECONDS, or choose a smaller model."
        )
    if isinstance(error, httpx.HTTPError):
        return ModelProblem(f"The connection to Ollama at {url} broke ({type(error).__name__}).", "Try again.")
    if isinstance(error, ValidationError) or (isinstance(error, MALFORMED) and not isinstance(error, ValueError)):
        return ModelProblem(f"What {name} replied is not of the form of Ollama's replies.", _ANOTHER)
    if not isinstance(error, ollama.ResponseError):
        return ModelProblem(f"{name}'s reply could not be read: {one_line(error)}.", _ANOTHER)
    # mypy has no types for the `ollama` package's error.
    refused = cast("Any", error)
    message = one_line(refused.error)
    if refused.status_code == 404:
        return ModelProblem(f"Ollama has no model {name}.", f"Fetch it with `ollama pull {name}`.")
    if "context" in message.casefold() and "exceed" in message.casefold():
        return ModelProblem(f"The prompt is too long for {name}: {message}.", "Raise RAG_NUM_CTX, or lower RAG_TOP_K.")
    if "memory" in message.casefold():
        return ModelProblem(
            f"{name} does not fit in memory: {message}.", "Lower RAG_NUM_CTX, or choose a smaller model."
        )
    return ModelProblem(f"Ollama failed with {name}: {message}.", "Try again; `ollama ps` shows what it is running.")


def may_pass(error: Exception) -> bool:
    """Whether a retry may succeed: a cut connection or a crashed runner, not a refusal or a timeout."""
    import httpx
    import ollama

    if isinstance(error, ollama.ResponseError):
        refused = cast("Any", error)
        return bool(refused.status_code >= 500 and "memory" not in str(refused.error).casefold())
    return isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)
