"""Files of a home; checksums, the lock of the one writer, SQLite files, and errors as messages."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import DiskProblem, LibraryBusy, RagScienceError, UsageError
from ragscience.core.system import Closing
from ragscience.core.system import write_atomically as write_atomically

if TYPE_CHECKING:
    from filelock import BaseFileLock

_PART_BYTES = 1 << 20
_MARKED_BYTES = 400
_LOG_HEADER, _FRAME_HEADER, _LOG_BYTES = 32, 24, 1 << 28
"""Bytes of the headers of a write-ahead log and of its frames, and how much of one is looked at."""
_OF_THE_DISK = {
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
}  # fmt: skip
_ELSEWHERE = "use another folder with --home."
_DISK = (
    ({errno.ENOSPC, errno.EDQUOT, errno.EFBIG}, "could not be written, the disk is full", "Make room."),
    ({errno.EACCES, errno.EPERM, errno.EROFS}, "cannot be written", f"Give this user write access, or {_ELSEWHERE}"),
    (
        {errno.ENOTDIR, errno.EEXIST}, "cannot be made",
        f"A file has the name of a needed folder: move it away, or {_ELSEWHERE}",
    ),
)  # fmt: skip
"""What an error of the system means, and what helps."""


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError about `path` into DiskProblem with a fix."""
    try:
        yield
    except OSError as error:
        usual = ["could not be written", "Check the disk."]
        what, fix = next((words for codes, *words in _DISK if error.errno in codes), usual)
        raise DiskProblem(f"{path} {what}: {error.strerror or error}.", fix) from error


def check_place(path: Path) -> None:
    """Raise UsageError where no file can be at that path: it is a folder, or in none."""
    if path.is_dir() or not path.parent.is_dir():
        what = f"{path} is a folder" if path.is_dir() else f"There is no folder {path.parent}"
        raise UsageError(f"{what}.", "Name a file, in a folder that is there.")


def has_mark(path: Path, mark: bytes) -> bool:
    """Whether a file has the mark, by which it is known to be of this program, in its first bytes or as its last."""
    with disk_errors(path):
        content = path.read_bytes()
    return mark in content[:_MARKED_BYTES] or content.endswith(mark)


def write_checked_json(path: Path, content: object) -> None:
    """Replace `path` atomically with `content` as JSON and its CRC-32. Raises OSError."""
    checksum = zlib.crc32(json.dumps(content).encode())
    # Without indentation, for which Python has a slow encoder only.
    text = json.dumps({"checksum": checksum, "content": content}) + "\n"
    write_atomically(path, text.encode())


def read_checked_json(path: Path) -> Any:
    """What `write_checked_json` wrote; None where that is not there."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        whole = json.loads(path.read_bytes())
        if zlib.crc32(json.dumps(whole["content"]).encode()) == whole["checksum"]:
            return whole["content"]
    return None


@contextmanager
def undone(undo: Callable[[], object]) -> Iterator[None]:
    """Calls `undo` where what is done inside fails."""
    try:
        yield
    except BaseException:
        undo()
        raise


def file_signature(path: Path) -> dict[str, object]:
    """The size of a file and its CRC-32; size -1 where it cannot be read."""
    checksum = 0
    try:
        with path.open("rb") as file:
            while part := file.read(_PART_BYTES):
                checksum = zlib.crc32(part, checksum)
            return {"size": file.tell(), "digest": f"{checksum:08x}"}
    except OSError:
        return {"size": -1, "digest": ""}


class WriterLock(Closing):
    """The right to write a library, held until `close`."""

    def __init__(self, lock: BaseFileLock) -> None:
        self._lock = lock

    @classmethod
    def acquire(cls, path: Path) -> WriterLock:
        """Take the lock. Raises LibraryBusy while another process writes, RagScienceError for a path not writable."""
        from filelock import FileLock, Timeout

        lock = FileLock(path, timeout=0, thread_local=False, on_acquired=_write_pid)
        with disk_errors(path):
            try:
                lock.acquire()
            except Timeout:
                owner = ""
                with suppress(OSError):  # another process may keep it from being read, as on Windows
                    owner = path.read_text("utf-8", "replace")[:20].strip()
                fix = "Wait until it is done, or stop that process."
                raise LibraryBusy(f"The library is being written by process {owner or 'unknown'}.", fix) from None
        return cls(lock)

    def close(self) -> None:
        """Release the lock; may be called twice."""
        self._lock.release()


def _write_pid(handle: int) -> None:
    os.ftruncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())


class Home:
    """A folder with papers/, vectorstore/ and ingested.json; creating the object creates no files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.papers = root / "papers"
        """The user's PDFs."""
        self.ledger = root / "ingested.json"
        """MD5 and status of each file, written from the database for people and scripts."""
        self.serve_tokens = root / "serve_tokens.json"
        """Hashes of the tokens of those whom the library is served to."""
        made = self.vectorstore = root / "vectorstore"
        """Everything that is generated, except the ledger."""
        self.database = made / "library.sqlite"
        """The source of truth: papers, pages, chunks and vectors, in SQLite."""
        self.history = made / "history.sqlite"
        """Conversations and audit records, in SQLite."""
        self.people = made / "people"
        """The folder of what is kept of people whom the library is served to; each has files of their own."""
        self.lock = made / "writer.lock"
        """Lock file of the one writing process, with its pid inside."""
        self.parts = made / "parts"
        """The folder of unfinished downloads; they are resumed from there."""
        # Caches
        self.faiss = made / "index.faiss"
        """The dense index; index.json next to it describes what it was built from."""
        self.names = made / "names.json"
        """The names that the papers go by."""
        self.skipped = made / "skipped.json"
        """The files that were seen and not read, with the reasons."""
        self.objects = made / "objects.json"
        """The objects of the bucket that the papers are in, as they were last listed."""
        self.told = made / "told.json"
        """The choices of models that a person has been told of."""
        self.cells = made / "cells"
        """The folder of the cells of literature matrices, a JSON file for each paper."""

    def history_of(self, person: str) -> Path:
        """The conversations of that person, a name of `serve_tokens.json`; empty: of the library's own user."""
        return self.people / f"{person}.sqlite" if person else self.history


