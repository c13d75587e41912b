"""Partial downloads that can be resumed.

    <hash of the URL>.part    the bytes so far
    <hash of the URL>.json    {"url", "validator", "total"}: an ETag or a date, and the size of the whole file

Only a part with a validator can be resumed, so no other stays. After a killed run a part may be longer than its `.json`
says, never shorter or of another file: the part is emptied before a new `.json` is written.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ragscience.core.errors import SourceError

__all__ = ["Part", "disk_errors", "lock_part", "md5_of", "opened_part", "part_path"]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")


class Part:
    """A file that is being downloaded; made by `opened_part`."""

    def __init__(self, path: Path, url: str, file: BinaryIO) -> None:
        self.path = path
        self.total: int | None = None
        """Bytes of the whole file, where that is known."""
        self._sidecar = path.with_suffix(".json")
        self._fresh = path.with_suffix(".new")
        self._url = url
        self._file = file
        self._validator = ""
        self._keeps = False
        """Whether the file is complete, so that it stays."""
        self._remember()

    @property
    def size(self) -> int:
        """Bytes so far."""
        return os.fstat(self._file.fileno()).st_size

    @property
    def asks_for_rest(self) -> dict[str, str]:
        """The headers that request the rest of this very file (RFC 9110, section 13.1.5); empty for all of it."""
        return {"Range": f"bytes={self.size}-", "If-Range": self._validator} if self.is_resumable else {}

    @property
    def is_resumable(self) -> bool:
        """Whether there are bytes, and a validator for the rest."""
        return bool(self._validator) and self.size > 0

    def continues(self, headers: Mapping[str, str]) -> bool:
        """Whether a response of status 206 is the rest of this file; takes the total from it."""
        found = _RANGE.fullmatch(headers.get("content-range", "").strip())
        if found is None or int(found[1]) != self.size or int(found[2]) < int(found[1]):
            return False
        total = None if found[3] == "*" else int(found[3])
        if None not in (total, self.total) and total != self.total:
            return False
        tag = headers.get("etag", "")
        if tag and self._validator.startswith('"') and tag != self._validator:
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

    def begins_with(self, count: int) -> bytes:
        """The first bytes, at most `count`."""
        return os.pread(self._file.fileno(), count, 0)

    def ends_with(self, count: int) -> bytes:
        """The last bytes, at most `count`."""
        return os.pread(self._file.fileno(), count, max(0, self.size - count))

    def md5(self) -> str:
        """Of all bytes so far, in hexadecimal."""
        return md5_of(self.path)

    def complete(self) -> int:
        """Sync the file, which stays; the next run for this URL starts over.

        Gives an open handle that holds the lock: close it after the file has been moved away.
        """
        os.fsync(self._file.fileno())
        self._sidecar.unlink(missing_ok=True)
        self._keeps = True
        return os.dup(self._file.fileno())

    def leave(self) -> None:
        """Remove a part that cannot be resumed."""
        self._fresh.unlink(missing_ok=True)
        if not (self._keeps or self.is_resumable):
            self._sidecar.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)

    def _remember(self) -> None:
        """Load what an earlier run left, or start empty."""
        try:
            known = json.loads(self._sidecar.read_text(encoding="utf-8"))
            validator, total = known["validator"], known["total"]
            fits = known["url"] == self._url and isinstance(validator, str) and bool(validator)
            fits = fits and validator.isascii() and validator.isprintable()
            fits = fits and (total is None or (isinstance(total, int) and self.size <= total))
        except (OSError, ValueError, KeyError, TypeError):
            fits = False
        if fits:
            self._validator, self.total = validator, total
        else:
            self.clear()


def part_path(folder: Path, url: str) -> Path:
    """The path of a URL's part."""
    return folder / f"{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.part"


@contextmanager
def opened_part(folder: Path, url: str) -> Iterator[Part]:
    """The part of a URL's file in `folder`, which is made; locked against other runs.

    At the end it stays only where it is complete or can be resumed. Raises SourceError, also for disk errors inside
    the `with`.
    """
    path = part_path(folder, url)
    with disk_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        with _open_locked(path) as file:
            part = Part(path, url, file)
            try:
                yield part
            finally:
                part.leave()


def _open_locked(path: Path) -> BinaryIO:
    """The part as it is, or a new one, open and locked. Raises SourceError."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        file = os.fdopen(handle, "r+b", buffering=0)
        try:
            lock_part(file, path)
            if os.fstat(handle).st_nlink == 1:
                return file
            # A killed run has just linked it into papers/, where it must not change.
            path.unlink()
        except BaseException:
            file.close()
            raise
        file.close()


def lock_part(file: BinaryIO, path: Path) -> None:
    """Lock a part that still has this name. Raises SourceError."""
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The run that had the lock may have moved the file into papers/ in between.
        if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            return
    raise SourceError("Another run is fetching this file.", "Wait until it is done.", reason="busy")


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
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
