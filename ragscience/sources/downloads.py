"""PDFs are downloaded into a folder of parts, which only complete and readable ones leave.

    <hash of the URL>.part    the bytes so far
    <hash of the URL>.json    {"url", "validator", "total"}: an ETag or a date, and the size of the whole file

Only a part with a validator can be resumed, so no other stays. After a killed run a part may be longer than its `.json`
says, never shorter or of another file: the part is emptied before a new `.json` is written. One run at a time: whoever
fetches has the library open for writing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ragscience.core.errors import FileProblem, SourceError
from ragscience.reading.reader_process import ReaderProcess
from ragscience.sources.file_names import suggested_name
from ragscience.sources.http_client import BY_HAND, Again, Deadline, HttpClient, Response, in_units, plain

__all__ = ["DownloadedPdf", "downloaded_pdf", "md5_of", "why_unreadable"]

_HEADER_WITHIN_BYTES = 1024
"""Where `%PDF-` may begin (PDF 1.7 reference, appendix H, note 13)."""
_TRAILER_WITHIN_BYTES = 4096
"""Where `%%EOF` must be, from the end; readers require 1024, and some servers add a few lines."""
_WEB_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|script)\b",
    re.IGNORECASE | re.DOTALL,
)
_TITLE = re.compile(rb"<title[^<>]*+>([^<]{1,200})", re.IGNORECASE)
_OTHERS = (
    (b"<?xml", "XML"),
    (b"{", "JSON"),
    (b"PK\x03\x04", "a ZIP or office file"),
    (b"%!PS", "PostScript"),
    (b"\x1f\x8b", "compressed (gzip)"),
)
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")
_SPOILED = frozenset({"not-a-pdf", "truncated", "unreadable", "wrong-length"})
"""Errors after which the downloaded bytes are useless."""
_FINAL = frozenset({"gone", "too-large"})
"""Errors after which the rest is not requested."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_OPEN_IT = "Open the address in a browser; if it shows a PDF there, save that into the papers folder."
_CHECK_SECONDS, _CHECK_BYTES = 60.0, 4 << 30
"""What opening a downloaded file may take."""
_WORDS = {
    "no-pages": "has no pages",
    "encrypted": "is encrypted and needs a password",
    "not-a-pdf": "is not a PDF inside",
    "timeout": f"takes longer than {_CHECK_SECONDS:.0f} s to open",
    "crashed": "makes the PDF reader crash",
}

OnBytes = Callable[[int, int | None], None]
"""Receives the bytes so far and the size of the file, where that is known."""


@dataclass(frozen=True)
class DownloadedPdf:
    """A complete PDF that opens and has a page."""

    url: str
    """After all redirects."""
    path: Path
    """To be moved away before the `with` ends, which removes it."""
    size: int
    md5: str
    """Of its bytes, in hexadecimal: the library's key of a paper."""
    name: str
    """The server's name for it, as it is sent: not safe as a file name."""


def why_unreadable(path: Path) -> str:
    """What is wrong with a PDF, as the end of a sentence ("is damaged"); empty where it opens and has a page.

    It is opened in a process of its own, which it may crash.
    """
    reader = ReaderProcess(_CHECK_SECONDS, _CHECK_BYTES)
    try:
        pages = reader.count(path)
    finally:
        reader.close()
    if isinstance(pages, FileProblem):
        return _WORDS.get(pages.reason, "is damaged")
    return "" if pages else "has no pages"


@contextmanager
def downloaded_pdf(
    client: HttpClient,
    url: str,
    folder: Path,
    on_progress: OnBytes,
    unreadable: Callable[[Path], str] = why_unreadable,
) -> Iterator[DownloadedPdf]:
    """A PDF, as a complete file in `folder`; resumes what an earlier run left there of it.

    `unreadable` gives what is wrong with a downloaded PDF, empty for nothing. Whatever happens, Ctrl-C too, only parts
    that can be resumed stay in the folder. Raises SourceError, also for disk errors.
    """
    path = folder / f"{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.part"
    with _disk_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        with _opened(path) as file:
            part = Partial(path, url, file)
            try:
                got = client.patiently(partial(_attempt, client, url, part, on_progress, unreadable))
            finally:
                part.leave()
    try:
        yield got
    finally:
        path.unlink(missing_ok=True)


