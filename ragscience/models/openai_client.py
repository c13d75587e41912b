"""OpenAI's own client, which LangChain calls: its errors as ours. It is imported with the first call."""

from __future__ import annotations

from typing import Any

from ragscience.core.errors import ModelProblem
from ragscience.models.json_server import MALFORMED, one_line
from ragscience.models.openai_api import OpenAIServer
from ragscience.models.served_llm import RETRY_AFTER_SECONDS

__all__ = ["as_problem", "is_broken", "reply_errors", "retry_pause"]

LONGEST_PAUSE = 30.0
"""Seconds: a server that asks for a longer pause is not asked again."""
_TOO_LONG = ("exceed", "context size", "context length", "context window", "too long")
_MEMORY = ("out of memory", "not enough memory", "failed to allocate", "insufficient memory")


def reply_errors() -> tuple[type[Exception], ...]:
    """What a call of the server through OpenAI's client may end in."""
    import httpx
    import openai

    return openai.OpenAIError, httpx.HTTPError, ConnectionError, *MALFORMED


def as_problem(error: Exception, name: str, server: OpenAIServer) -> ModelProblem:
    """A RagScience error for a failed call: one line and a fix, without the key."""
    import httpx
    import openai
    from pydantic import ValidationError

    cause, where = _cause(error), server.shown
    if isinstance(error, openai.APIStatusError):
        return _refused(error, name, server)
    if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
        return ModelProblem(f"No server answers at {where}.", f"Start it, or correct {server.setting}.")
    if isinstance(error, openai.APITimeoutError) or isinstance(cause, httpx.TimeoutException):
        return ModelProblem(f"The server at {where} does not take the request.", "Look at the server's own log.")
    if isinstance(error, openai.APIConnectionError) or isinstance(cause, httpx.HTTPError):
        return ModelProblem(f"The connection to the server at {where} broke ({type(cause).__name__}).", "Try again.")
    if isinstance(error, openai.APIError):  # in the middle of a stream
        return ModelProblem(
            f"The server at {where} failed with {name}: {_said(error, server) or 'it does not say why'}.",
            "Try again; the server's own log may tell more.",
        )
    if isinstance(error, ValidationError) or (isinstance(error, MALFORMED) and not isinstance(error, ValueError)):
        return ModelProblem(f"What {name} replied is not of the form of OpenAI's replies.", _other_server(server))
    return ModelProblem(f"{name}'s reply could not be read: {server.redacted(one_line(error))}.", _other_server(server))


def is_broken(error: Exception) -> bool:
    """Whether no connection could be made, or it broke."""
    import httpx

    return isinstance(_cause(error), httpx.NetworkError | httpx.RemoteProtocolError | ConnectionError)


def _refused(error: Any, name: str, server: OpenAIServer) -> ModelProblem:
    code, said = error.status_code, _said(error, server)
    told = f": {said}" if said else ""
    folded = said.casefold()
    if code in (401, 403):
        key = "does not accept the key" if server.key.get_secret_value() else "wants a key"
        return ModelProblem(
            f"The server at {server.shown} {key} (HTTP {code}).",
            "Set RAG_LLM_KEY, or name a file that holds the key in RAG_LLM_KEY_FILE.",
        )
    if code == 404:
        return ModelProblem(
            f"The server at {server.shown} has no model {name}{told} (HTTP 404).",
            f"`python query.py models` lists what it has; check {server.setting}, which usually ends in /v1.",
        )
    if code in (400, 413, 422) and any(words in folded for words in _TOO_LONG):
        return ModelProblem(
            f"The prompt is too long for {name}{told}.",
            "Lower RAG_NUM_CTX to what the server gives, or ask for fewer passages with -k.",
        )
    if any(words in folded for words in _MEMORY):
        return ModelProblem(f"{name} does not fit in memory{told}.", "Choose a smaller model or a smaller context.")
    if code == 429:
        return ModelProblem(f"The server at {server.shown} is busy (HTTP 429{told}).", "Try again in a moment.")
    if 300 <= code < 400:
        return ModelProblem(
            f"The server at {server.shown} redirects (HTTP {code}), which is not followed.",
            f"Set {server.setting} to the address itself.",
        )
    return ModelProblem(
        f"The server at {server.shown} failed with {name} (HTTP {code}{told}).",
        "Try again; the server's own log may tell more.",
    )


def retry_pause(error: Exception) -> float | None:
    """Seconds to wait for another attempt: after a cut connection, a crash or a busy server; None: no attempt."""
    import httpx
    import openai

    if isinstance(error, openai.APIStatusError):
        if error.status_code == 429:
            return _asked_pause(error.response.headers.get("retry-after", ""))
        is_memory = any(words in str(error.body).casefold() for words in _MEMORY)
        return RETRY_AFTER_SECONDS if error.status_code >= 500 and not is_memory else None
    cut = isinstance(_cause(error), httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)
    return RETRY_AFTER_SECONDS if cut else None


def _cause(error: Exception) -> BaseException:
    """The error of httpx that one of LangChain's or of OpenAI's client was raised from, if there is one."""
    import httpx

    at: BaseException | None = error
    while at is not None and not isinstance(at, httpx.HTTPError):
        at = at.__cause__
    return at or error


def _asked_pause(header: str) -> float | None:
    """The pause of a Retry-After header in seconds; a date in it, and one that is too long, mean no attempt."""
    if not header:
        return RETRY_AFTER_SECONDS
    if not (header.isascii() and header.isdecimal()):
        return None
    seconds = float(header[:9])
    return max(seconds, RETRY_AFTER_SECONDS) if seconds <= LONGEST_PAUSE else None


def _said(error: Any, server: OpenAIServer) -> str:
    """The server's own words: of the body where it has OpenAI's form."""
    body = error.body
    told = body.get("message") or body.get("error") or body.get("detail") if isinstance(body, dict) else body
    if isinstance(told, dict):
        told = told.get("message", "")
    return server.redacted(one_line(told if isinstance(told, str) else ""))


def _other_server(server: OpenAIServer) -> str:
    return f"Check {server.setting}, or update the server."
