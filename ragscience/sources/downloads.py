"""What is fetched: small answers into memory, PDFs into a folder of parts, from which only good ones are handed on."""

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

from ragscience.errors import SourceError
from ragscience.sources.allowed_addresses import Resolver, shown, system_resolver
from ragscience.sources.http_client import Again, Answer, Asker, require_success
from ragscience.sources.partial_files import Part, opened_part, part_path
from ragscience.sources.pdf_check import why_unreadable
from ragscience.sources.rate_limits import BACKOFF_S, LONGEST_WAIT_S, Deadline, NetworkRules, Pace
from ragscience.sources.suggested_names import suggested_name

__all__ = ["Downloaded", "Fetched", "Fetcher", "NetworkRules"]

_T = TypeVar("_T")
_HEADER_WITHIN_BYTES = 1024
"""Where `%PDF-` may begin (PDF 1.7 reference, appendix H, note 13)."""
_TRAILER_WITHIN_BYTES = 4096
"""Where `%%EOF` must be, from the end; readers ask for 1024, and some servers add a few lines of their own."""
_WEB_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|script)\b",
    re.IGNORECASE | re.DOTALL,
)
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,200})", re.IGNORECASE)
_SPOILED = frozenset({"not-a-pdf", "truncated", "unreadable", "wrong-length"})
"""Reasons for which what has come is worth nothing."""
_NOT_TO_BE_HAD = frozenset({"gone", "too-large"})
"""Reasons for which nobody will ask for the rest."""
_BY_HAND = "Open the address in a browser; if it shows a PDF there, save that into the papers folder."
_RAISE_LIMIT = "Raise RAG_SOURCES_MAX_MB if you want it."
_ASK_LESS = "Ask for less at once."
_RESUMES = "Run the same command again: what has come is kept, and the rest is asked for."


@dataclass(frozen=True)
class Fetched:
    """A small answer."""

    url: str
    """Behind all redirects."""
    body: bytes
    content_type: str
    """In lower case, without parameters: "application/atom+xml"."""
    status: int = 200
    """200, or 400: arXiv's API says in a feed what was wrong with a question."""


@dataclass(frozen=True)
class Downloaded:
    """A complete PDF that opens and has a page."""

    url: str
    """Behind all redirects."""
    path: Path
    """Where it is; to be moved away before the fetcher is closed, or it is fetched anew the next time."""
    size: int
    md5: str
    """Of its bytes, in hexadecimal, as a library's key of a paper."""
    name: str
    """What its server calls it, safe on every system, with ".pdf" at its end."""


