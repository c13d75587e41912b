"""Pages of papers: drawn and marked in processes of their own, as the files are not trusted; words on them."""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import BoundedSemaphore, Lock, Timer
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem, LibraryBusy, LibraryDamaged, NothingFound, RagScienceError, UsageError
from ragscience.core.paper_records import page_parts
from ragscience.core.records import Answer, Box, Citation, Page, StoredChunk
from ragscience.core.tokenizing import counted
from ragscience.engine.printable import plain
from ragscience.library.atomic_files import disk_errors, write_atomically
from ragscience.library.ingestion import LOCAL, LocalFiles, file_state
from ragscience.library.paper_rows import short_names
from ragscience.reading.pdf_highlights import Mark, MarkedPage
from ragscience.reading.reader_process import KeptReader

if TYPE_CHECKING:
    from ragscience.core.records import PageShape, Paper
    from ragscience.library.store import Store

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
    if file_state(path).md5 != paper.md5:
        raise FileProblem(f"The file of {paper.file} has changed since it was read.", _AS_IT_IS, reason="changed")
    return path


MADE_HERE = b"%made by RAG Science: query.py --highlight\n"
"""The last line of such a file: a comment to PDF readers, and to us the leave to replace it."""


def check_target(target: Path) -> None:
    """Raise UsageError unless `target` can be a new PDF, or is one that was written here before."""
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent} for --highlight.", "Make it first.")
    if target.is_dir():
        raise UsageError(f"--highlight {target} is a folder.", "Give the name of a PDF file to write.")
    if target.suffix.lower() != ".pdf":
        raise UsageError(
            f"--highlight writes a PDF, and {target.name!r} does not end in .pdf.",
            f"Call it {target.with_suffix('.pdf').name!r}.",
        )
    if target.exists() and not _is_ours(target):
        raise UsageError(
            f"--highlight {target} would replace a file that is not from --highlight.", "Give a name that is free."
        )


def _is_ours(path: Path) -> bool:
    with disk_errors(path), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(MADE_HERE)))
        return file.read() == MADE_HERE


def write_marked_pages(
    answers: Iterable[Answer],
    target: Path,
    *,
    warn: Callable[[str], None],
    opened: Callable[[Path], AbstractContextManager[Path]] = nullcontext,
) -> int:
    """Write each page that the answers cite once, the quotes marked; how many pages there are.

    A paper that cannot be marked is left out with a warning. Without a page to write, `target` is left as it is. The
    papers are opened in a process of its own; `opened` gives the file of a citation's path. Raises UsageError as
    `check_target`, RagScienceError where nothing can be written.
    """
    check_target(target)
    wanted = _wanted(answers)
    if not wanted:
        warn(f"No page is cited, so {target} was not written.")
        return 0
    with (
        tempfile.TemporaryDirectory(prefix="ragscience-") as folder,
        closing(KeptReader()) as marker,
    ):
        parts: list[Path] = []
        count = 0
        names = short_names(wanted)
        for number, (path, pages) in enumerate(wanted.items()):
            part = Path(folder, f"{number}.pdf")
            try:
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


def _wanted(answers: Iterable[Answer]) -> dict[str, Sequence[MarkedPage]]:
    """By the path of each cited file its cited pages, in the order of their numbers, each with its quotes."""
    cited: dict[str, dict[int, dict[Citation, None]]] = {}
    for answer in answers:
        for citation in answer.citations:
            if citation.path:
                cited.setdefault(citation.path, {}).setdefault(citation.page, {})[citation] = None
    return {
        path: [
            MarkedPage(number, _label(items), tuple(Mark(plain(item.quote), item.boxes) for item in items))
            for number, items in sorted(pages.items())
        ]
        for path, pages in cited.items()
    }


def _label(citations: Iterable[Citation]) -> str:
    first = next(iter(citations))
    return f"{plain(first.file)}, p.{first.page}"


_MOST_PLACES = 20
_KEPT = ".%=<>"
"""Signs that count, as they make other numbers."""
MOST_LETTERS = 1000
"""Of words that are not found as a whole, else a search takes minutes; a paragraph has fewer."""
MOST_FOLDED = 20_000
"""Letters of words as they are compared: one character can be fifteen."""
_LEAST_ALIKE = 85
"""Of 100, of words that are not found as a whole: running heads come between, and programs order formulas anew."""


