"""Small JSON requests to a model server: bounded in size and time, without redirects, and not by proxy to this machine.

The HTTP client is imported with the first request: a run without a server does not pay for it.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ragscience.core.addresses import shown_address
from ragscience.core.errors import ModelProblem
from ragscience.models.reply_limits import ReplyLimits

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.request import OpenerDirector

__all__ = [
    "MALFORMED",
    "JsonServer",
    "ServerStatus",
    "error_text",
    "is_loopback",
    "json_object",
    "one_line",
    "positive",
]

_LONGEST_ANSWER = 16 * 2**20
"""Bytes of the answer to a small request: a list of ten thousand models."""
_LONGEST_ERROR = 2**16
"""Bytes of an error's text that are read."""
_AT_ONCE = 2**16
MALFORMED = (ValueError, AttributeError, TypeError, KeyError, IndexError, RecursionError)
"""What JSON of another shape than the server's ends in, within its client or here."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Whether a model server answers, and its models."""

    running: bool
    version: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    """Full name ("llama3.1:8b") to digest, in hexadecimal; empty where the server gives none."""
    why: str = ""
    """Why it is not running: a sentence without its full stop."""

    def find(self, name: str) -> str | None:
        """The full name of a model that is there; a name without a tag means its tag `latest`."""
        return next((known for known in (name, f"{name}:latest") if known in self.models), None)


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


class JsonServer:
    """A model server; `offline` rejects one that is not on this machine.

    Requests to this machine never use a proxy, whatever the environment sets.
    """

    called = "a model server"
    """What messages call it."""
    setting = ""
    """The environment variable of its address."""

    def __init__(self, url: str, *, connect_seconds: float, timeout_seconds: float, offline: bool) -> None:
        self.url = url.rstrip("/")
        self.shown = shown_address(self.url)
        """The address as a message may show it."""
        self.connect_seconds = connect_seconds
        self.timeout_seconds = timeout_seconds
        self.offline = offline

    @property
    def is_forbidden(self) -> bool:
        """Whether it is another machine, and only this one may be spoken to."""
        return self.offline and not is_loopback(self.url)

    def headers(self) -> dict[str, str]:
        """What each request carries besides its body."""
        return {"content-type": "application/json"}

    @cached_property
    def _opener(self) -> OpenerDirector:
        import urllib.request

        class NoRedirect(urllib.request.HTTPRedirectHandler):
            """Rejects redirects: these servers send none, and one could lead to another machine."""

            def redirect_request(self, *_: Any, **__: Any) -> None:
                return None

        proxies = urllib.request.ProxyHandler({}) if is_loopback(self.url) else urllib.request.ProxyHandler()
        return urllib.request.build_opener(proxies, NoRedirect)

    def lines(self, path: str, body: Mapping[str, Any], *, longest_line: int) -> Iterator[dict[str, Any]]:
        """A streamed answer, one object per line. Raises OSError, HTTPException, ValueError unchanged."""
        limits = ReplyLimits(longest_line=longest_line, seconds=self.timeout_seconds)
        begun = b""
        with self._open(self.url + path, body, self.timeout_seconds) as response:
            for data in _pieces(response, limits):
                *whole, begun = (begun + data).split(b"\n")
                yield from (json_object(line) for line in whole if line.strip())
        if begun.strip():
            yield json_object(begun)

    def json(
        self, path: str, body: Mapping[str, Any] | None, timeout_seconds: float, *, longest: int = _LONGEST_ANSWER
    ) -> dict[str, Any]:
        """The object that the server answers with; `path` starts at its address, or is a whole URL.

        Raises OSError (HTTPError among them), HTTPException, ValueError unchanged.
        """
        limits = ReplyLimits(longest_line=longest, longest=longest, seconds=timeout_seconds)
        with self._open(path if "://" in path else self.url + path, body, timeout_seconds) as response:
            return json_object(b"".join(_pieces(response, limits)))

    def _open(self, url: str, body: Mapping[str, Any] | None, timeout_seconds: float) -> HTTPResponse:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ModelProblem(
                f"{self.shown!r} is not an address of {self.called}.", f"{self.setting} begins with http://."
            )
        import urllib.request

        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, self.headers())  # noqa: S310  # the scheme is checked above
        response: HTTPResponse = self._opener.open(request, timeout=timeout_seconds)
        return response


def _pieces(response: HTTPResponse, limits: ReplyLimits) -> Iterator[bytes]:
    while data := response.read1(_AT_ONCE):
        limits.add(data)
        yield data


def json_object(text: bytes) -> dict[str, Any]:
    """Raises ValueError."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def error_text(error: HTTPResponse | Any) -> str:
    """What the body of an HTTP error says, as these servers write it: {"error": {"message": …}} or {"error": …}."""
    try:
        body = json_object(error.read(_LONGEST_ERROR))
        told = body.get("error", body)
        return one_line(told.get("message", "") if isinstance(told, dict) else told)
    except (OSError, *MALFORMED):
        return ""
    finally:
        error.close()


def one_line(message: object) -> str:
    """Somebody else's text as part of a message of ours: one line of printable characters, of bounded length."""
    plain = "".join(character if character.isprintable() else " " for character in str(message)[:2000])
    return " ".join(plain.split())[:300].rstrip(".")


def positive(value: Any) -> int | None:
    """The value where it is a whole number above 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
