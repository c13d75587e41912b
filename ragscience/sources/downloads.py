"""Downloads: small responses into memory, PDFs into a folder of parts, which only complete and readable ones leave."""

from __future__ import annotations

import os
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from ragscience.core.addresses import shown_address
from ragscience.core.errors import SourceError
from ragscience.sources.allowed_addresses import Resolver, system_resolver
from ragscience.sources.file_names import suggested_name
from ragscience.sources.http_client import Again, Answer, Asker, require_success
from ragscience.sources.partial_files import Part, opened_part, part_path
from ragscience.sources.pdf_check import why_unreadable
from ragscience.sources.rate_limits import BACKOFF_S, LONGEST_WAIT_S, Deadline, NetworkRules, Pace

__all__ = ["Clock", "Downloaded", "Fetched", "Fetcher", "NetworkRules"]

_T = TypeVar("_T")
_HEADER_WITHIN_BYTES = 1024
"""Where `%PDF-` may begin (PDF 1.7 reference, appendix H, note 13)."""
_TRAILER_WITHIN_BYTES = 4096
"""Where `%%EOF` must be, from the end; readers require 1024, and some servers add a few lines."""
_WEB_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|script)\b",
    re.IGNORECASE | re.DOTALL,
)
_TITLE = re.compile(rb"<title[^<>]*+>([^<]{1,200})", re.IGNORECASE)
_SPOILED = frozenset({"not-a-pdf", "truncated", "unreadable", "wrong-length"})
"""Errors after which the downloaded bytes are useless."""
_FINAL = frozenset({"gone", "too-large"})
"""Errors after which the rest is not requested."""
_BY_HAND = "Open the address in a browser; if it shows a PDF there, save that into the papers folder."
_RAISE_LIMIT = "Raise RAG_SOURCES_MAX_MB if you want it."
_ASK_LESS = "Ask for less at once."
_RESUMES = "Run the same command again: the download resumes."


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


@dataclass(frozen=True)
class Downloaded:
    """A complete PDF that opens and has a page."""

    url: str
    """After all redirects."""
    path: Path
    """To be moved away before the fetcher is closed, or the next run downloads it again."""
    size: int
    md5: str
    """Of its bytes, in hexadecimal: the library's key of a paper."""
    name: str
    """The server's name for it, as it is sent: not safe as a file name."""


