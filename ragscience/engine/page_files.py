"""Pages of papers: drawn and marked in processes of their own, as the files are not trusted."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from threading import BoundedSemaphore, Lock

from ragscience.core.errors import FileProblem, LibraryBusy, NothingFound, RagScienceError, UsageError
from ragscience.core.paper_records import has_pages, place_label
from ragscience.core.records import Citation, PageShape, Paper
from ragscience.core.tokenizing import counted
from ragscience.engine.printable import plain
from ragscience.library.atomic_files import check_place, disk_errors, has_mark, write_atomically
from ragscience.library.ingestion import LOCAL, LocalFiles, file_state
from ragscience.library.paper_rows import short_names
from ragscience.reading.pdf_file import Highlight, MarkedPage
from ragscience.reading.reader_process import KeptReader

_MOST_WAITING = 8
"""Requests at once, the one that is drawn among them; more are refused."""
_AS_TEXT = "`python ingest.py show FILE --page N` prints a paragraph of it."
_AS_IT_IS = "`python ingest.py` reads the file as it is."


class PagePictures:
    """Draws pages for any number of threads, one page at a time, in a process of its own."""

    def __init__(self, where: LocalFiles = LOCAL) -> None:
        """`where` are the papers' files."""
        self._where = where
        self._kept = KeptReader()
        self._waiting = BoundedSemaphore(_MOST_WAITING)
        self._lock = Lock()

    def drawn(self, paper: Paper, number: int, width: int = 0) -> tuple[PageShape, bytes]:
        """(the size of page `number` and how it is turned, a PNG of it, `width` pixels wide at most; 0: none).

        Raises NothingFound where the file is gone, FileProblem where it is another one now or cannot be drawn, and
        LibraryBusy where too many wait.
        """
        require_pages(paper.file)
        if not self._waiting.acquire(blocking=False):
            raise LibraryBusy("Too many pages are being drawn.", "Try again in a few seconds.")
        try:
            with (
                self._where.opened(Path(paper.path), paper.md5) as file,
                self._lock,
                tempfile.TemporaryDirectory(prefix="ragscience-") as folder,
            ):
                path = file_of(paper, file)
                target = Path(folder, "page.png")
                shape = self._kept.reader().draw(path, number, width, target)
                if isinstance(shape, FileProblem):
                    raise shape
                return shape, target.read_bytes() if width else b""
        finally:
            self._waiting.release()

    def close(self) -> None:
        """End the process; another picture starts a new one."""
        with self._lock:
            self._kept.close()


def require_pages(file: str) -> None:
    """Raise FileProblem for a file whose format has no pages to draw or mark."""
    if not has_pages(file):
        raise FileProblem(f"{file} has no pages, so there is no picture of one.", _AS_TEXT, reason="no-pages")


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
    if file_state(path).md5 != paper.md5:
        raise FileProblem(f"The file of {paper.file} has changed since it was read.", _AS_IT_IS, reason="changed")
    return path


MADE_HERE = b"%made by RAG Science: query.py --highlight\n"
"""The last line of such a file: a comment to PDF readers, and to us the leave to replace it."""


def check_target(target: Path) -> None:
    """Raise UsageError unless `target` can be a new PDF, or is one that was written here before."""
    check_place(target)
    if target.suffix.lower() != ".pdf":
        fix = f"Call it {target.with_suffix('.pdf').name!r}."
        raise UsageError(f"--highlight writes a PDF, and {target.name!r} does not end in .pdf.", fix)
    if target.exists() and not has_mark(target, MADE_HERE):
        fix = "Give a name that is free."
        raise UsageError(f"--highlight {target} would replace a file that is not from --highlight.", fix)


def write_marked_pages(
    citations: Iterable[Citation],
    target: Path,
    *,
    warn: Callable[[str], None],
    opened: Callable[[Path], AbstractContextManager[Path]] = nullcontext,
) -> int:
    """Write each page that is cited once, the quotes marked; how many pages there are.

    A paper that cannot be marked is left out with a warning. Without a page to write, `target` is left as it is. The
    papers are opened in a process of its own; `opened` gives the file of a citation's path. Raises UsageError as
    `check_target`, RagScienceError where nothing can be written.
    """
    check_target(target)
    wanted = _wanted(citations)
    if not wanted:
        warn(f"No page is cited, so {target} was not written.")
        return 0
    with tempfile.TemporaryDirectory(prefix="ragscience-") as folder, closing(KeptReader()) as marker:
        parts: list[Path] = []
        count = 0
        names = short_names(wanted)
        for number, (path, pages) in enumerate(wanted.items()):
            part = Path(folder, f"{number}.pdf")
            try:
                require_pages(plain(names[path]))
                with opened(Path(path)) as file:
                    unplaced = marker.reader().mark(file, part, pages)
            except FileProblem as problem:
                unplaced = problem
            if isinstance(unplaced, FileProblem):
                warn(f"Not in {target.name}: {unplaced}")
                continue
            if unplaced:
                quotes = counted(unplaced, "quote")
                warn(f"{quotes} from {plain(names[path])} could not be placed on the page; its note has the words.")
            parts.append(part)
            count += len(pages)
        if not parts:
            raise RagScienceError(f"{target} was not written: no cited page could be marked.", "See the warnings.")
        whole = Path(folder, "whole.pdf")
        joined = marker.reader().join(parts, whole)
        if isinstance(joined, FileProblem):
            raise joined
        with disk_errors(target):
            write_atomically(target, whole.read_bytes() + MADE_HERE)
    return count


def _wanted(citations: Iterable[Citation]) -> dict[str, Sequence[MarkedPage]]:
    """By the path of each cited file its cited pages, in the order of their numbers, each with its quotes."""
    cited: dict[str, dict[int, dict[Citation, None]]] = {}
    for citation in citations:
        if citation.path:
            cited.setdefault(citation.path, {}).setdefault(citation.page, {})[citation] = None
    return {
        path: [
            MarkedPage(number, _label(items), tuple(Highlight(plain(item.quote), item.boxes) for item in items))
            for number, items in sorted(pages.items())
        ]
        for path, pages in cited.items()
    }


def _label(citations: Iterable[Citation]) -> str:
    first = next(iter(citations))
    return f"{plain(first.file)}, {place_label(first.file, first.page)}"
