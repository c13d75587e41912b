"""PDFs of a bucket on this machine's disk, as many as fit; the one that was not used for longest goes first."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ragscience.core.errors import FileProblem
from ragscience.library.atomic_files import disk_errors

__all__ = ["PaperCache"]

_PART = ".part-"
"""What the folder of an unfinished download begins with."""
_OURS = re.compile(rf"[0-9a-f]{{32}}|{_PART}.*+", re.DOTALL)
"""Names of the folders that may be removed: whatever else lies there is not the cache's."""
_LONGEST_NAME = 200
"""Bytes of a file's name."""

Download = Callable[[BinaryIO], str]
"""Writes an object's bytes to a file and gives their MD5."""


class PaperCache:
    """A folder with a folder for each file, which has the MD5 of its bytes as name.

    A folder appears when its file is complete. While it is used, it is locked (flock), so that no other thread or
    process removes it; a killed one holds nothing. Files in use may take more than `max_bytes`, nothing else may.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    @contextmanager
    def opened(self, md5: str, name: str) -> Iterator[Path | None]:
        """The file with these bytes, called `name`, which stays while the `with` lasts; None where it is not there.

        A file that is not what was written is removed.
        """
        folder = self._folder / md5
        with _locked(folder, fcntl.LOCK_SH) as is_locked:
            path = self._named(folder, name) if is_locked else None
            if path is not None and _md5(path) == md5:
                os.utime(folder)
                yield path
                return
        if path is not None:
            _remove(folder)
        yield None

    def store(self, name: str, size: int, download: Download) -> str:
        """Keep what `download` writes, `size` bytes; its MD5.

        Raises FileProblem where it is larger than the cache may be, RagScienceError where the disk is full.
        """
        if size > self._max_bytes:
            message = f"{name} ({size / 2**20:,.0f} MiB) is larger than the cache of papers may be."
            raise FileProblem(message, "Raise RAG_PAPERS_CACHE_MB.", reason="cache-size")
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            with ExitStack() as stack:
                with _locked(self._folder, fcntl.LOCK_EX):  # so that two downloads do not take the same room
                    self._make_room(size)
                    part = Path(tempfile.mkdtemp(prefix=_PART, dir=self._folder))
                    stack.callback(shutil.rmtree, part, ignore_errors=True)
                    stack.enter_context(_locked(part, fcntl.LOCK_EX))
                    file = stack.enter_context((part / _file_name(name)).open("xb"))
                    file.truncate(size)  # which counts from now on
                md5 = download(file)
                file.flush()
                os.fsync(file.fileno())
                self._put_in_place(part, self._folder / md5)
        return md5

    def _put_in_place(self, part: Path, folder: Path) -> None:
        try:
            part.rename(folder)
        except OSError:
            if not folder.is_dir():  # else the same bytes were stored meanwhile
                raise

    def _named(self, folder: Path, name: str) -> Path | None:
        """The folder's file under that name: a second name of it where it was stored under another one."""
        path = folder / _file_name(name)
        with suppress(OSError):
            if not path.exists():
                first = next(iter(sorted(folder.iterdir())), None)
                if first is not None:
                    with suppress(FileExistsError):
                        os.link(first, path)
        return path if path.is_file() else None

    def _make_room(self, size: int) -> None:
        """Remove what killed downloads left, and what was not used for longest until `size` bytes more fit."""
        found: list[tuple[int, int, Path]] = []
        for folder in self._folder.iterdir():
            with suppress(OSError):  # another process has removed it
                is_over = folder.name.startswith(_PART) and _remove(folder)
                if _OURS.fullmatch(folder.name) and not is_over:
                    found.append((folder.stat().st_mtime_ns, _size(folder), folder))
        taken = sum(each for _, each, _ in found) + size
        for _, each, folder in sorted(found):
            if taken <= self._max_bytes:
                return
            if _remove(folder):
                taken -= each


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[bool]:
    """Whether the folder is there and could be locked; the lock is held while the `with` lasts."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, how)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _remove(folder: Path) -> bool:
    """Remove a folder of the cache unless somebody uses it; whether it is gone."""
    with _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB) as is_free:
        if is_free:
            shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _size(folder: Path) -> int:
    """Bytes of the folder's file, which may have several names."""
    return max((path.stat().st_size for path in folder.iterdir()), default=0)


def _md5(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except OSError:
        return ""


def _file_name(name: str) -> str:
    """The object's own name without its folders: what a reader's window shows."""
    base = name.rpartition("/")[2]
    return base if len(os.fsencode(base)) <= _LONGEST_NAME else f"{hashlib.sha256(base.encode()).hexdigest()}.pdf"
