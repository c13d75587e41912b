"""One paper from the network to papers/, unless it is there already.

A file enters papers/ in a single step, when it is fully downloaded and its metadata is stored. A run that is killed at
any moment leaves a download that can be resumed, or a good paper, which the next ingest reads.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragscience.core.records import Metadata, Paper
from ragscience.core.system import sync
from ragscience.sources.arxiv import Candidate
from ragscience.sources.downloads import DownloadedPdf, OnBytes, disk_errors, downloaded_pdf, file_name, numbered
from ragscience.sources.fetch_arguments import ArxivId, arxiv_id
from ragscience.sources.http_client import HttpClient

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
    for free in numbered(name):
        path = papers / free
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