@dataclass(frozen=True, slots=True)
class PagePart:
    """Words on one page: `Document.text[start:end]` is `text`."""

    page: int
    """From 1."""
    start: int
    end: int
    text: str
    boxes: tuple[Box, ...]
    """One a line; empty where they are not known."""


def passage_numbered(library: Store, chunk_id: int) -> StoredChunk:
    """The passage with that id. Raises NothingFound."""
    found = library.chunks([chunk_id])
    if not found:
        raise NothingFound(f"The library has no passage {chunk_id}.", "A search gives the ids of passages.")
    return found[0]


def passage_parts(library: Store, chunk: StoredChunk) -> list[PagePart]:
    """The passage page by page."""
    boxes, begin = library.contents(chunk.paper_id).boxes, chunk.start
    return [
        PagePart(page, begin + start, begin + end, chunk.text[start:end], boxes(page, begin + start, begin + end))
        for page, start, end in page_parts(chunk, 0, len(chunk.text))
    ]


def word_places(library: Store, paper: Paper, words: str, number: int | None) -> list[list[PagePart]]:
    """Where the words stand in a paper, on page `number` if it is given: each place as its parts in reading order.

    Words as they were copied from a PDF viewer are found, too: blanks, hyphens, ligatures and most signs do not matter,
    and what a viewer has between two columns or pages may be left out. Raises NothingFound where they are not found.
    """
    from rapidfuzz import fuzz

    wanted = "".join(map(_plain, words))
    if len(wanted) > MOST_FOLDED:
        raise UsageError(f"The words are more than {MOST_FOLDED:,} letters.", "Take fewer of them.")
    with library.snapshot():
        contents = library.contents(paper.paper_id)
        near = [page for page in contents.pages if number is None or abs(page.number - number) <= 1]
        letters = {page.number: _letters_of(library, paper.paper_id, page) for page in near}
        spans = [
            (found[at][1], found[at + len(wanted) - 1][1] + 1)
            for page, found in letters.items()
            if wanted and number in (None, page)
            for at in _starts(wanted, "".join(letter for letter, _ in found))
        ][:_MOST_PLACES]
        places = [list(_parts_of(library, paper, near, span)) for span in spans]
        for page in near if 0 < len(wanted) <= MOST_LETTERS and not places else ():
            pair = letters[page.number] + letters.get(page.number + 1, [])
            text = "".join(letter for letter, _ in pair)
            like = fuzz.partial_ratio_alignment(wanted, text, score_cutoff=_LEAST_ALIKE)
            if like is not None and len(text) >= len(wanted):
                span = pair[like.dest_start][1], pair[like.dest_end - 1][1] + 1
                parts = list(_parts_of(library, paper, near, span))
                if any(number in (None, part.page) for part in parts):
                    return [parts]
    if not places:
        where = paper.file if number is None else f"page {number} of {paper.file}"
        raise NothingFound(f"These words are not found on {where}.", "Take whole words from the text of a page.")
    return places


def _starts(wanted: str, text: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))


def _parts_of(library: Store, paper: Paper, pages: Sequence[Page], span: tuple[int, int]) -> Iterator[PagePart]:
    """The parts of `Document.text[start:end]`, one for each page with words of it."""
    contents = library.contents(paper.paper_id)
    for page in pages:
        start, end = max(span[0], page.start), min(span[1], page.end)
        if start < end:
            text = contents.text(page.number)[start - page.start : end - page.start]
            yield PagePart(page.number, start, end, text, contents.boxes(page.number, start, end))


def _letters_of(library: Store, paper_id: int, page: Page) -> list[tuple[str, int]]:
    """The letters and digits of a page, case and accents aside, each with its offset; none of a damaged page."""
    try:
        text = library.contents(paper_id).text(page.number)
    except LibraryDamaged:
        return []
    return [(letter, at) for at, character in enumerate(text, page.start) for letter in _plain(character)]


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """The letters and digits of a character: "fi" of a ligature, "e" of "é", nothing of a blank or a hyphen."""
    return "".join(one for one in unicodedata.normalize("NFKD", character).casefold() if one.isalnum() or one in _KEPT)
