"""Papers come home: what is there already is told apart, the rest is downloaded and put into papers/.

A file gets its name in papers/ in a single step, when it is whole and what is known of it has been written down. A run
that is killed at any moment leaves a download to go on from, or a good paper, which the next ingest reads.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.errors import SourceError
from ragscience.records import Metadata, Paper
from ragscience.sources.arxiv import Candidate
from ragscience.sources.fetch_arguments import ArxivId, arxiv_id
from ragscience.sources.file_naming import file_name, numbered

if TYPE_CHECKING:
    from ragscience.sources.downloads import Fetcher

__all__ = ["Known", "Shelved", "fetch", "md5_of", "once"]

_SURE = 0.5
"""Confidence from which on an identifier that was read from a page is taken for the paper's own."""


@dataclass
class Known:
    """What is there already: files of the library or of papers/, by all that can tell a paper."""

    arxiv: dict[str, tuple[int | None, str]] = field(default_factory=dict)
    """Version and file by the id without it; None where the version is not known."""
    dois: dict[str, str] = field(default_factory=dict)
    """File by DOI in small letters."""
    urls: dict[str, str] = field(default_factory=dict)
    md5s: dict[str, str] = field(default_factory=dict)
    sourced: set[str] = field(default_factory=set)
    """MD5s of files of which it is written down where they come from."""

    @classmethod
    def of(cls, papers: Iterable[Paper], loose: Mapping[str, Path], sources: Mapping[str, Metadata]) -> Known:
        """From the library's papers, and files by MD5 that it has not read yet.

        `sources` is what was said, where they were fetched, of files by MD5: those that are nowhere do not count.
        """
        known = cls(sourced=set(sources))
        for paper in papers:
            known.add(paper.md5, paper.file, paper.metadata)
            known.add(paper.md5, paper.file, sources.get(paper.md5, Metadata()))
        for md5, path in loose.items():
            known.add(md5, str(path), sources.get(md5, Metadata()))
        return known

    def add(self, md5: str, file: str, metadata: Metadata) -> None:
        """Count a file in."""
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
        """The file that makes fetching needless: of the same or a newer version, DOI or address; "" where none does."""
        wanted = candidate.arxiv
        if wanted and wanted.base in self.arxiv:
            return self.version_of(wanted)
        if candidate.metadata.doi and (file := self.dois.get(candidate.metadata.doi.lower())):
            return file
        return self.urls.get(candidate.url, "")

    def version_of(self, wanted: ArxivId) -> str:
        """The file that is this version or a newer one; a file whose version is not known counts as any."""
        version, file = self.arxiv.get(wanted.base, (0, ""))
        return "" if version is not None and wanted.version is not None and version < wanted.version else file


def _newer(version: int | None, than: int | None) -> bool:
    return version is not None and (than is None or version > than)


@dataclass(frozen=True, slots=True)
class Shelved:
    """A paper that is in papers/ now, or was there before in the same bytes."""

    path: str
    md5: str
    size_bytes: int
    is_new: bool


def once(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Each paper once, in the order of its first mention and in the newest version of all mentions."""
    found: dict[str, Candidate] = {}
    for one in candidates:
        key = one.arxiv.base if one.arxiv else one.url
        before = found.get(key)
        if before is None or (one.arxiv and before.arxiv and _newer(one.arxiv.version, before.arxiv.version)):
            found[key] = one
    return list(found.values())


def fetch(
    candidate: Candidate,
    fetcher: Fetcher,
    *,
    parts: Path,
    papers: Path,
    known: Known,
    remember: Callable[[str, Metadata], None],
    on_progress: Callable[[int, int | None], None],
) -> Shelved:
    """Download one paper into the folder `parts` and move it to `papers`, on the same file system.

    `remember(MD5, metadata)` writes down what is known of the file, before it is in `papers`; `known` learns of it.
    Raises SourceError where it cannot be had or put there; then `papers` is as it was.
    """
    try:
        downloaded = fetcher.pdf(candidate.url, parts, on_progress=on_progress)
    except SourceError as error:
        if candidate.is_withdrawn:
            raise SourceError(
                f"{candidate.arxiv} was withdrawn by its authors, and there is no PDF of it.",
                "An earlier version may have one: name it, as in 2104.12345v1.",
                reason="withdrawn",
            ) from error
        raise
    metadata = replace(candidate.metadata, url=candidate.url)
    there = known.md5s.get(downloaded.md5)
    if downloaded.md5 not in known.sourced:
        remember(downloaded.md5, metadata)
        known.sourced.add(downloaded.md5)
    if there is not None:
        downloaded.path.unlink(missing_ok=True)
        return Shelved(there, downloaded.md5, downloaded.size, is_new=False)
    name = file_name(metadata, downloaded.name)
    try:
        path, is_new = _put_in_place(downloaded.path, papers, name, downloaded.md5)
    except OSError as error:
        reason = error.strerror or str(error)
        fix = "Make room, or give this user the right to write there."
        raise SourceError(f"{papers / name} could not be written: {reason}.", fix, reason="disk") from error
    known.add(downloaded.md5, str(path), metadata)
    return Shelved(str(path), downloaded.md5, downloaded.size, is_new)


def _put_in_place(part: Path, papers: Path, name: str, md5: str) -> tuple[Path, bool]:
    """The path in `papers`, and whether the file is new there; no file that is there is ever replaced."""
    papers.mkdir(parents=True, exist_ok=True)
    _sync(part)
    for free in numbered(name):
        path = papers / free
        if not os.path.lexists(path) and _moved(part, path):
            _sync(papers)
            return path, True
        if path.is_file() and path.stat().st_size == part.stat().st_size and md5_of(path) == md5:
            part.unlink()
            return path, False
    raise AssertionError("there is always a further name")


def _moved(part: Path, path: Path) -> bool:
    """Whether the file has this name now; False where another one took it meanwhile."""
    try:
        path.hardlink_to(part)  # unlike a rename it never replaces
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno != errno.EXDEV:  # a file system without links
            part.rename(path)
            return True
        _copied(part, path)  # papers/ is a link to another disk
    part.unlink()
    return True


def _copied(part: Path, path: Path) -> None:
    """A copy under a hidden name that no ingest reads, until it is whole."""
    copy = path.with_name(f".{path.name}.part")
    try:
        shutil.copyfile(part, copy)
        _sync(copy)
        copy.rename(path)
    finally:
        copy.unlink(missing_ok=True)


def md5_of(path: Path) -> str:
    """Of the file's bytes, in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