class Fetcher:
    """One run's way to the network; a context manager.

    One request at a time. The addresses that a name has are checked before a connection, which then goes to one of
    them, at each redirect anew. What may pass (429, 503, a connection that fails or is cut) is tried three times more,
    after 5, 10 and 15 seconds or as many as the server asks for; `on_wait` is told why and how long.
    Proxies from the environment are not used.

    All that goes wrong is a SourceError. `clock` gives seconds that only grow, `now` seconds since 1970; `resolve`
    gives the addresses of a name; `tls` says which certificates are trusted (None: those that the package certifi has);
    `unreadable` says what is wrong with a PDF that has come, empty for nothing.
    """

    def __init__(
        self,
        rules: NetworkRules,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
        resolve: Resolver = system_resolver,
        tls: ssl.SSLContext | None = None,
        on_wait: Callable[[str, float], None] | None = None,
        unreadable: Callable[[Path], str] = why_unreadable,
    ) -> None:
        self._rules = rules
        self._clock = clock
        self._sleep = sleep
        self._now = now
        self._on_wait = on_wait
        self._unreadable = unreadable
        self._asker = Asker(rules, Pace(rules.pause_s, clock, sleep), resolve, tls, now)
        self._one_at_a_time = threading.Lock()
        self._locks: dict[Path, int] = {}
        """Handles that keep other runs from complete files that have not been moved away yet."""

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path in list(self._locks):
            self._unlock(path)

    def get(self, url: str, *, kinds: tuple[str, ...], max_bytes: int) -> Fetched:
        """A small answer, whole, of one of the content types `kinds` (any, where that is empty).

        An answer without a content type is taken, and one of status 400 where its type is one of `kinds`.
        """

        def attempt(deadline: Deadline) -> Fetched:
            with self._asker.answer(url, {"Accept": ", ".join(kinds) or "*/*"}, deadline) as answer:
                is_kind = answer.content_type in kinds
                require_success(answer, expected=(200, 400) if is_kind else (200,))
                if not is_kind and kinds and answer.content_type:
                    message = f"{shown(str(answer.url))} is {_plain(answer.content_type)}, not {kinds[0]}."
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
        """A PDF, as a complete file in `folder`; what an earlier run left there of it is gone on with.

        `on_progress` is told how many bytes have come and how many the file has, where that is known. Whatever happens,
        Ctrl-C too, no file stays in the folder but complete ones that were handed out and parts that can be resumed.
        """
        self._unlock(part_path(folder, url))
        with self._one_at_a_time, opened_part(folder, url) as part:

            def attempt(deadline: Deadline) -> Downloaded:
                was_resumed = part.is_resumable
                try:
                    return self._transferred(url, part, deadline, on_progress)
                except SourceError as error:
                    if error.reason in _SPOILED or error.reason in _NOT_TO_BE_HAD:
                        part.clear()
                    if was_resumed and error.reason in _SPOILED:
                        # Two halves that do not belong together, whatever the server said of them.
                        raise Again(error) from error
                    raise

            return self._patiently(attempt)

    def _patiently(self, attempt: Callable[[Deadline], _T]) -> _T:
        """What an attempt gives, tried again after a while where it may go well then. Raises SourceError."""
        deadline = Deadline(self._clock, self._rules.total_s)
        for pause in (*BACKOFF_S, None):
            try:
                return attempt(deadline)
            except Again as again:
                problem = again.problem
                if again.after_s > LONGEST_WAIT_S:
                    problem.message = f"{problem.message.rstrip('.')}, and asks to be left alone."
                    problem.fix = f"Come back {self._when(again.after_s)}."
                    raise problem from again
                if pause is None:
                    problem.message = f"{problem.message} It was tried {len(BACKOFF_S) + 1} times."
                    raise problem from again
                seconds = max(pause, again.after_s)
                if self._on_wait is not None:
                    self._on_wait(problem.message, seconds)
                self._sleep(seconds)
                deadline.extend(seconds)
        raise AssertionError("the last attempt returns or raises")

    def _when(self, seconds: float) -> str:
        if seconds > 7 * 24 * 3600:
            return "in more than a week"
        then = time.localtime(self._now() + seconds)
        return f"in {seconds / 60:.0f} minutes, at {time.strftime('%Y-%m-%d %H:%M', then)}"

    def _transferred(
        self, url: str, part: Part, deadline: Deadline, on_progress: Callable[[int, int | None], None]
    ) -> Downloaded:
        """One attempt to bring the file, or its rest. Raises SourceError and Again."""
        asked = part.asks_for_rest
        headers = {"Accept": "application/pdf, */*;q=0.5", **asked}
        with self._asker.answer(url, headers, deadline) as answer:
            if asked and (answer.status == 416 or (answer.status == 206 and not part.continues(answer.headers))):
                is_restarted = True
            else:
                is_restarted = False
                require_success(answer, expected=(200, 206) if asked else (200,))
                self._received(answer, part, on_progress)
        if is_restarted:
            # It is another file by now, or the server cannot count: all of it is asked for, and no range any more.
            part.clear()
            return self._transferred(url, part, deadline, on_progress)
        _require_whole_pdf(answer, part)
        if why := self._unreadable(part.path):
            message = f"The PDF at {shown(str(answer.url))} {why}."
            raise SourceError(message, _BY_HAND, reason="unreadable")
        size, md5 = part.size, part.md5()
        self._locks[part.path] = part.complete()
        name = suggested_name(answer.headers.get("content-disposition", ""), answer.url)
        return Downloaded(str(answer.url), part.path, size, md5, name)

    def _received(self, answer: Answer, part: Part, on_progress: Callable[[int, int | None], None]) -> None:
        """Write the body of an answer behind what is there. Raises SourceError and Again."""
        if answer.status == 200:
            part.begin(answer.headers, answer.announced)
        _require_announced(answer, part.total, self._rules.max_bytes, _RAISE_LIMIT)
        on_progress(part.size, part.total)
        is_checked = False
        for chunk in answer.chunks:
            _require_size(answer, part.size + len(chunk), self._rules.max_bytes, _RAISE_LIMIT)
            part.append(chunk)
            if part.total is not None and part.size > part.total:
                message = f"{shown(str(answer.url))} gave more than the {_size(part.total)} that it announced."
                raise SourceError(message, _BY_HAND, reason="wrong-length")
            if not is_checked:
                is_checked = _is_pdf_so_far(answer, part)
            on_progress(part.size, part.total)
        if part.total is not None and part.size < part.total:
            raise Again(SourceError(f"{shown(str(answer.url))} ended before it was whole.", _RESUMES))

    def _unlock(self, path: Path) -> None:
        if (handle := self._locks.pop(path, None)) is not None:
            os.close(handle)


