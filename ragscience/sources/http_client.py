"""The HTTP client for addresses that come from outside: GET requests, each address and redirect of them checked.

HTTP/1.1 by httpcore, one connection per request; httpx has no way to choose the address of a connection. Proxies from
the environment (HTTP_PROXY …) are not used: a proxy resolves names itself, and nobody could check its addresses.
No cookies, no credentials from .netrc, no referrer, no compression.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

import httpcore
import httpx

from ragscience.core import __version__
from ragscience.core.addresses import shown_address
from ragscience.core.errors import SourceError
from ragscience.sources.allowed_addresses import (
    NetworkRules,
    Resolver,
    allowed_addresses,
    checked_url,
    host_of,
    port_of,
    system_resolver,
)

__all__ = ["Again", "Clock", "Deadline", "Fetched", "HttpClient", "Response", "seconds_to_wait"]

BACKOFF_S = (5.0, 10.0, 15.0)
"""Before the second, third and fourth try; there is no fifth."""
LONGEST_WAIT_S = 120.0
"""A server that asks for a longer pause ends the run; the message names the time to come back at."""
USER_AGENT = f"RAG-Science/{__version__} (a person's search for papers)"
_REDIRECTS = {301, 302, 303, 307, 308}
_BUSY = {429, 503}
_GONE = {404, 410}
_FORBIDDEN = {401, 402, 403, 407, 451}
_MOST_ADDRESSES = 4
"""Addresses of one name that are tried, one after the other."""
_MOST_DIGITS = 9
"""More seconds than that, 30 years, are as good as never."""
BY_HAND = "Download it with a browser and put it into the papers folder."
_LATER = "Try again later."

_T = TypeVar("_T")


class Again(Exception):
    """A request that may succeed later: `problem` is the error, `after_s` the shortest pause in seconds."""

    def __init__(self, problem: SourceError, after_s: float = 0.0) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.after_s = after_s


@dataclass(frozen=True)
class Clock:
    """Where time comes from."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time
    """Seconds since 1970."""


@dataclass
class Deadline:
    """When a file must be complete: `seconds` from now, without the time that is spent waiting on purpose."""

    clock: Callable[[], float]
    seconds: float

    def __post_init__(self) -> None:
        self._end = self.clock() + self.seconds

    def extend(self, seconds: float) -> None:
        """Leave out time that was spent waiting on purpose."""
        self._end += seconds

    def left(self, host: str, timeout: float | None = None) -> float:
        """Seconds until then, at most `timeout`, above 0. Raises SourceError with reason "time" if none are left."""
        left = self._end - self.clock()
        if left > 0:
            return left if timeout is None else min(timeout, left)
        raise SourceError(
            f"{host} took longer than the {self.seconds:g} s that one file may take.",
            "Run the same command again: the download resumes if the server allows it.",
            reason="time",
        )


@dataclass(frozen=True)
class Response:
    """The head of a response; `chunks` gives its body as it arrives."""

    url: httpx.URL
    """After all redirects."""
    status: int
    headers: Mapping[str, str]
    """By lower-case name; the first of several with one name."""
    chunks: Iterator[bytes]

    @property
    def where(self) -> str:
        """Its address, for a message."""
        return shown_address(str(self.url))

    @property
    def said(self) -> str:
        """The status with its standard name, not the server's own text."""
        known = {one.value: f" ({one.phrase})" for one in HTTPStatus}
        return f"{self.status}{known.get(self.status, '')}"

    @property
    def content_type(self) -> str:
        """In lower case, without parameters: "application/pdf"; empty where it is missing."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def announced(self) -> int | None:
        """The Content-Length, in bytes."""
        length = self.headers.get("content-length", "")
        return int(length) if length.isdecimal() else None

    def require(self, *expected: int) -> None:
        """Raise SourceError unless the status is expected and the body is not compressed."""
        if self.status in _GONE:
            raise SourceError(f"{self.where} is not there: {self.said}.", "Check the address.", reason="gone")
        if self.status in _FORBIDDEN:
            raise SourceError(f"{self.where} is not public: {self.said}.", BY_HAND, reason="forbidden")
        if self.status not in expected:
            fix = _LATER if self.status >= 500 else BY_HAND
            raise SourceError(f"{self.where} was answered with {self.said}.", fix, reason="status")
        encoding = self.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            # No compression was requested, and a body that unpacks to gigabytes is not even started.
            message = f"{self.where} comes compressed ({plain(encoding)}), although that was not asked for."
            raise SourceError(message, BY_HAND, reason="compressed")

    def require_size(self, size: int | None, max_bytes: int, fix: str = BY_HAND, *, announced: bool = False) -> None:
        """Raise SourceError where more bytes came, or are announced, than may come."""
        if size is not None and size > max_bytes:
            limit = f"the limit of {in_units(max_bytes)}"
            what = f"has {in_units(size)}, above {limit}" if announced else f"does not end: more than {limit} came"
            raise SourceError(f"{self.where} {what}.", fix, reason="too-large")


@dataclass(frozen=True)
class Fetched:
    """A small response."""

    url: str
    """After all redirects."""
    body: bytes
    content_type: str
    """In lower case, without parameters: "application/atom+xml"."""
    status: int = 200
    """200, or 400: arXiv's API reports errors in a feed."""


