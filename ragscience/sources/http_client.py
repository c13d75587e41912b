"""A GET request with its redirects, each of them checked, and its errors in words.

HTTP/1.1 by httpcore, one connection per request; httpx has no way to choose the address of a connection. Proxies from
the environment (HTTP_PROXY …) are not used: a proxy resolves names itself, and nobody could check its addresses.
No cookies, no credentials from .netrc, no referrer, no compression.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpcore
import httpx

from ragscience.core.addresses import shown_address
from ragscience.core.errors import SourceError
from ragscience.sources.allowed_addresses import Resolver, allowed_addresses, checked_url, host_of, port_of
from ragscience.sources.rate_limits import Deadline, NetworkRules, Pace, seconds_to_wait

__all__ = ["Again", "Answer", "Asker", "require_success"]

_REDIRECTS = {301, 302, 303, 307, 308}
_BUSY = {429, 503}
_GONE = {404, 410}
_FORBIDDEN = {401, 402, 403, 407, 451}
_BY_HAND = "Download it with a browser and put it into the papers folder."
_LATER = "Try again later."
_MOST_ADDRESSES = 4
"""Addresses of one name that are tried, one after the other."""


class Again(Exception):
    """A request that may succeed later: `problem` is the error, `after_s` the shortest pause in seconds."""

    def __init__(self, problem: SourceError, after_s: float = 0.0) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.after_s = after_s


@dataclass(frozen=True)
class Answer:
    """The head of a response; `chunks` gives its body as it arrives."""

    url: httpx.URL
    """After all redirects."""
    status: int
    headers: Mapping[str, str]
    """By lower-case name; the first of several with one name."""
    chunks: Iterator[bytes]

    @property
    def content_type(self) -> str:
        """In lower case, without parameters: "application/pdf"; empty where it is missing."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def announced(self) -> int | None:
        """The Content-Length, in bytes."""
        length = self.headers.get("content-length", "")
        return int(length) if length.isdecimal() else None


class Asker:
    """Sends requests, one after the other. `now` gives seconds since 1970, for the dates of Retry-After."""

    def __init__(
        self, rules: NetworkRules, pace: Pace, resolve: Resolver, tls: ssl.SSLContext | None, now: Callable[[], float]
    ) -> None:
        self._rules = rules
        self._pace = pace
        self._resolve = resolve
        self._tls = tls
        self._now = now

    @contextmanager
    def answer(self, url: str, headers: Mapping[str, str], deadline: Deadline) -> Iterator[Answer]:
        """The response to a GET, after redirects. Raises SourceError, and Again where a later try may succeed.

        Connection errors inside the `with`, while the body is read, are raised in the same way.
        """
        target, seen = checked_url(url, self._rules), set[str]()
        while True:
            seen.add(str(target))
            deadline.extend(self._pace.wait(host_of(target)))
            with self._errors_of(target, deadline), self._one(target, headers, deadline) as answer:
                if answer.status not in _REDIRECTS:
                    self._require_not_busy(answer)
                    yield answer
                    return
            target = self._next(answer, seen)

    @contextmanager
    def _one(self, url: httpx.URL, headers: Mapping[str, str], deadline: Deadline) -> Iterator[Answer]:
        """The response to one request, whatever its status. Raises httpcore's errors, and SourceError."""
        if url.scheme == "https" and self._tls is None:
            self._tls = httpx.create_ssl_context()
        origin = httpcore.Origin(url.scheme.encode(), url.raw_host, port_of(url))
        backend = CheckedBackend(self._resolve, deadline, allow_loopback=self._rules.allow_loopback)
        sent = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": self._rules.user_agent,
            "Accept-Encoding": "identity",
            "Connection": "close",
            **headers,
        }
        seconds = self._rules.timeout_s
        connection = httpcore.HTTPConnection(origin, ssl_context=self._tls, network_backend=backend)
        try:
            with connection.stream(
                "GET",
                httpcore.URL(scheme=origin.scheme, host=origin.host, port=origin.port, target=url.raw_path),
                headers=list(sent.items()),
                extensions={"timeout": {"connect": seconds, "read": seconds, "write": seconds}},
            ) as response:
                got: dict[str, str] = {}
                for name, value in response.headers:
                    got.setdefault(name.decode("latin-1").lower(), _text(value))
                yield Answer(url, response.status, got, response.iter_stream())
        finally:
            connection.close()

    def _next(self, answer: Answer, seen: set[str]) -> httpx.URL:
        """The target of a redirect. Raises SourceError."""
        where, location = shown_address(str(answer.url)), answer.headers.get("location", "")
        if not location.strip():
            problem = f"redirects ({answer.status}) without a target"
        else:
            try:
                target = checked_url(location, self._rules, answer.url)
            except SourceError as error:
                error.message = f"{where} redirects: {error.message}"
                raise
            if str(target) in seen:
                problem = f"redirects in a circle, back to {shown_address(str(target))}"
            elif len(seen) > self._rules.max_redirects:
                problem = f"redirects again, after {self._rules.max_redirects} redirects"
            else:
                return target
        raise SourceError(f"{where} {problem}.", _BY_HAND, reason="redirect")

    def _require_not_busy(self, answer: Answer) -> None:
        """Raise Again where the server asks for a pause."""
        if answer.status not in _BUSY:
            return
        asked = seconds_to_wait(answer.headers.get("retry-after", ""), answer.headers.get("date", ""), self._now())
        problem = SourceError(f"{host_of(answer.url)} is busy: it answered {_status(answer)}.", _LATER, reason="busy")
        raise Again(problem, asked)

    @contextmanager
    def _errors_of(self, url: httpx.URL, deadline: Deadline) -> Iterator[None]:
        """Turn httpcore's errors into SourceError and Again."""
        host = host_of(url)
        try:
            yield
        except httpcore.TimeoutException as error:
            deadline.left(host)
            message = f"{host} did not answer for {self._rules.timeout_s:g} s."
            raise Again(SourceError(message, "Try again later, or raise RAG_SOURCES_TIMEOUT_S.")) from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            if (certificate := _certificate_problem(error)) is not None:
                message = f"The certificate of {host} is not to be trusted: {certificate}."
                raise SourceError(message, "Check the address and this machine's clock.", reason="tls") from error
            raise Again(SourceError(f"The connection to {host} failed: {_cause(error)}.", _LATER)) from error