def _attempt(
    client: HttpClient,
    url: str,
    part: Partial,
    on_progress: OnBytes,
    unreadable: Callable[[Path], str],
    deadline: Deadline,
) -> DownloadedPdf:
    """One attempt to download the file, or its rest. Raises SourceError and Again."""
    was_resumed = part.is_resumable
    try:
        answer = _transferred(client, url, part, on_progress, deadline)
        if why := unreadable(part.path):
            raise SourceError(f"The PDF at {answer.where} {why}.", BY_HAND, reason="unreadable")
    except SourceError as error:
        if error.reason in _SPOILED or error.reason in _FINAL:
            part.clear()
        if was_resumed and error.reason in _SPOILED:
            # Two halves that do not belong together, whatever the headers are.
            raise Again(error) from error
        raise
    part.complete()
    name = suggested_name(answer.headers.get("content-disposition", ""), answer.url)
    return DownloadedPdf(str(answer.url), part.path, part.size, md5_of(part.path), name)


def _transferred(client: HttpClient, url: str, part: Partial, on_progress: OnBytes, deadline: Deadline) -> Response:
    """The head of the answer of which the part has the whole body. Raises SourceError and Again."""
    asked = part.asks_for_rest
    with client.answer(url, {"Accept": "application/pdf, */*;q=0.5", **asked}, deadline) as answer:
        is_other = bool(asked) and (
            answer.status == 416 or (answer.status == 206 and not part.continues(answer.headers))
        )
        if not is_other:
            answer.require(200, *(206,) * bool(asked))
            _received(answer, part, client.rules.max_bytes, on_progress)
    if is_other:
        # It is another file by now, or the server's ranges are wrong: all of it is requested.
        part.clear()
        return _transferred(client, url, part, on_progress, deadline)
    return answer


def _received(answer: Response, part: Partial, max_bytes: int, on_progress: OnBytes) -> None:
    """Append the body of a response to the part, and look at its beginning and end. Raises SourceError and Again."""
    if answer.status == 200:
        part.begin(answer.headers, answer.announced)
    answer.require_size(part.total, max_bytes, announced=True)
    on_progress(part.size, part.total)
    is_pdf = False
    for chunk in answer.chunks:
        answer.require_size(part.size + len(chunk), max_bytes)
        part.append(chunk)
        if part.total is not None and part.size > part.total:
            message = f"{answer.where} gave more than the {in_units(part.total)} that it announced."
            raise SourceError(message, _OPEN_IT, reason="wrong-length")
        is_pdf = is_pdf or _is_pdf_so_far(answer, part)
        on_progress(part.size, part.total)
    if part.total is not None and part.size < part.total:
        fix = "Run the same command again: the download resumes."
        raise Again(SourceError(f"{answer.where} ended too early.", fix))
    if not _is_pdf_so_far(answer, part):
        raise _not_a_pdf(answer, part.read(0, _HEADER_WITHIN_BYTES))
    if b"%%EOF" not in part.read(max(0, part.size - _TRAILER_WITHIN_BYTES), _TRAILER_WITHIN_BYTES):
        message = f"The PDF at {answer.where} is cut off: it has {in_units(part.size)} and no end (%%EOF)."
        raise SourceError(message, _OPEN_IT, reason="truncated")


def _is_pdf_so_far(answer: Response, part: Partial) -> bool:
    """Whether the part starts as a PDF; False while it is too short. Raises SourceError if it is not a PDF."""
    head = part.read(0, _HEADER_WITHIN_BYTES)
    if b"%PDF-" in head:
        return True
    if len(head) == _HEADER_WITHIN_BYTES or _WEB_PAGE.match(head):
        raise _not_a_pdf(answer, head)
    return False


def _not_a_pdf(answer: Response, head: bytes) -> SourceError:
    """The error, with what the file seems to be by its first bytes."""
    kind = plain(answer.headers.get("content-type", "")) or "no particular type"
    seems = next((what for start, what in _OTHERS if head.lstrip().startswith(start)), "")
    if not head:
        seems = "empty"
    elif _WEB_PAGE.match(head):
        found = _TITLE.search(head)
        title = " ".join(found[1].decode("utf-8", "replace").split()) if found else ""
        seems = f'a web page ("{plain(title)}")' if title else "a web page"
    what = seems or f"sent as {kind}, without a PDF's beginning"
    return SourceError(f"{answer.where} is not a PDF: it is {what}.", _OPEN_IT, reason="not-a-pdf")


