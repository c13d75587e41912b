"""One paper from the network to papers/, unless it is there already.

A PDF is downloaded into a folder of parts, which only complete and readable ones leave. It enters papers/ in a single
step, when it is fully downloaded and its metadata is stored: a run that is killed at any moment leaves a part, or a
good paper, which the next ingest reads.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import unquote

import httpx

from ragscience.core.errors import FileProblem, SourceError, shown_address
from ragscience.core.records import Metadata, Paper
from ragscience.core.system import sync
from ragscience.reading.author_names import last_name
from ragscience.reading.reader_process import ReaderProcess
from ragscience.reading.text_cleaning import plain_letters
from ragscience.sources.arxiv import ArxivId, Candidate, arxiv_id
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
    with closing(ReaderProcess(_CHECK_SECONDS, _CHECK_BYTES)) as reader:
        pages = reader.count(path)
    return f"cannot be opened ({pages.reason})" if isinstance(pages, FileProblem) else ""


@contextmanager
def downloaded_pdf(
    client: HttpClient, url: str, folder: Path, on_progress: OnBytes, unreadable: Callable[[Path], str] = why_unreadable
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
        answer.require_size(answer.announced, client.rules.max_bytes)
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


_SURE = 0.5
"""Least confidence for an identifier on a page to count as the paper's own."""


@dataclass
class Known:
    """Files of the library and of papers/, by everything that identifies a paper."""

    arxiv: dict[str, tuple[int | None, str]] = field(default_factory=dict)
    """Version and file by the id without it; None where the version is not known."""
    dois: dict[str, str] = field(default_factory=dict)
    """File by DOI in small letters."""
    urls: dict[str, str] = field(default_factory=dict)
    md5s: dict[str, str] = field(default_factory=dict)
    sourced: set[str] = field(default_factory=set)
    """MD5s of files whose origin is stored."""

    @classmethod
    def of(cls, papers: Iterable[Paper], loose: Mapping[str, Path], sources: Mapping[str, Metadata]) -> Known:
        """Of the library's papers, and of files by MD5 that it has not read yet (`loose`).

        `sources` is the stored metadata of fetched files by MD5; entries without a file do not count.
        """
        known = cls(sourced=set(sources))
        for paper in papers:
            known.add(paper.md5, paper.file, paper.metadata)
            known.add(paper.md5, paper.file, sources.get(paper.md5, Metadata()))
        for md5, path in loose.items():
            known.add(md5, str(path), sources.get(md5, Metadata()))
        return known

    def add(self, md5: str, file: str, metadata: Metadata) -> None:
        """Add a file."""
        self.md5s.setdefault(md5, file)
        sure = metadata.confidence.get
        found = arxiv_id(metadata.arxiv_id) if sure("arxiv_id", 1.0) >= _SURE else None
        if found and (found.base not in self.arxiv or _newer(found.version, self.arxiv[found.base][0])):
            self.arxiv[found.base] = (found.version, file)
        if metadata.doi and sure("doi", 1.0) >= _SURE:
            self.dois.setdefault(metadata.doi.lower(), file)
        if metadata.url:
            self.urls.setdefault(metadata.url, file)

    def file_of(self, candidate: Candidate) -> str:
        """The file that is this paper already: of the same or a newer version, DOI or address; "" for none."""
        wanted = candidate.arxiv
        if wanted and wanted.base in self.arxiv:
            return self.version_of(wanted)
        if candidate.metadata.doi and (file := self.dois.get(candidate.metadata.doi.lower())):
            return file
        return self.urls.get(candidate.url, "")

    def version_of(self, wanted: ArxivId) -> str:
        """The file that is this version or a newer one; a file of unknown version counts as any."""
        version, file = self.arxiv.get(wanted.base, (0, ""))
        return "" if version is not None and wanted.version is not None and version < wanted.version else file


def _newer(version: int | None, than: int | None) -> bool:
    return version is not None and (than is None or version > than)


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where fetched papers go."""

    papers: Path
    parts: Path
    """Unfinished downloads, on the same file system."""
    known: Known
    """Learns of each paper."""
    remember: Callable[[str, Metadata], None]
    """Stores the metadata of the file with this MD5, before the file is in `papers`."""


@dataclass(frozen=True, slots=True)
class Shelved:
    """A paper that is in papers/, now or with the same bytes before."""

    path: str
    md5: str
    size_bytes: int
    is_new: bool


def once(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Each paper once, in the order of its first mention and in the newest version mentioned."""
    found: dict[str, Candidate] = {}
    for one in candidates:
        before = found.get(one.key)
        if before is None or (one.arxiv and before.arxiv and _newer(one.arxiv.version, before.arxiv.version)):
            found[one.key] = one
    return list(found.values())


def fetch(candidate: Candidate, client: HttpClient, shelf: Shelf, on_progress: OnBytes) -> Shelved:
    """Download one paper and move it to the shelf. Raises SourceError where that fails; `papers` is then unchanged.

    `on_progress` receives the bytes so far and in all.
    """
    with downloaded_pdf(client, candidate.url, shelf.parts, on_progress) as downloaded:
        return _shelved(candidate, downloaded, shelf)


def _shelved(candidate: Candidate, downloaded: DownloadedPdf, shelf: Shelf) -> Shelved:
    known, md5 = shelf.known, downloaded.md5
    metadata = replace(candidate.metadata, url=candidate.url)
    if md5 not in known.sourced:
        shelf.remember(md5, metadata)
        known.sourced.add(md5)
    if md5 in known.md5s:
        return Shelved(known.md5s[md5], md5, downloaded.size, is_new=False)
    name = file_name(metadata, downloaded.name)
    with disk_errors(shelf.papers / name):
        path, is_new = _put_in_place(downloaded.path, shelf.papers, name, md5)
    known.add(md5, str(path), metadata)
    return Shelved(str(path), md5, downloaded.size, is_new)


def _put_in_place(part: Path, papers: Path, name: str, md5: str) -> tuple[Path, bool]:
    """The path in `papers`, and whether the file is new there; never replaces a file."""
    papers.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        path = papers / (name if number == 1 else f"{name.removesuffix('.pdf')}-{number}.pdf")
        if not os.path.lexists(path) and _is_moved(part, path):
            return path, True
        if path.is_file() and path.stat().st_size == part.stat().st_size and md5_of(path) == md5:
            return path, False
    raise AssertionError("there is always a further name")


def md5_of(path: Path) -> str:
    """Of the file's bytes, in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _is_moved(part: Path, path: Path) -> bool:
    """Whether the file has this name now; False if another file has taken it."""
    try:
        path.hardlink_to(part)  # unlike a rename it never replaces
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno != errno.EXDEV:  # a file system without links
            part.rename(path)
        else:  # papers/ is a link to another disk: a copy under a hidden name, which no ingest reads, is renamed
            copy = path.with_name(f".{path.name}.part")
            try:
                shutil.copyfile(part, copy)
                sync(copy)
                copy.rename(path)
            finally:
                copy.unlink(missing_ok=True)
    sync(path.parent)
    return True