def require_success(answer: Answer, *, expected: tuple[int, ...]) -> None:
    """Raise SourceError unless the status is expected and the body is not compressed."""
    where = shown_address(str(answer.url))
    if answer.status in _GONE:
        raise SourceError(f"{where} is not there: {_status(answer)}.", "Check the address.", reason="gone")
    if answer.status in _FORBIDDEN:
        raise SourceError(f"{where} is not public: {_status(answer)}.", _BY_HAND, reason="forbidden")
    if answer.status not in expected:
        fix = _LATER if answer.status >= 500 else _BY_HAND
        raise SourceError(f"{where} was answered with {_status(answer)}.", fix, reason="status")
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        # No compression was requested, and a body that unpacks to gigabytes is not even started.
        message = f"{where} comes compressed ({_short(encoding)}), although that was not asked for."
        raise SourceError(message, _BY_HAND, reason="compressed")


def _status(answer: Answer) -> str:
    """The status with its standard name, not the server's own text."""
    try:
        return f"{answer.status} ({HTTPStatus(answer.status).phrase})"
    except ValueError:
        return str(answer.status)


def _certificate_problem(error: BaseException) -> str | None:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message.rstrip(".")
        cause = cause.__cause__ or cause.__context__
    return None


def _cause(error: Exception) -> str:
    inner = error.__cause__
    text = inner.strerror if isinstance(inner, OSError) and inner.strerror else str(error)
    return _short(text.rstrip(".")) or "it was closed"


def _short(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:150]


def _text(value: bytes) -> str:
    """A header's value: UTF-8 as many servers send it, else Latin-1, which every byte string is."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


class CheckedBackend(httpcore.NetworkBackend):
    """Resolves a name once, checks its addresses, and connects to exactly those.

    httpcore gives TLS the original name, so certificates are still checked against it.
    """

    def __init__(self, resolve: Resolver, deadline: Deadline, *, allow_loopback: bool) -> None:
        self._resolve = resolve
        self._deadline = deadline
        self._allow_loopback = allow_loopback

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first allowed address that answers. Raises SourceError and httpcore's ConnectError."""
        addresses = allowed_addresses(host, port, self._resolve, allow_loopback=self._allow_loopback)
        last: Exception = AssertionError("there is at least one address")
        for address in addresses[:_MOST_ADDRESSES]:
            seconds = self._deadline.sooner(timeout, host)
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
        return self._stream.read(max_bytes, self._deadline.sooner(timeout, self._host))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.sooner(timeout, self._host))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = self._deadline.sooner(timeout, self._host)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._host, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