class HttpClient:
    """The requests of one run, one after the other, to one host at least `rules.pause_s` seconds apart.

    The addresses of a name are checked before each connection, at each redirect too. `on_wait` receives the reason and
    the seconds of each pause before a further try. All errors are SourceErrors. `resolve` gives the addresses of a
    name; `tls` has the trusted certificates (None: certifi's).
    """

    def __init__(
        self,
        rules: NetworkRules,
        *,
        clock: Clock | None = None,
        resolve: Resolver = system_resolver,
        tls: ssl.SSLContext | None = None,
        on_wait: Callable[[str, float], None] = lambda *_: None,
    ) -> None:
        self.rules = rules
        self._clock = clock or Clock()
        self._resolve = resolve
        self._tls = tls
        self._on_wait = on_wait
        self._last: dict[str, float] = {}
        """When the last request to a host began."""

    def get(self, url: str, *, kinds: tuple[str, ...], max_bytes: int) -> Fetched:
        """A small response of one of the content types `kinds`; one of status 400 only where it has such a type.

        Without `kinds` every type is accepted, and a response without a type always.
        """

        def attempt(deadline: Deadline) -> Fetched:
            with self.answer(url, {"Accept": ", ".join(kinds) or "*/*"}, deadline) as answer:
                is_kind = answer.content_type in kinds
                answer.require(200, *(400,) * is_kind)
                if not is_kind and kinds and answer.content_type:
                    message = f"{answer.where} is {plain(answer.content_type)}, not {kinds[0]}."
                    raise SourceError(message, "Check the address.", reason="wrong-type")
                answer.require_size(answer.announced, max_bytes, "Ask for less at once.", announced=True)
                body = bytearray()
                for chunk in answer.chunks:
                    body += chunk
                    answer.require_size(len(body), max_bytes, "Ask for less at once.")
                return Fetched(str(answer.url), bytes(body), answer.content_type, answer.status)

        return self.patiently(attempt)

    def patiently(self, attempt: Callable[[Deadline], _T]) -> _T:
        """The result of an attempt, repeated after a pause where that may help. Raises SourceError."""
        deadline = Deadline(self._clock.monotonic, self.rules.total_s)
        for pause in (*BACKOFF_S, None):
            try:
                return attempt(deadline)
            except Again as again:
                problem = again.problem
                if again.after_s > LONGEST_WAIT_S:
                    problem.message = f"{problem.message.rstrip('.')}, and asks for a long pause."
                    problem.fix = f"Come back {self._when(again.after_s)}."
                    raise problem from again
                if pause is None:
                    problem.message = f"{problem.message} It was tried {len(BACKOFF_S) + 1} times."
                    raise problem from again
                seconds = max(pause, again.after_s)
                self._on_wait(problem.message, seconds)
                self._clock.sleep(seconds)
                deadline.extend(seconds)
        raise AssertionError("the last attempt returns or raises")

    def _when(self, seconds: float) -> str:
        if seconds > 7 * 24 * 3600:
            return "in more than a week"
        then = time.localtime(self._clock.now() + seconds)
        return f"in {seconds / 60:.0f} minutes, at {time.strftime('%Y-%m-%d %H:%M', then)}"

    @contextmanager
    def answer(self, url: str, headers: Mapping[str, str], deadline: Deadline) -> Iterator[Response]:
        """The response to a GET, after redirects. Raises SourceError, and Again where a later try may succeed.

        Connection errors inside the `with`, while the body is read, are raised in the same way.
        """
        target, seen = checked_url(url, self.rules), set[str]()
        while True:
            seen.add(str(target))
            deadline.extend(self._pause(host_of(target)))
            with self._errors_of(host_of(target), deadline), self._one(target, headers, deadline) as answer:
                if answer.status in _BUSY:
                    asked = answer.headers.get("retry-after", ""), answer.headers.get("date", "")
                    message = f"{host_of(target)} is busy: it answered {answer.said}."
                    busy = SourceError(message, _LATER, reason="busy")
                    raise Again(busy, seconds_to_wait(*asked, self._clock.now()))
                if answer.status not in _REDIRECTS:
                    yield answer
                    return
            target = self._next(answer, seen)

    def _pause(self, host: str) -> float:
        """Sleep until a request to the host is due, and count it as sent; the seconds slept."""
        now = self._clock.monotonic()
        due = self._last[host] + self.rules.pause_s if host in self._last else now
        if due > now:
            self._clock.sleep(due - now)
        self._last[host] = max(due, now)
        return max(0.0, due - now)

    @contextmanager
    def _one(self, url: httpx.URL, headers: Mapping[str, str], deadline: Deadline) -> Iterator[Response]:
        """The response to one request, whatever its status. Raises httpcore's errors, and SourceError."""
        if url.scheme == "https" and self._tls is None:
            self._tls = httpx.create_ssl_context()
        origin = httpcore.Origin(url.scheme.encode(), url.raw_host, port_of(url))
        backend = CheckedBackend(
            partial(
                allowed_addresses,
                resolve=self._resolve,
                allow_loopback=self.rules.allow_loopback,
                is_encrypted=url.scheme == "https",
            ),
            deadline,
        )
        sent = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": USER_AGENT,
            "Accept-Encoding": "identity",
            "Connection": "close",
            **headers,
        }
        with (
            httpcore.HTTPConnection(origin, ssl_context=self._tls, network_backend=backend) as connection,
            connection.stream(
                "GET",
                httpcore.URL(scheme=origin.scheme, host=origin.host, port=origin.port, target=url.raw_path),
                headers=list(sent.items()),
                extensions={"timeout": dict.fromkeys(("connect", "read", "write"), self.rules.timeout_s)},
            ) as response,
        ):
            got: dict[str, str] = {}
            for name, value in response.headers:
                got.setdefault(name.decode("latin-1").lower(), _text(value))
            yield Response(url, response.status, got, response.iter_stream())

    def _next(self, answer: Response, seen: set[str]) -> httpx.URL:
        """The target of a redirect. Raises SourceError."""
        location = answer.headers.get("location", "")
        if not location.strip():
            problem = f"redirects ({answer.status}) without a target"
        else:
            try:
                target = checked_url(location, self.rules, answer.url)
            except SourceError as error:
                error.message = f"{answer.where} redirects: {error.message}"
                raise
            if str(target) in seen:
                problem = f"redirects in a circle, back to {shown_address(str(target))}"
            elif len(seen) > self.rules.max_redirects:
                problem = f"redirects again, after {self.rules.max_redirects} redirects"
            else:
                return target
        raise SourceError(f"{answer.where} {problem}.", BY_HAND, reason="redirect")

    @contextmanager
    def _errors_of(self, host: str, deadline: Deadline) -> Iterator[None]:
        """Turn httpcore's errors into SourceError and Again."""
        try:
            yield
        except httpcore.TimeoutException as error:
            deadline.left(host)
            message = f"{host} did not answer for {self.rules.timeout_s:g} s."
            raise Again(SourceError(message, _LATER)) from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            cause: BaseException | None = error
            while cause is not None:
                if isinstance(cause, ssl.SSLCertVerificationError):
                    message = f"The certificate of {host} is not to be trusted: {cause.verify_message.rstrip('.')}."
                    raise SourceError(message, "Check the address and this machine's clock.", reason="tls") from error
                cause = cause.__cause__ or cause.__context__
            inner = error.__cause__
            text = inner.strerror if isinstance(inner, OSError) and inner.strerror else str(error)
            message = f"The connection to {host} failed: {plain(text.rstrip('.')) or 'it was closed'}."
            raise Again(SourceError(message, _LATER)) from error


