"""PDFs are downloaded into a folder of parts, which only complete and readable ones leave."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import unquote

import httpx

from ragscience.core.errors import FileProblem, SourceError, shown_address
from ragscience.core.records import Metadata
from ragscience.reading.author_names import last_name
from ragscience.reading.reader_process import ReaderProcess
from ragscience.reading.text_cleaning import plain_letters
from ragscience.sources.http_client import BY_HAND, Deadline, HttpClient, Response, in_units, plain

_TITLE_CHARS = 60
_AUTHOR_CHARS = 30
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
"""Device names of Windows, with any ending: https://learn.microsoft.com/windows/win32/fileio/naming-a-file"""


def file_name(metadata: Metadata, otherwise: str) -> str:
    """First author's family name, year and short title, in ASCII; without author and title, the words of `otherwise`.

    Always a plain file name of at most 110 characters that ends in ".pdf", without a folder, a blank, a leading dot
    or a name that Windows reserves; "paper.pdf" where nothing of all that can be written in ASCII.
    """
    author = _slug(last_name(metadata.authors[0]), _AUTHOR_CHARS) if metadata.authors else ""
    title = _slug(metadata.title, _TITLE_CHARS)
    if author or title:
        name = "-".join(filter(None, (author, str(metadata.year or ""), title)))
    else:
        name = _slug(re.sub(r"(?i)(?<!\.pdf)(?:\.pdf)++$", "", otherwise), _TITLE_CHARS) or "paper"
    return f"{name}-paper.pdf" if _RESERVED.fullmatch(name) else f"{name}.pdf"


def suggested_name(url: httpx.URL) -> str:
    """The last part of the URL's path, as it is sent."""
    return re.split(r"[/\\]", unquote(url.raw_path.decode("ascii", "replace").partition("?")[0]))[-1]


def numbered(name: str) -> Iterator[str]:
    """`name`, then `name` with -2, -3, … before its ending, without end."""
    yield name
    yield from (f"{name.removesuffix('.pdf')}-{number}.pdf" for number in count(2))


def _slug(text: str, longest: int) -> str:
    """Lower-case ASCII letters and digits with a hyphen for all else, at most `longest` chars, cut between words."""
    joined = ""
    for word in re.findall(r"[a-z0-9]+", re.sub(r"['’]", "", plain_letters(text))):
        longer = f"{joined}-{word}" if joined else word[:longest]
        if len(longer) > longest:
            break
        joined = longer
    return joined


_HEADER_WITHIN_BYTES = 1024
"""Where `%PDF-` may begin (PDF 1.7 reference, appendix H, note 13)."""
_TRAILER_WITHIN_BYTES = 4096
"""Where `%%EOF` must be, from the end; readers require 1024, and some servers add a few lines."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_OPEN_IT = "Open the address in a browser; if it shows a PDF there, save that into the papers folder."
_CHECK_SECONDS, _CHECK_BYTES = 60.0, 4 << 30
"""What opening a downloaded file may take."""
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
    """The address's name for it, as it is sent: not safe as a file name."""


def why_unreadable(path: Path) -> str:
    """What is wrong with a PDF, as the end of a sentence; empty where it opens and has a page.

    It is opened in a process of its own, which it may crash.
    """
    reader = ReaderProcess(_CHECK_SECONDS, _CHECK_BYTES)
    try:
        pages = reader.count(path)
    finally:
        reader.close()
    return f"cannot be opened ({pages.reason})" if isinstance(pages, FileProblem) else ""


@contextmanager
def downloaded_pdf(
    client: HttpClient,
    url: str,
    folder: Path,
    on_progress: OnBytes,
    unreadable: Callable[[Path], str] = why_unreadable,
) -> Iterator[DownloadedPdf]:
    """A PDF, as a complete file in `folder`, which is gone after the `with` unless somebody has moved it.

    `unreadable` gives what is wrong with a downloaded PDF, empty for nothing. Raises SourceError, also for disk errors.
    """
    path = folder / f"{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.part"
    try:
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            got = client.patiently(partial(_attempt, client, url, path, on_progress))
        if why := unreadable(path):
            raise SourceError(f"The PDF at {shown_address(got.url)} {why}.", BY_HAND, reason="unreadable")
        yield got
    finally:
        with disk_errors(folder):
            path.unlink(missing_ok=True)


def _attempt(client: HttpClient, url: str, path: Path, on_progress: OnBytes, deadline: Deadline) -> DownloadedPdf:
    """One attempt to download the file, and a look at its beginning and end. Raises SourceError and Again."""
    path.unlink(missing_ok=True)  # what a killed run has left may be linked into papers/ and must not change there
    digest, size, head, tail = hashlib.md5(usedforsecurity=False), 0, b"", b""
    with client.answer(url, {"Accept": "application/pdf, */*;q=0.5"}, deadline) as answer, path.open("xb") as file:
        answer.require(200)
        answer.require_size(answer.announced, client.rules.max_bytes, announced=True)
        on_progress(0, answer.announced)
        for chunk in answer.chunks:
            size += len(chunk)
            answer.require_size(size, client.rules.max_bytes)
            file.write(chunk)
            digest.update(chunk)
            head = (head + chunk)[:_HEADER_WITHIN_BYTES] if len(head) < _HEADER_WITHIN_BYTES else head
            tail = (tail + chunk)[-_TRAILER_WITHIN_BYTES:]
            if b"%PDF-" not in head and len(head) == _HEADER_WITHIN_BYTES:
                raise _not_a_pdf(answer)
            on_progress(size, answer.announced)
        if b"%PDF-" not in head:
            raise _not_a_pdf(answer)
        if b"%%EOF" not in tail:
            message = f"The PDF at {answer.where} is cut off: it has {in_units(size)} and no end (%%EOF)."
            raise SourceError(message, _OPEN_IT, reason="truncated")
        file.flush()
        os.fsync(file.fileno())
    return DownloadedPdf(str(answer.url), path, size, digest.hexdigest(), suggested_name(answer.url))


def _not_a_pdf(answer: Response) -> SourceError:
    kind = plain(answer.headers.get("content-type", "")) or "no particular type"
    message = f"{answer.where} is not a PDF: it came as {kind}, without a PDF's beginning."
    return SourceError(message, _OPEN_IT, reason="not-a-pdf")


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn OSErrors of writing a file, or into a folder, into SourceErrors."""
    try:
        yield
    except OSError as error:
        what = "The disk is full: " if error.errno in _FULL else ""
        message = f"{what}{path} could not be written ({error.strerror or error})."
        fix = "Make room, look at its permissions, or name another folder with --home; then run the same command again."
        raise SourceError(message, fix, reason="disk") from error
