"""Pages as pictures, drawn in a process of their own, as the files are not trusted."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from threading import BoundedSemaphore, Lock, Timer
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem, LibraryBusy, NothingFound
from ragscience.library.atomic_files import disk_errors
from ragscience.library.ingestion import LOCAL, LocalFiles

if TYPE_CHECKING:
    from ragscience.core.records import PageShape, Paper
    from ragscience.reading.reader_process import KeptReader

__all__ = ["PagePictures", "file_of"]

_MOST_WAITING = 8
"""Requests at once, the one that is drawn among them; more are refused."""
_KEPT_SECONDS = 60.0
"""How long the process waits for another page."""
_AS_IT_IS = "`python ingest.py` reads the file as it is."


class PagePictures:
    """Draws pages for any number of threads, one page at a time; its process ends a minute after the last one."""

    def __init__(self, where: LocalFiles = LOCAL) -> None:
        """`where` are the papers' files."""
        self._where = where
        self._kept: KeptReader | None = None
        self._waiting = BoundedSemaphore(_MOST_WAITING)
        self._lock = Lock()
        self._end = Timer(0.0, self.close)

    def shape(self, paper: Paper, number: int) -> PageShape:
        """The size of page `number` and how it is turned. Raises as `picture`."""
        return self._drawn(paper, number, 0)[0]

    def picture(self, paper: Paper, number: int, width: int) -> bytes:
        """A PNG of page `number`, `width` pixels wide at most.

        Raises NothingFound where the file is gone, FileProblem where it is another one now or cannot be drawn, and
        LibraryBusy where too many wait.
        """
        return self._drawn(paper, number, width)[1]

    def _drawn(self, paper: Paper, number: int, width: int) -> tuple[PageShape, bytes]:
        from ragscience.reading.reader_process import KeptReader

        if not self._waiting.acquire(blocking=False):
            raise LibraryBusy("Too many pages are being drawn.", "Try again in a few seconds.")
        try:
            with (
                self._where.opened(Path(paper.path), paper.md5) as file,
                self._lock,
                tempfile.TemporaryDirectory(prefix="ragscience-") as folder,
            ):
                path = file_of(paper, file)
                self._end.cancel()
                self._kept = self._kept or KeptReader()
                target = Path(folder, "page.png")
                shape = self._kept.reader().draw(path, number, width, target)
                self._end = Timer(_KEPT_SECONDS, self.close)
                self._end.daemon = True
                self._end.start()
                if isinstance(shape, FileProblem):
                    raise shape
                return shape, target.read_bytes() if width else b""
        finally:
            self._waiting.release()

    def close(self) -> None:
        """End the process; another picture starts a new one."""
        with self._lock:
            self._end.cancel()
            if self._kept is not None:
                self._kept.close()


def file_of(paper: Paper, path: Path) -> Path:
    """The file at `path`, from which the paper was read.

    Raises NothingFound where it is gone, FileProblem where it has changed.
    """
    if not path.is_file():
        raise NothingFound(f"The file of {paper.file} is gone.", "Put it back, and run `python ingest.py`.")
    with disk_errors(path):
        status = path.stat()
        if (status.st_size, status.st_mtime_ns) == (paper.size_bytes, paper.modified_ns):
            return path
        with path.open("rb") as file:
            md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if md5 != paper.md5:
        raise FileProblem(f"The file of {paper.file} has changed since it was read.", _AS_IT_IS, reason="changed")
    return path
