"""Files on their way: what has come of one, and by what the server tells whether the rest still belongs to it.

    <hash of the URL>.part    the bytes so far
    <hash of the URL>.json    {"url", "validator", "total"}: an ETag or a date, and how many bytes the whole file has

Only a part with a validator can be resumed, so no other is left behind. A part may be longer than its `.json` knows of
(a killed run), never shorter or of another file: the part is emptied before a new `.json` is written.
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

from ragscience.errors import SourceError

__all__ = ["Part", "disk_told", "lock_part", "opened_part", "part_path"]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")


class Part:
    """A file that is being fetched; made by `opened_part`."""

    def __init__(self, path: Path, url: str, file: BinaryIO) -> None:
        self.path = path
        self.total: int | None = None
        """How many bytes the whole file has, where that is known."""
        self._sidecar = path.with_suffix(".json")
        self._fresh = path.with_suffix(".new")
        self._url = url
        self._file = file
        self._validator = ""
        self._keeps = False
        """Whether the file stays although nothing could resume it: it is complete."""
        self._remember()

    @property
    def size(self) -> int:
        """The bytes that have come."""
        return os.fstat(self._file.fileno()).st_size

    @property
    def asks_for_rest(self) -> dict[str, str]:
        """The headers with which the rest is asked for, of this very file (RFC 9110, section 13.1.5); none for all."""
        return {"Range": f"bytes={self.size}-", "If-Range": self._validator} if self.is_resumable else {}

    @property
    def is_resumable(self) -> bool:
        """Whether there is something, and a way to know that the rest belongs to it."""
        return bool(self._validator) and self.size > 0

    def continues(self, headers: Mapping[str, str]) -> bool:
        """Whether an answer of status 206 is the rest of this file; it then says how long the whole is."""
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
        """Start over with a file that the headers of its answer tell apart from others."""
        self.clear()
        # A weak ETag says that two files mean the same, not that they have the same bytes.
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
        """Forget what has come."""
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
        """Of all that has come, in hexadecimal."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()

    def complete(self) -> int:
        """Bring it to the disk; it stays, and the next run to ask for this URL begins anew.

        Gives an open handle that holds the lock further: close it when the file has been moved away.
        """
        os.fsync(self._file.fileno())
        self._sidecar.unlink(missing_ok=True)
        self._keeps = True
        return os.dup(self._file.fileno())

    def leave(self) -> None:
        """Remove what nobody could go on with."""
        self._fresh.unlink(missing_ok=True)
        if not (self._keeps or self.is_resumable):
            self._sidecar.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)

    def _remember(self) -> None:
        """Take up what an earlier run left, or begin with nothing."""
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
    """Where the part of a URL's file is."""
    return folder / f"{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.part"


@contextmanager
def opened_part(folder: Path, url: str) -> Iterator[Part]:
    """The part of a URL's file in `folder`, which is made; locked, so that two runs do not write the same one.

    At the end, however that comes, it is still there only where it is complete or the next run can go on with it.
    Raises SourceError, also for what the disk does not take inside the `with`.
    """
    path = part_path(folder, url)
    with disk_told(path):
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
            # A run that was killed had just given it a second name, among the papers. There it must stay as it is.
            path.unlink()
        except BaseException:
            file.close()
            raise
        file.close()


def lock_part(file: BinaryIO, path: Path) -> None:
    """Take the lock of a part that is still the one of this name. Raises SourceError."""
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The run that had the lock may have moved the file away in between, to where it must not be touched.
        if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            return
    raise SourceError("Another run is fetching this file.", "Wait until it is done.", reason="busy")


@contextmanager
def disk_told(path: Path) -> Iterator[None]:
    """Turn what the operating system says about writing a part into a SourceError."""
    try:
        yield
    except OSError as error:
        cause = error.strerror or str(error)
        if error.errno in _FULL:
            message = f"The disk is full: {path.parent} takes no more ({cause})."
            raise SourceError(message, "Make room and run the same command again.", reason="disk") from error
        message = f"{path.parent} cannot be written: {cause}."
        raise SourceError(message, "Look at its permissions, or name another folder with --home.", reason="disk") from (
            error
        )
