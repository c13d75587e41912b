"""One question to the network: a GET with its redirects, each of them checked, and what can go wrong with it in words.

HTTP/1.1 by httpcore, a connection for each request. Not httpx, which has no way to say where a connection goes. Proxies
from the environment (HTTP_PROXY …) are not used: a proxy looks names up itself, and nobody could check its addresses.
No cookies, no credentials from .netrc, no referrer, no compression.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

import httpcore
import httpx

from ragscience.errors import SourceError
from ragscience.sources.allowed_addresses import Resolver, checked_url, host_of, port_of, shown
from ragscience.sources.connections import CheckedBackend
from ragscience.sources.rate_limits import Deadline, NetworkRules, Pace, seconds_to_wait

__all__ = ["Again", "Answer", "Asker", "require_success"]

_REDIRECTS = {301, 302, 303, 307, 308}
_BUSY = {429, 503}
_GONE = {404, 410}
_FORBIDDEN = {401, 402, 403, 407, 451}
_BY_HAND = "Download it with a browser and put it into the papers folder."
_LATER = "Try again later."


class Again(Exception):
    """It may go well the next time; `problem` tells what went wrong, `after_s` how long to wait at least."""

    def __init__(self, problem: SourceError, after_s: float = 0.0) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.after_s = after_s


@dataclass(frozen=True)
class Answer:
    """The beginning of an answer; `chunks` gives its body as it comes."""

    url: httpx.URL
    """The last one, behind all redirects."""
    status: int
    headers: Mapping[str, str]
    """By their names in lower case; of several with one name the first."""
    chunks: Iterator[bytes]

    @property
    def content_type(self) -> str:
        """Its main part in lower case: "application/pdf"; empty where none is told."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def announced(self) -> int | None:
        """How many bytes the body is to have."""
        length = self.headers.get("content-length", "")
        return int(length) if length.isdecimal() else None


class Asker:
    """Asks, one request after the other. `now` gives seconds since 1970 and is for the dates of Retry-After alone."""

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
        """The answer to a GET, after redirects. Raises SourceError, and Again for what may pass.

        What goes wrong with the connection inside the `with`, while the body is read, comes out of it in the same way.
        """
        target, seen = checked_url(url, self._rules), set[str]()
        while True:
            seen.add(str(target))
            deadline.extend(self._pace.wait(host_of(target)))
            with self._told(target, deadline), self._one(target, headers, deadline) as answer:
                if answer.status not in _REDIRECTS:
                    self._require_leisure(answer)
                    yield answer
                    return
            target = self._next(answer, seen)

    @contextmanager
    def _one(self, url: httpx.URL, headers: Mapping[str, str], deadline: Deadline) -> Iterator[Answer]:
        """The answer to one request, without a look at it. Raises httpcore's errors, and SourceError."""
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
        """Where a redirect leads. Raises SourceError."""
        location = answer.headers.get("location", "")
        if not location.strip():
            message = f"{shown(str(answer.url))} redirects ({answer.status}) without saying where to."
            raise SourceError(message, _BY_HAND, reason="redirect")
        try:
            target = checked_url(location, self._rules, answer.url)
        except SourceError as error:
            error.message = f"{shown(str(answer.url))} redirects: {error.message}"
            raise
        if str(target) in seen:
            message = f"{shown(str(answer.url))} redirects in a circle, back to {shown(str(target))}."
            raise SourceError(message, _BY_HAND, reason="redirect")
        if len(seen) > self._rules.max_redirects:
            message = f"{shown(str(answer.url))} redirects again, after {self._rules.max_redirects} redirects."
            raise SourceError(message, _BY_HAND, reason="redirect")
        return target

    def _require_leisure(self, answer: Answer) -> None:
        """Raise Again where the server asks to be left alone for a while."""
        if answer.status not in _BUSY:
            return
        asked = seconds_to_wait(answer.headers.get("retry-after", ""), answer.headers.get("date", ""), self._now())
        problem = SourceError(f"{host_of(answer.url)} is busy: it answered {_status(answer)}.", _LATER, reason="busy")
        raise Again(problem, asked)

    @contextmanager
    def _told(self, url: httpx.URL, deadline: Deadline) -> Iterator[None]:
        """Turn what httpcore raises into words."""
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
    """Raise SourceError unless the status is expected and the body comes as it is, not compressed."""
    where = f"{shown(str(answer.url))}"
    if answer.status in _GONE:
        raise SourceError(f"{where} is not there: {_status(answer)}.", "Check the address.", reason="gone")
    if answer.status in _FORBIDDEN:
        raise SourceError(f"{where} is not given to everyone: {_status(answer)}.", _BY_HAND, reason="forbidden")
    if answer.status not in expected:
        fix = _LATER if answer.status >= 500 else _BY_HAND
        raise SourceError(f"{where} was answered with {_status(answer)}.", fix, reason="status")
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        # Nothing compressed was asked for, and what unpacks to gigabytes is not even begun.
        message = f"{where} comes compressed ({_short(encoding)}), although that was not asked for."
        raise SourceError(message, _BY_HAND, reason="compressed")


def _status(answer: Answer) -> str:
    """The status with its usual name: what a server says instead is not repeated."""
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
    """A header's value: UTF-8 where it is that, as many servers send it, else Latin-1, which everything is."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
