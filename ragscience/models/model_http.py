"""The HTTP client of the model servers: limits, no redirects, no proxy to this machine; its failures; cancelling.

The clients of LangChain's packages get it too. httpx is imported with the first request.
"""

import ipaddress
import socket
import ssl
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from math import inf
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from ragscience.core.errors import Cancelled, ModelProblem, missing_package

_POLL_SECONDS = 0.1
"""Interval of the check for cancellation while the model is silent."""
T = TypeVar("T")


class UnusableReply(ValueError):
    """A reply that is longer, or slower, than any of use."""


@dataclass(frozen=True, slots=True)
class Silence:
    """How long a reply may be silent, in seconds."""

    first: float
    """Before its first piece: the model is loaded and reads the prompt."""
    between: float
    """Between two pieces."""


class SilentReply(UnusableReply):
    """A reply that was silent for longer than it may be: `seconds`; `has_begun`: a piece had come before."""

    def __init__(self, seconds: float, *, has_begun: bool) -> None:
        self.seconds = seconds
        self.has_begun = has_begun
        super().__init__(f"nothing came for {seconds:g} s")


class _Reading:
    """One reading of pieces: whether anybody still wants them, and what ends their source."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ends: list[Callable[[], None]] = []
        self.is_over = False

    def add(self, end: Callable[[], None]) -> None:
        with self._lock:
            self._ends.append(end)
            is_over = self.is_over
        if is_over:
            end()

    def stop(self) -> None:
        with self._lock:
            self.is_over = True
            ends, self._ends = self._ends, []
        for end in ends:
            end()


_reading: ContextVar[_Reading | None] = ContextVar("reading", default=None)
"""That of the thread which reads the pieces."""


def when_over(end: Callable[[], None]) -> None:
    """Call `end` once nobody wants what this thread reads for a `cancellable`, from another thread; else never."""
    reading = _reading.get()
    if reading is not None:
        reading.add(end)


def cancellable(
    pieces: Iterator[T], cancelled: Callable[[], bool], silence: Silence | None = None
) -> Generator[T, None, None]:
    """The same pieces, read in another thread, which is left alone when they are no longer wanted.

    Raises Cancelled, also where this is itself read by a `cancellable` that is over; raises SilentReply where the
    pieces are silent for longer than `silence`.
    """
    read: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
    outer, mine = _reading.get(), _Reading()
    if outer is not None:
        outer.add(mine.stop)  # at once, also while this waits for a piece

    def pump() -> None:
        _reading.set(mine)
        with suppress(BaseException):  # it is raised where the pieces are read
            try:
                for piece in pieces:
                    read.put((piece,))
                    if mine.is_over:
                        break
            finally:
                read.put(sys.exception())
                pieces.close()  # type: ignore[attr-defined]  # most are generators

    def is_over() -> bool:
        return cancelled() or (outer is not None and outer.is_over)

    def next_piece(limit: float) -> tuple[T] | BaseException | None:
        began = time.monotonic()
        while True:
            if is_over():
                raise Cancelled
            left = limit - (time.monotonic() - began)
            try:
                return read.get(timeout=min(_POLL_SECONDS, max(left, 0.001)))
            except Empty:
                if time.monotonic() - began >= limit:
                    raise SilentReply(limit, has_begun=has_begun) from None

    if is_over():
        raise Cancelled  # before anything is asked of a server
    has_begun = False
    first, between = (silence.first, silence.between) if silence is not None else (inf, inf)
    try:  # from before the thread begins: Ctrl-C may come at any point
        Thread(target=copy_context().run, args=(pump,), daemon=True).start()
        while (piece := next_piece(between if has_begun else first)) is not None:
            if isinstance(piece, BaseException):
                raise piece
            has_begun = True
            yield piece[0]
    finally:
        mine.stop()


MALFORMED = (ValueError, AttributeError, TypeError, KeyError, IndexError, RecursionError)
"""What JSON of another shape than the server's ends in, within its client or here."""
RETRY_SECONDS = 1.0
"""Until a crashed server has started again."""
MEMORY = ("out of memory", "not enough memory", "failed to allocate", "insufficient memory", "system memory")
"""Words of a refusal for want of memory."""
REFUSALS = (
    (MEMORY, "{} does not fit in memory", "Choose a smaller model, or lower RAG_NUM_CTX."),
    (
        ("too large", "batch size"),
        "A passage is too long for {}",
        "Start llama.cpp's server with a larger --ubatch-size, or lower RAG_CHUNK_SIZE.",
    ),
    (
        ("exceed", "context size", "context length", "context window", "too long"),
        "The prompt is too long for {}",
        "Set RAG_NUM_CTX to what the server gives, or ask for fewer passages with -k.",
    ),
)
"""Words of a refusal, and what they mean."""
_OUR_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type"}
)
"""What a request carries; OpenAI's client would add the machine's system and the organisation of its environment."""


