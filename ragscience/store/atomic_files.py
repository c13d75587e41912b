"""Atomic file writes, and operating-system errors as user messages."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ragscience.errors import RagScienceError

__all__ = ["Signature", "disk_errors", "put_in_place", "write_atomically"]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_NOT_A_FOLDER = {errno.ENOTDIR, errno.EEXIST}


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError about `path` into RagScienceError with a fix."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _FULL:
            raise RagScienceError(f"The disk is full: {path} could not be written ({reason}).", "Make room.") from error
        if error.errno in _FORBIDDEN:
            fix = "Give this user the right to write there, or name another folder with --home."
            raise RagScienceError(f"{path} cannot be written: {reason}.", fix) from error
        if error.errno in _NOT_A_FOLDER:
            fix = "A file is where a folder belongs: move it away, or name another folder with --home."
            raise RagScienceError(f"{path} cannot be made: {reason}.", fix) from error
        raise RagScienceError(f"{path} could not be written: {reason}.", "Look at the disk.") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` atomically: a reader, or a crash, finds the old content or the new. Raises OSError."""
    # Nobody else can have put a link there: the name cannot be guessed, and the file has to be new.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
        put_in_place(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def put_in_place(temporary: Path, path: Path) -> None:
    """Sync a finished file, rename it, then sync the folder. Raises OSError."""
    _sync(temporary)
    temporary.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class Signature:
    """Identifies the content of a cache file: by size and time if unchanged, else by digest."""

    size: int
    modified_ns: int
    digest: str
    """BLAKE2b of 16 bytes, in hexadecimal."""

    @classmethod
    def of(cls, path: Path) -> Signature:
        """The signature of the file as it is now. Raises OSError."""
        stat = path.stat()
        return cls(stat.st_size, stat.st_mtime_ns, _digest(path))

    def fits(self, path: Path) -> bool:
        """Whether the file matches the signature; its content is read only if its time differs (a copied home)."""
        try:
            stat = path.stat()
            if stat.st_size != self.size:
                return False
            return stat.st_mtime_ns == self.modified_ns or _digest(path) == self.digest
        except OSError:
            return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
