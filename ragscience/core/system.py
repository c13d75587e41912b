"""What differs between Linux, macOS and Windows, and files that are written whole or not at all."""

import os
import secrets
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

GROUP_OF_ITS_OWN: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""`creationflags` of `subprocess.Popen`: on Windows what `start_new_session` is elsewhere, so that Ctrl-C in the
terminal is not for the new process."""


def limit_memory(wanted: Callable[[int | None], int | None]) -> bool:
    """Set the limit of this process's address space; whether the system allows it.

    `wanted` gives the new limit in bytes for the present one, both None for none. Windows has no such limit, and macOS
    refuses one below what is mapped.
    """
    if sys.platform == "win32":
        return False
    try:
        import resource
    except ImportError:
        return False
    soft, hard = (None if each == resource.RLIM_INFINITY else each for each in resource.getrlimit(resource.RLIMIT_AS))
    limit = wanted(soft)
    if limit is None:
        return True
    most = resource.RLIM_INFINITY if hard is None else hard
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard is None else min(limit, hard), most))
    except (OSError, ValueError):
        return False
    return True


def raise_file_limit() -> None:
    """Let this process open as many files as the system grants it; nothing where there is no such limit."""
    if sys.platform == "win32":
        return
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C waits meanwhile, and for good in processes that are started meanwhile; nothing on Windows."""
    if sys.platform == "win32" or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk. Raises OSError. Windows opens no folder, and needs no such call."""
    try:
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)  # Windows syncs only what may be written
    except PermissionError:
        if path.is_dir():
            return
        raise
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, content: bytes | memoryview, *, private: bool = False) -> None:
    """Replace `path` atomically: a reader, or a crash, finds the old content or the new. Raises OSError.

    Only its owner may read a `private` one.
    """
    # Nobody else can have put a link there: the name cannot be guessed, and the file has to be new.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb", opener=_open_private if private else None) as file:
            file.write(content)
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def small_text(path: Path, most: int) -> str:
    """The UTF-8 text of a file of at most so many bytes.

    Raises OSError whose `strerror` says what is wrong, also for what is no file: a folder, a pipe, a link to itself.
    """
    if not path.is_file() and os.path.lexists(path):
        raise OSError(0, "it is not a file")
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(0, f"it is longer than {most} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise OSError(0, "it is not UTF-8") from None


class Closing(ABC):
    """What is closed at the end of its `with` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release what it holds."""
