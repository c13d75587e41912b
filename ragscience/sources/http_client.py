"""The HTTP client for addresses that come from outside: GET requests, each address and redirect of them checked.

httpx connects to the very address that was checked: the URL has the address, the Host header and TLS have the name.
Proxies from the environment (HTTP_PROXY …) are not used: a proxy resolves names itself, and nobody could check its
addresses. One connection per request, no cookies, no credentials from .netrc, no referrer, no compression.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from math import inf
from threading import Timer
from typing import Any, TypeVar

import httpx

from ragscience.core import __version__
from ragscience.core.errors import SourceError, shown_address
from ragscience.sources import allowed_addresses as allowed
from ragscience.sources.allowed_addresses import NetworkRules

BACKOFF_S = (5.0, 10.0, 15.0)
"""Before the second, third and fourth try; there is no fifth."""
LONGEST_WAIT_S = 120.0
"""A server that asks for a longer pause ends the run; the message names the time to come back at."""
USER_AGENT = f"RAG-Science/{__version__} (a person's search for papers)"
_REDIRECTS = {301, 302, 303, 307, 308}
_BUSY = {429, 503}
_MOST_ADDRESSES = 4
"""Addresses of one name that are tried, one after the other."""
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For http://: it trusts no server, and needs no certificates to be read."""
BY_HAND = "Download it with a browser and put it into the papers folder."
_LATER = "Try again later."

_T = TypeVar("_T")


class Again(Exception):
    """A request that may succeed later: `problem` is the error, `after_s` the shortest pause in seconds."""

    def __init__(self, problem: SourceError, after_s: float = 0.0) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.after_s = after_s


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

    def left(self, host: str) -> float:
        """Seconds until then, above 0. Raises SourceError with reason "time" if none are left."""
        left = self._end - self.clock()
        if left > 0:
            return left
        limit = f"{host} took longer than the {self.seconds:g} s that one file may take."
        raise SourceError(limit, "Run the same command again.", reason="time")