def _require_announced(answer: Answer, announced: int | None, max_bytes: int, fix: str) -> None:
    if announced is not None and announced > max_bytes:
        message = f"{shown(str(answer.url))} has {_size(announced)}, above the limit of {_size(max_bytes)}."
        raise SourceError(message, fix, reason="too-large")


def _require_size(answer: Answer, size: int, max_bytes: int, fix: str) -> None:
    if size > max_bytes:
        message = f"{shown(str(answer.url))} does not end: more than the limit of {_size(max_bytes)} came."
        raise SourceError(message, fix, reason="too-large")


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count:,} bytes"


def _is_pdf_so_far(answer: Answer, part: Part) -> bool:
    """Whether what has come begins as a PDF does; False while that is open. Raises SourceError where it does not."""
    head = part.begins_with(_HEADER_WITHIN_BYTES)
    if b"%PDF-" in head:
        return True
    if len(head) == _HEADER_WITHIN_BYTES or _WEB_PAGE.match(head):
        raise _not_a_pdf(answer, head)
    return False


def _require_whole_pdf(answer: Answer, part: Part) -> None:
    """Raise SourceError unless all that has come is one PDF, by its beginning and its end."""
    if not _is_pdf_so_far(answer, part):
        raise _not_a_pdf(answer, part.begins_with(_HEADER_WITHIN_BYTES))
    if b"%%EOF" not in part.ends_with(_TRAILER_WITHIN_BYTES):
        message = f"The PDF at {shown(str(answer.url))} is cut off: it has {_size(part.size)} and no end (%%EOF)."
        raise SourceError(message, _BY_HAND, reason="truncated")


def _not_a_pdf(answer: Answer, head: bytes) -> SourceError:
    message = f"{shown(str(answer.url))} is not a PDF: it is {_seems(head, answer.headers)}."
    return SourceError(message, _BY_HAND, reason="not-a-pdf")


def _seems(head: bytes, headers: Mapping[str, str]) -> str:
    """In a few words, what an answer seems to be by its first bytes."""
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
    kind = _plain(headers.get("content-type", "")) or "nothing in particular"
    return f"something without a PDF's beginning, sent as {kind}"


def _plain(text: str) -> str:
    """What a server says, so that it can stand in a line."""
    return "".join(character for character in text if character.isprintable())[:80]