def connect(path: Path, options: str, busy_seconds: float) -> sqlite3.Connection:
    """A connection without transactions of its own. `options` are those of an URI: "mode=rw".

    Damaged text comes as other text, which its checksum tells, and not as an error of the whole query.
    """
    how: dict[str, Any] = {"timeout": busy_seconds, "isolation_level": None, "check_same_thread": False}
    connection: sqlite3.Connection = sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, **how)
    connection.text_factory = lambda text: str(text, "utf-8", "replace")
    return connection


def connect_to_read(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A read-only connection to a file that exists, also in a read-only folder. Raises sqlite3.Error."""
    connection = connect(path, "mode=ro", busy_seconds)
    try:
        connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # A write-ahead log needs files next to the database even for reading; read without a log.
        return connect(path, "mode=ro&immutable=1", busy_seconds)
    return connection


def has_lost_commits(path: Path) -> bool:
    """Whether the log of a database has commits that SQLite leaves out because something before them is damaged.

    To be asked before it is opened. A log that another process may be writing is looked at three times.
    """
    log = path.with_name(f"{path.name}-wal")
    for pause in (0.05, 0.1, 0):
        try:
            if not log.stat().st_size or not _is_cut(log):
                return False
        except OSError:
            return False
        time.sleep(pause)
    return True


def _is_cut(log: Path) -> bool:
    """Whether a frame with the mark of a commit is not what was written, or behind such a one.

    Each number of a checksum is the sum of the two before it and of a word, modulo 2^32
    (https://www.sqlite.org/fileformat2.html#walformat): a sum of all words, each times a Fibonacci number.
    """
    import numpy as np

    content = np.fromfile(log, np.uint8, _LOG_BYTES)
    if content.size <= _LOG_HEADER:
        return False
    head = content[:_LOG_HEADER].view(">u4")
    order = ">u4" if head[0] & 1 else "<u4"

    def sums(words: Any, before: Any) -> Any:
        first, second = before.astype(np.uint32).T[..., None]
        words = np.hstack([first, second - first, words]).astype(np.uint32)
        fibonacci = [1, 1]
        while len(fibonacci) < words.shape[1]:
            fibonacci.append((fibonacci[-1] + fibonacci[-2]) & 0xFFFFFFFF)
        factors = np.array(fibonacci[::-1], np.uint32)
        return np.stack([words[:, :-1] @ factors[1:], words @ factors], 1)

    if (sums(content[:24].view(order)[None], np.zeros((1, 2))) != head[None, 6:]).any():
        return True
    frame = _FRAME_HEADER + int(head[2])
    frames = content[_LOG_HEADER:][: (content.size - _LOG_HEADER) // frame * frame].reshape(-1, frame)
    heads = np.ascontiguousarray(frames[:, :_FRAME_HEADER]).view(">u4")
    words = np.hstack([frames[:, :8], frames[:, _FRAME_HEADER:]]).view(order)
    salts = heads[:, 2:4] == head[4:6]
    is_whole = salts.all(1) & (sums(words, np.vstack([head[6:], heads[:, 4:]])[:-1]) == heads[:, 4:]).all(1)
    return bool((salts.any(1) & (heads[:, 1] > 0) & ~np.logical_and.accumulate(is_whole)).any())


def is_ours(connection: sqlite3.Connection, application_id: int) -> int | None:
    """The version of its tables; 0 for none, as a killed first run may leave, None for those of another program."""
    # In one transaction: another process may be making them between two of these.
    version, application, tables = connection.execute(
        "SELECT user_version, application_id, (SELECT COUNT(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if application == application_id:
        return int(version)
    return None if version or application or tables else 0


def explained(what: str, error: sqlite3.DatabaseError, damaged: Callable[[str], RagScienceError]) -> RagScienceError:
    """What an error about `what` means; `damaged` makes the error for a file that is not what was written."""
    whole = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    code = sqlite3.SQLITE_CORRUPT if whole == sqlite3.SQLITE_IOERR_SHORT_READ else whole & 0xFF
    # Of a key that is there twice, only damage can be the cause; of a table or column that is not there, too.
    lacks = ("no such table", "no such column", "no such fts5 table")
    missing = code == sqlite3.SQLITE_ERROR and str(error).startswith(lacks)
    if missing or code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT}:
        return damaged(f"{what} is damaged: {error}.")
    if code in _OF_THE_DISK:
        fix = "Is the disk full, or failing? Has this user permission to read it, and to write it and beside it?"
        return DiskProblem(f"{what} could not be read or written: {error}.", fix)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LibraryBusy(f"{what} is in use by another program.", "Close that program and run the command again.")
    return RagScienceError(f"{what} could not be used: {error}.", "`python ingest.py doctor` looks for the cause.")