@dataclass(frozen=True)
class Clock:
    """Where time comes from."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time
    """Seconds since 1970."""


class Fetcher:
    """Downloads of one run, one request at a time; a context manager.

    The addresses of a name are checked before each connection, at each redirect too. Passing errors (429, 503, a
    connection that fails or is cut) are tried three times more, after 5, 10 and 15 seconds or as many as the server
    asks for; `on_wait` receives the reason and the seconds. Proxies from the environment are not used.

    All errors are SourceErrors. `resolve` gives the addresses of a name; `tls` has the trusted certificates (None:
    certifi's); `unreadable` gives what is wrong with a downloaded PDF, empty for nothing.
    """

    def __init__(
        self,
        rules: NetworkRules,
        *,
        clock: Clock | None = None,
        resolve: Resolver = system_resolver,
        tls: ssl.SSLContext | None = None,
        on_wait: Callable[[str, float], None] | None = None,
        unreadable: Callable[[Path], str] = why_unreadable,
    ) -> None:
        self._rules = rules
        self._clock = clock or Clock()
        self._on_wait = on_wait
        self._unreadable = unreadable
        self._asker = Asker(
            rules, Pace(rules.pause_s, self._clock.monotonic, self._clock.sleep), resolve, tls, self._clock.now
        )
        self._one_at_a_time = threading.Lock()
        self._locks: dict[Path, int] = {}
        """Handles that lock complete files until they are moved away."""

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path in list(self._locks):
            self._unlock(path)

    def get(self, url: str, *, kinds: tuple[str, ...], max_bytes: int) -> Fetched:
        """A small response of one of the content types `kinds`; one of status 400 only where it has such a type.

        Without `kinds` every type is accepted, and a response without a type always.
        """

        def attempt(deadline: Deadline) -> Fetched:
            with self._asker.answer(url, {"Accept": ", ".join(kinds) or "*/*"}, deadline) as answer:
                is_kind = answer.content_type in kinds
                require_success(answer, expected=(200, 400) if is_kind else (200,))
                if not is_kind and kinds and answer.content_type:
                    message = f"{shown_address(str(answer.url))} is {_plain(answer.content_type)}, not {kinds[0]}."
                    raise SourceError(message, "Check the address.", reason="wrong-type")
                _require_announced(answer, answer.announced, max_bytes, _ASK_LESS)
                body = bytearray()
                for chunk in answer.chunks:
                    body += chunk
                    _require_size(answer, len(body), max_bytes, _ASK_LESS)
                return Fetched(str(answer.url), bytes(body), answer.content_type, answer.status)

        with self._one_at_a_time:
            return self._patiently(attempt)

    def pdf(self, url: str, folder: Path, *, on_progress: Callable[[int, int | None], None]) -> Downloaded:
        """A PDF, as a complete file in `folder`; resumes what an earlier run left there of it.

        `on_progress` receives the bytes so far and the size of the file, where that is known. Whatever happens, Ctrl-C
        too, only complete files that are returned and parts that can be resumed stay in the folder.
        """
        self._unlock(part_path(folder, url))
        with self._one_at_a_time, opened_part(folder, url) as part:

            def attempt(deadline: Deadline) -> Downloaded:
                was_resumed = part.is_resumable
                try:
                    return self._transferred(url, part, deadline, on_progress)
                except SourceError as error:
                    if error.reason in _SPOILED or error.reason in _FINAL:
                        part.clear()
                    if was_resumed and error.reason in _SPOILED:
                        # Two halves that do not belong together, whatever the headers are.
                        raise Again(error) from error
                    raise

            return self._patiently(attempt)

    def _patiently(self, attempt: Callable[[Deadline], _T]) -> _T:
        """The result of an attempt, repeated after a pause where that may help. Raises SourceError."""
        deadline = Deadline(self._clock.monotonic, self._rules.total_s)
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
                if self._on_wait is not None:
                    self._on_wait(problem.message, seconds)
                self._clock.sleep(seconds)
                deadline.extend(seconds)
        raise AssertionError("the last attempt returns or raises")

    def _when(self, seconds: float) -> str:
        if seconds > 7 * 24 * 3600:
            return "in more than a week"
        then = time.localtime(self._clock.now() + seconds)
        return f"in {seconds / 60:.0f} minutes, at {time.strftime('%Y-%m-%d %H:%M', then)}"

    def _transferred(
        self, url: str, part: Part, deadline: Deadline, on_progress: Callable[[int, int | None], None]
    ) -> Downloaded:
        """One attempt to download the file, or its rest. Raises SourceError and Again."""
        asked = part.asks_for_rest
        headers = {"Accept": "application/pdf, */*;q=0.5", **asked}
        with self._asker.answer(url, headers, deadline) as answer:
            is_restarted = bool(asked) and (
                answer.status == 416 or (answer.status == 206 and not part.continues(answer.headers))
            )
            if not is_restarted:
                require_success(answer, expected=(200, 206) if asked else (200,))
                self._received(answer, part, on_progress)
        if is_restarted:
            # It is another file by now, or the server's ranges are wrong: all of it is requested.
            part.clear()
            return self._transferred(url, part, deadline, on_progress)
        _require_whole_pdf(answer, part)
        if why := self._unreadable(part.path):
            message = f"The PDF at {shown_address(str(answer.url))} {why}."
            raise SourceError(message, _BY_HAND, reason="unreadable")
        size, md5 = part.size, part.md5()
        self._locks[part.path] = part.complete()
        name = suggested_name(answer.headers.get("content-disposition", ""), answer.url)
        return Downloaded(str(answer.url), part.path, size, md5, name)

    def _received(self, answer: Answer, part: Part, on_progress: Callable[[int, int | None], None]) -> None:
        """Append the body of a response to the part. Raises SourceError and Again."""
        if answer.status == 200:
            part.begin(answer.headers, answer.announced)
        _require_announced(answer, part.total, self._rules.max_bytes, _RAISE_LIMIT)
        on_progress(part.size, part.total)
        is_checked = False
        for chunk in answer.chunks:
            _require_size(answer, part.size + len(chunk), self._rules.max_bytes, _RAISE_LIMIT)
            part.append(chunk)
            if part.total is not None and part.size > part.total:
                message = f"{shown_address(str(answer.url))} gave more than the {_size(part.total)} that it announced."
                raise SourceError(message, _BY_HAND, reason="wrong-length")
            if not is_checked:
                is_checked = _is_pdf_so_far(answer, part)
            on_progress(part.size, part.total)
        if part.total is not None and part.size < part.total:
            raise Again(SourceError(f"{shown_address(str(answer.url))} ended too early.", _RESUMES))

    def _unlock(self, path: Path) -> None:
        if (handle := self._locks.pop(path, None)) is not None:
            os.close(handle)


def _require_announced(answer: Answer, announced: int | None, max_bytes: int, fix: str) -> None:
    if announced is not None and announced > max_bytes:
        message = f"{shown_address(str(answer.url))} has {_size(announced)}, above the limit of {_size(max_bytes)}."
        raise SourceError(message, fix, reason="too-large")


def _require_size(answer: Answer, size: int, max_bytes: int, fix: str) -> None:
    if size > max_bytes:
        message = f"{shown_address(str(answer.url))} does not end: more than the limit of {_size(max_bytes)} came."
        raise SourceError(message, fix, reason="too-large")


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count:,} bytes"


def _is_pdf_so_far(answer: Answer, part: Part) -> bool:
    """Whether the part starts as a PDF; False while it is too short. Raises SourceError if it is not a PDF."""
    head = part.begins_with(_HEADER_WITHIN_BYTES)
    if b"%PDF-" in head:
        return True
    if len(head) == _HEADER_WITHIN_BYTES or _WEB_PAGE.match(head):
        raise _not_a_pdf(answer, head)
    return False


def _require_whole_pdf(answer: Answer, part: Part) -> None:
    """Raise SourceError unless the part has a PDF's beginning and end."""
    if not _is_pdf_so_far(answer, part):
        raise _not_a_pdf(answer, part.begins_with(_HEADER_WITHIN_BYTES))
    if b"%%EOF" not in part.ends_with(_TRAILER_WITHIN_BYTES):
        message = (
            f"The PDF at {shown_address(str(answer.url))} is cut off: it has {_size(part.size)} and no end (%%EOF)."
        )
        raise SourceError(message, _BY_HAND, reason="truncated")


def _not_a_pdf(answer: Answer, head: bytes) -> SourceError:
    message = f"{shown_address(str(answer.url))} is not a PDF: it is {_seems(head, answer.headers)}."
    return SourceError(message, _BY_HAND, reason="not-a-pdf")


def _seems(head: bytes, headers: Mapping[str, str]) -> str:
    """What a file seems to be by its first bytes, in a few words."""
    if not head:
        return "empty"
    if _WEB_PAGE.match(head):
        found = _TITLE.search(head)
        title = " ".join(found[1].decode("utf-8", "replace").split()) if found else ""
        return f'a web page ("{_plain(title)}")' if title else "a web page"
    for start, what in (
        (b"<?xml", "XML"),
        (b"{", "JSON"),
        (b"PK\x03\x04", "a ZIP or office file"),
        (b"%!PS", "PostScript"),
    ):
        if head.lstrip().startswith(start):
            return what
    if head.startswith(b"\x1f\x8b"):
        return "compressed (gzip)"
    kind = _plain(headers.get("content-type", "")) or "no particular type"
    return f"sent as {kind}, without a PDF's beginning"


def _plain(text: str) -> str:
    """A server's text, fit for one line of a message."""
    return "".join(character for character in text if character.isprintable())[:80]