class Partial:
    """A file that is being downloaded."""

    def __init__(self, path: Path, url: str, file: BinaryIO) -> None:
        self.path = path
        self.total: int | None = None
        """Bytes of the whole file, where that is known."""
        self._sidecar = path.with_suffix(".json")
        self._fresh = path.with_suffix(".new")
        self._url = url
        self._file = file
        self._validator = ""
        self._is_complete = False
        try:
            known = json.loads(self._sidecar.read_text(encoding="utf-8"))
            validator, total = known["validator"], known["total"]
            fits = known["url"] == url and isinstance(validator, str) and bool(validator)
            fits = fits and validator.isascii() and validator.isprintable()
            fits = fits and (total is None or (isinstance(total, int) and self.size <= total))
        except (OSError, ValueError, KeyError, TypeError):
            fits = False
        if fits:
            self._validator, self.total = validator, total
        else:
            self.clear()

    @property
    def size(self) -> int:
        """Bytes so far."""
        return os.fstat(self._file.fileno()).st_size

    @property
    def is_resumable(self) -> bool:
        """Whether there are bytes, and a validator for the rest."""
        return bool(self._validator) and self.size > 0

    @property
    def asks_for_rest(self) -> dict[str, str]:
        """The headers that request the rest of this very file (RFC 9110, section 13.1.5); empty for all of it."""
        return {"Range": f"bytes={self.size}-", "If-Range": self._validator} if self.is_resumable else {}

    def continues(self, headers: Mapping[str, str]) -> bool:
        """Whether a response of status 206 is the rest of this file; takes the total from it."""
        found = _RANGE.fullmatch(headers.get("content-range", "").strip())
        if found is None or int(found[1]) != self.size or int(found[2]) < int(found[1]):
            return False
        total = None if found[3] == "*" else int(found[3])
        tag = headers.get("etag", "")
        is_other_total = None not in (total, self.total) and total != self.total
        if is_other_total or (tag and self._validator.startswith('"') and tag != self._validator):
            return False
        self.total = self.total if total is None else total
        return True

    def begin(self, headers: Mapping[str, str], total: int | None) -> None:
        """Start over with the file of these response headers."""
        self.clear()
        # A weak ETag does not mean the same bytes.
        tag = headers.get("etag", "")
        self._validator = tag if tag.startswith('"') else headers.get("last-modified", "")
        self.total = total
        if self._validator:
            content = {"url": self._url, "validator": self._validator, "total": total}
            self._fresh.write_text(json.dumps(content), encoding="utf-8")
            self._fresh.replace(self._sidecar)

    def append(self, chunk: bytes) -> None:
        """Write the next bytes."""
        view = memoryview(chunk)
        while view:
            view = view[self._file.write(view) :]

    def clear(self) -> None:
        """Empty the part."""
        self._sidecar.unlink(missing_ok=True)
        self._file.truncate(0)
        self._validator, self.total = "", None

    def read(self, start: int, count: int) -> bytes:
        """At most `count` bytes from `start` on."""
        return os.pread(self._file.fileno(), count, start)

    def complete(self) -> None:
        """Sync the file: it is whole."""
        os.fsync(self._file.fileno())
        self._sidecar.unlink(missing_ok=True)
        self._is_complete = True

    def leave(self) -> None:
        """Remove a part that cannot be resumed."""
        self._fresh.unlink(missing_ok=True)
        if not (self._is_complete or self.is_resumable):
            self._sidecar.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)


def _opened(path: Path) -> BinaryIO:
    """The part as it is, or a new one; what a killed run has just linked into papers/ must not change there."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        if os.fstat(handle).st_nlink == 1:
            return os.fdopen(handle, "r+b", buffering=0)
        os.close(handle)
        path.unlink()


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Turn OSErrors of writing a part into SourceErrors."""
    try:
        yield
    except OSError as error:
        cause = error.strerror or str(error)
        message = f"{path.parent} cannot be written: {cause}."
        fix = "Look at its permissions, or name another folder with --home."
        if error.errno in _FULL:
            message = f"The disk is full: {path.parent} takes no more ({cause})."
            fix = "Free disk space and run the same command again."
        raise SourceError(message, fix, reason="disk") from error


def md5_of(path: Path) -> str:
    """Of the file's bytes, in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