@dataclass(frozen=True)
class Response:
    """The head of a response; `chunks` gives its body as it arrives."""

    url: httpx.URL
    """After all redirects."""
    status: int
    headers: httpx.Headers
    chunks: Iterator[bytes]

    @property
    def where(self) -> str:
        """Its address, for a message."""
        return shown_address(str(self.url))

    @property
    def said(self) -> str:
        """The status with its standard name, not the server's own text."""
        name = httpx.codes.get_reason_phrase(self.status)
        return f"{self.status} ({name})" if name else str(self.status)

    @property
    def announced(self) -> int | None:
        """The Content-Length, in bytes."""
        length = self.headers.get("content-length", "")
        return int(length) if length.isdecimal() else None

    def require(self, *expected: int) -> None:
        """Raise SourceError unless the status is expected."""
        if self.status not in expected:
            fix = _LATER if self.status >= 500 else BY_HAND
            raise SourceError(f"{self.where} was answered with {self.said}.", fix, reason="status")

    def require_size(self, size: int | None, max_bytes: int) -> None:
        """Raise SourceError where more bytes came, or are announced, than may come."""
        if size is not None and size > max_bytes:
            raise SourceError(f"{self.where} has more than {in_units(max_bytes)}.", BY_HAND, reason="too-large")


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
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        resolve: allowed.Resolver = allowed.system_resolver,
        tls: ssl.SSLContext | None = None,
        on_wait: Callable[[str, float], None] = lambda *_: None,
    ) -> None:
        self.rules = rules
        self._monotonic = monotonic
        self._sleep = sleep
        self._resolve = resolve
        self._tls = tls
        self._on_wait = on_wait
        self._last: dict[str, float] = {}
        """When the last request to a host began."""

    def get(self, url: str, *, max_bytes: int) -> bytes:
        """A small response, also one of status 400: arXiv's API reports errors in a feed."""

        def attempt(deadline: Deadline) -> bytes:
            with self.answer(url, {"Accept": "application/atom+xml"}, deadline) as answer:
                answer.require(200, 400)
                answer.require_size(answer.announced, max_bytes)
                body = bytearray()
                for chunk in answer.chunks:
                    body += chunk
                    answer.require_size(len(body), max_bytes)
                return bytes(body)

        return self.patiently(attempt)

    def patiently(self, attempt: Callable[[Deadline], _T]) -> _T:
        """The result of an attempt, repeated after a pause where that may help. Raises SourceError."""
        deadline = Deadline(self._monotonic, self.rules.total_s)
        for pause in (*BACKOFF_S, None):
            try:
                return attempt(deadline)
            except Again as again:
                problem = again.problem
                if again.after_s > LONGEST_WAIT_S:
                    problem.message = f"{problem.message.rstrip('.')}, and asks for a long pause."
                    problem.fix = f"Come back in {min(again.after_s, 7 * 86400) / 60:.0f} minutes or later."
                    raise problem from again
                if pause is None:
                    problem.message = f"{problem.message} It was tried {len(BACKOFF_S) + 1} times."
                    raise problem from again
                seconds = max(pause, again.after_s)
                self._on_wait(problem.message, seconds)
                self._sleep(seconds)
                deadline.extend(seconds)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def answer(self, url: str, headers: Mapping[str, str], deadline: Deadline) -> Iterator[Response]:
        """The response to a GET, after redirects. Raises SourceError, and Again where a later try may succeed.

        Connection errors inside the `with`, while the body is read, are raised in the same way.
        """
        target = allowed.checked_url(url, self.rules)
        for hops in count(1):
            host, now = allowed.host_of(target), self._monotonic()
            due = max(now, self._last.get(host, -inf) + self.rules.pause_s)
            if due > now:
                self._sleep(due - now)
                deadline.extend(due - now)
            self._last[host] = due
            with self._errors_of(host, deadline), self._one(target, headers, deadline) as answer:
                if answer.status in _BUSY:
                    after = seconds_to_wait(answer.headers.get("retry-after", ""))
                    message = f"{host} is busy: it answered {answer.said}."
                    raise Again(SourceError(message, _LATER, reason="busy"), after)
                if answer.status not in _REDIRECTS:
                    yield answer
                    return
            target = self._next(answer, hops)

    @contextmanager
    def _one(self, url: httpx.URL, headers: Mapping[str, str], deadline: Deadline) -> Iterator[Response]:
        """The response to one request, whatever its status. Raises httpx's errors, and SourceError."""
        host, is_encrypted = allowed.host_of(url), url.scheme == "https"
        rules = {"allow_loopback": self.rules.allow_loopback, "is_encrypted": is_encrypted}
        addresses = allowed.allowed_addresses(host, allowed.port_of(url), self._resolve, **rules)[:_MOST_ADDRESSES]
        if is_encrypted and self._tls is None:
            self._tls = httpx.create_ssl_context()
        with ExitStack() as kept:

            def watch(event: str, details: Mapping[str, Any]) -> None:
                """Close the connection at the deadline of the whole file, however little arrives at once."""
                if event == "connection.connect_tcp.complete":
                    timer = Timer(deadline.left(host), _shut, [details["return_value"].get_extra_info("socket")])
                    timer.daemon = True
                    timer.start()
                    kept.callback(timer.cancel)

            sent = {"Host": url.netloc.decode("ascii"), "User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
            limits = dict.fromkeys(("connect", "read", "write", "pool"), self.rules.timeout_s)
            transport = kept.enter_context(httpx.HTTPTransport(verify=self._tls or _NO_TLS, trust_env=False))
            for number, address in enumerate(addresses, 1):
                request = httpx.Request(
                    "GET",
                    url.copy_with(host=address),
                    headers={**sent, "Connection": "close", **headers},
                    extensions={"sni_hostname": host, "trace": watch, "timeout": limits},
                )
                try:
                    response = transport.handle_request(request)
                    break
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    if number == len(addresses):
                        raise
            kept.callback(response.close)
            body = (chunk for chunk in response.iter_raw() if deadline.left(host))
            yield Response(url, response.status_code, response.headers, body)

    def _next(self, answer: Response, hops: int) -> httpx.URL:
        """The target of a redirect. Raises SourceError."""
        location = answer.headers.get("location", "").strip()
        problem = "" if location else f"redirects ({answer.status}) without a target"
        if hops > self.rules.max_redirects:
            problem = f"redirects again, after {self.rules.max_redirects} redirects"
        if problem:
            raise SourceError(f"{answer.where} {problem}.", BY_HAND, reason="redirect")
        try:
            return allowed.checked_url(location, self.rules, answer.url)
        except SourceError as error:
            error.message = f"{answer.where} redirects: {error.message}"
            raise

    @contextmanager
    def _errors_of(self, host: str, deadline: Deadline) -> Iterator[None]:
        """Turn httpx's errors into SourceError and Again."""
        try:
            yield
        except httpx.TransportError as error:
            deadline.left(host)
            if isinstance(error, httpx.TimeoutException):
                message = f"{host} did not answer for {self.rules.timeout_s:g} s."
                raise Again(SourceError(message, _LATER)) from error
            causes: list[BaseException] = [error]
            while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
                causes.append(cause)
            for one in causes:
                if isinstance(one, ssl.SSLCertVerificationError):
                    message = f"The certificate of {host} is not to be trusted: {one.verify_message.rstrip('.')}."
                    raise SourceError(message, "Check the address and this machine's clock.", reason="tls") from error
            system = next((one.strerror for one in causes if isinstance(one, OSError) and one.strerror), None)
            message = (
                f"The connection to {host} failed: {plain((system or str(error)).rstrip('.')) or 'it was closed'}."
            )
            raise Again(SourceError(message, _LATER)) from error


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        connection.shutdown(socket.SHUT_RDWR)


def in_units(count: int) -> str:
    """A number of bytes, for a message."""
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count:,} bytes"


def plain(text: str) -> str:
    """A server's text, fit for one line of a message."""
    return "".join(character for character in text if character.isprintable())[:100]


def seconds_to_wait(retry_after: str) -> float:
    """The seconds of a Retry-After header (RFC 9110, section 10.2.3); 0 where it has none, infinite for too many."""
    text = retry_after.strip()
    return float(text) if text.isascii() and text.isdigit() else 0.0
