"""Ollama's own client, which LangChain calls: its HTTP options, and its errors as ours.

httpx, the client and its types are imported with the first call.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, cast

from ragscience.errors import ModelProblem
from ragscience.models.ollama_api import MALFORMED, Ollama, is_loopback
from ragscience.models.reply_limits import ReplyLimits, SilentReply, UnusableReply, when_over
from ragscience.text.addresses import shown_address

__all__ = ["as_problem", "client_options", "may_pass", "reply_errors"]

KEEPALIVE_SECONDS = 20
"""Interval of the system's own probes whether a silent server's machine is still there; after about nine it is not."""
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
    if isinstance(error, SilentReply) and not error.has_begun:
        return ModelProblem(
            f"The first token of {name} did not come within {error.seconds:g} s.",
            "Raise RAG_LLM_FIRST_TOKEN_S, or choose a smaller model.",
        )
    if isinstance(error, httpx.TimeoutException | SilentReply):
        seconds = error.seconds if isinstance(error, SilentReply) else error.request.extensions["timeout"]["read"]
        return ModelProblem(
            f"{name} sent nothing for {seconds:g} s.", "Raise RAG_OLLAMA_TIMEOUT_SECONDS, or choose a smaller model."
        )
    if isinstance(error, httpx.HTTPError):
        return ModelProblem(f"The connection to Ollama at {url} broke ({type(error).__name__}).", "Try again.")
    if isinstance(error, ValidationError) or (isinstance(error, MALFORMED) and not isinstance(error, ValueError)):
        return ModelProblem(f"What {name} replied is not of the form of Ollama's replies.", _ANOTHER)
    if not isinstance(error, ollama.ResponseError):
        return ModelProblem(f"{name}'s reply could not be read: {_one_line(error)}.", _ANOTHER)
    # mypy has no types for the `ollama` package's error.
    refused = cast("Any", error)
    message = _one_line(refused.error)
    if refused.status_code == 404:
        return ModelProblem(f"Ollama has no model {name}.", f"Fetch it with `ollama pull {name}`.")
    if "context" in message.casefold() and "exceed" in message.casefold():
        return ModelProblem(f"The prompt is too long for {name}: {message}.", "Raise RAG_NUM_CTX, or lower RAG_TOP_K.")
    if "memory" in message.casefold():
        return ModelProblem(
            f"{name} does not fit in memory: {message}.", "Lower RAG_NUM_CTX, or choose a smaller model."
        )
    return ModelProblem(f"Ollama failed with {name}: {message}.", "Try again; `ollama ps` shows what it is running.")


def _one_line(message: object) -> str:
    return " ".join(str(message).split())[:300].rstrip(".")


def may_pass(error: Exception) -> bool:
    """Whether a retry may succeed: a cut connection or a crashed runner, not a refusal or a timeout."""
    import httpx
    import ollama

    if isinstance(error, ollama.ResponseError):
        refused = cast("Any", error)
        return bool(refused.status_code >= 500 and "memory" not in str(refused.error).casefold())
    return isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)


def client_options(ollama: Ollama, *, longest_line: int, read_seconds: float | None) -> dict[str, Any]:
    """Arguments for httpx: our timeouts, no redirects, no proxy for this machine, and no idle connections.

    The server may be silent for `read_seconds`; None: without a limit here. A connection is closed as soon as nobody
    wants the reply (`reply_limits.when_over`), and ends where the server's machine is gone. A reply with a line of more
    than `longest_line` bytes ends with UnusableReply, as does one that is compressed, whose bytes would say nothing of
    its length.
    """
    import httpx

    class LimitedStream(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            limits = ReplyLimits(longest_line=longest_line, seconds=ollama.timeout_seconds)
            for data in self._stream:
                limits.add(data)
                yield data

        def close(self) -> None:
            self._stream.close()

    def limit(response: httpx.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise UnusableReply("it is compressed")
        response.stream = LimitedStream(cast("httpx.SyncByteStream", response.stream))

    def watch(request: httpx.Request) -> None:
        request.extensions["trace"] = _watch_connection

    local = is_loopback(ollama.url)
    options: dict[str, Any] = {
        "timeout": httpx.Timeout(ollama.timeout_seconds, connect=ollama.connect_seconds, read=read_seconds),
        "limits": httpx.Limits(max_keepalive_connections=0),
        "follow_redirects": False,
        "headers": {"accept-encoding": "identity"},
        "event_hooks": {"request": [watch], "response": [limit]},
        "trust_env": not local,
    }
    if local and ollama.url.startswith("http://"):
        # Reading the certificates takes longer than a question; a context without any trusts no server.
        options["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return options


def _watch_connection(name: str, details: Mapping[str, Any]) -> None:
    """What httpx tells of a request: the connection that it has made ends once nobody wants the reply."""
    if name not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
        return
    made: socket.socket = details["return_value"].get_extra_info("socket")
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), KEEPALIVE_SECONDS)
    when_over(partial(_end, made))


def _end(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        connection.shutdown(socket.SHUT_RDWR)