def client_options(
    url: str, connect_seconds: float, read_seconds: float | None, seconds: float | None, longest: int
) -> dict[str, Any]:
    """Arguments for httpx.Client.

    The server may be silent for `read_seconds`, and a reply take `seconds`; None: no limit here. A reply of more than
    `longest` bytes ends with UnusableReply, as does one that is compressed, whose bytes would say nothing of its
    length. A connection is closed as soon as nobody wants the reply (`when_over`).
    """
    import httpx

    class LimitedStream(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            size, begun = 0, time.monotonic()
            for data in self._stream:
                size += len(data)
                if size > longest:
                    raise UnusableReply(f"it is longer than {longest:,} bytes")
                if seconds is not None and time.monotonic() - begun > seconds:
                    raise UnusableReply(f"it was not whole after {seconds:g} s")
                yield data

        def close(self) -> None:
            self._stream.close()

    def limit(response: httpx.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise UnusableReply("it is compressed")
        response.stream = LimitedStream(cast("httpx.SyncByteStream", response.stream))

    def prepare(request: httpx.Request) -> None:
        request.extensions["trace"] = _watch_connection
        for header in set(request.headers) - _OUR_HEADERS:
            del request.headers[header]

    local = is_loopback(url)
    options: dict[str, Any] = {
        "timeout": httpx.Timeout(read_seconds, connect=connect_seconds),
        "limits": httpx.Limits(max_keepalive_connections=0),
        "follow_redirects": False,
        "headers": {"accept-encoding": "identity"},
        "event_hooks": {"request": [prepare], "response": [limit]},
        "trust_env": not local,
    }
    if local and url.startswith("http://"):
        # Reading the certificates takes longer than a question; a context without any trusts no server.
        options["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return options


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


def one_line(message: object) -> str:
    """Somebody else's text as part of a message of ours: one line of printable characters, of bounded length."""
    plain = "".join(character if character.isprintable() else " " for character in str(message)[:2000])
    return " ".join(plain.split())[:300].rstrip(".")


def positive(value: Any) -> int | None:
    """The value where it is a whole number above 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _watch_connection(name: str, details: Mapping[str, Any]) -> None:
    """What httpx reports of a request: the connection that it has made ends once nobody wants the reply."""
    if name in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
        when_over(partial(_end, details["return_value"].get_extra_info("socket")))


def _end(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        connection.shutdown(socket.SHUT_RDWR)


def json_errors() -> tuple[type[Exception], ...]:
    """What a small request may end in."""
    import httpx

    return httpx.HTTPError, httpx.InvalidURL, OSError, *MALFORMED


def cause_of(error: Exception) -> BaseException:
    """The error of httpx's connection that one of LangChain's clients has wrapped; else the error."""
    import httpx

    at: BaseException | None = error
    while at is not None and not isinstance(at, httpx.TransportError):
        at = at.__cause__
    return at or error


def status_of(error: Any) -> int | None:
    """The HTTP status of a refusal; 0 or less for an error within a stream; None for another failure."""
    if getattr(error, "response", None) is not None:
        return int(error.response.status_code)
    is_clients = type(error).__module__.partition(".")[0] in ("ollama", "openai")
    return int(getattr(error, "status_code", 0)) if is_clients and cause_of(error) is error else None


def said_by(error: Any) -> str:
    """The server's own words: of the body where it has a form that we know."""
    told = getattr(error, "body", None) or getattr(error, "error", None) or str(error)
    if getattr(error, "response", None) is not None:
        told = ""
        with suppress(*MALFORMED):
            told = error.response.json()
    for _ in range(2):
        if isinstance(told, dict):
            told = told.get("message") or told.get("error") or told.get("detail") or ""
    return told if isinstance(told, str) else ""


def retry_pause(error: Exception) -> float | None:
    """Seconds to wait for another attempt: after a cut connection, a crash or a busy server; None: no attempt."""
    import httpx

    code = status_of(error)
    if code is None:
        cut = isinstance(cause_of(error), httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)
        return RETRY_SECONDS if cut else None
    is_memory = any(words in said_by(error).casefold() for words in MEMORY)
    return RETRY_SECONDS if code == 429 or (code >= 500 and not is_memory) else None


def check_installed() -> None:
    """Raise ModelProblem where the package that speaks with a server with OpenAI's API is not installed."""
    from importlib.util import find_spec

    # LangChain warns of each field of a reply that is of another type than OpenAI's own.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    if find_spec("langchain_openai") is None:
        raise missing_package("A server with OpenAI's API", "langchain-openai", "llm-server", ModelProblem)