def in_units(count: int) -> str:
    """A number of bytes, for a message."""
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count:,} bytes"


def plain(text: str) -> str:
    """A server's text, fit for one line of a message."""
    return "".join(character for character in text if character.isprintable())[:100]


def _text(value: bytes) -> str:
    """A header's value: UTF-8 as many servers send it, else Latin-1, which every byte string is."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def seconds_to_wait(retry_after: str, date: str, now: float) -> float:
    """The seconds of a Retry-After header (RFC 9110, section 10.2.3); 0 where it is missing, past or invalid.

    It is a number of seconds or an HTTP date. A date is compared with the server's own `Date` header, as its clock may
    be wrong, or where that is missing with `now`, in seconds since 1970. The result may be infinite.
    """
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text) if len(text.lstrip("0")) <= _MOST_DIGITS else float("inf")
    then, since = _timestamp(text), _timestamp(date)
    return 0.0 if then is None else max(0.0, then - (now if since is None else since))


def _timestamp(http_date: str) -> float | None:
    try:
        date = parsedate_to_datetime(http_date)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        # The parser of the standard library has raised each of these for one nonsense or another.
        return None


class CheckedBackend(httpcore.NetworkBackend):
    """Resolves a name once, checks its addresses, and connects to exactly those.

    httpcore gives TLS the original name, so certificates are still checked against it.
    """

    def __init__(self, allowed: Callable[[str, int], list[str]], deadline: Deadline) -> None:
        self._allowed = allowed
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first allowed address that answers. Raises SourceError and httpcore's ConnectError."""
        last: Exception = AssertionError("there is at least one address")
        for address in self._allowed(host, port)[:_MOST_ADDRESSES]:
            seconds = self._deadline.left(host, timeout)
            try:
                stream = httpcore.SyncBackend().connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
            else:
                return _TimedStream(stream, host, self._deadline)
        raise last


class _TimedStream(httpcore.NetworkStream):
    """A stream that also ends at the deadline of the whole file, however little arrives at once."""

    def __init__(self, stream: httpcore.NetworkStream, host: str, deadline: Deadline) -> None:
        self._stream = stream
        self._host = host
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left(self._host, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left(self._host, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = self._deadline.left(self._host, timeout)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._host, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
