"""A paper that is added, and what is kept of it: its row, its passages, and its pages as one compressed record."""

import hashlib
import json
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Self

from ragscience.core.errors import LibraryDamaged, NothingFound, RagScienceError
from ragscience.core.records import ASKED_KINDS, Box, Chunk, Document, Element, Line, Page
from ragscience.core.serialization import storable
from ragscience.library.dense_index import Codes, Matrix
from ragscience.library.paper_rows import Outline, PaperRow, new_paper_json, path_within
from ragscience.library.similarity import Fingerprint, fingerprint_of

_STEPS = 10
"""Units per point: boxes are kept to a tenth of a point, 0.04 mm."""
_COLUMNS = 6
_RIGHT_TO_LEFT = {"R", "AL"}
_USUAL, _WIDE = 0.5, 0.7
"""Widths of a letter and of a capital, in font sizes."""
_WIDTHS = dict.fromkeys(" .,;:!'|()[]/-ijltfrI’‘`", 0.3) | dict.fromkeys("mwMW—%@", 0.85)
"""Widths of letters that are much narrower or wider, as in the common text fonts."""


@dataclass(frozen=True, slots=True)
class PaperContents:
    """The pages and elements of a paper; without any for a paper that the library does not have."""

    pages: tuple[Page, ...] = ()
    texts: tuple[str, ...] = ()
    """Of each page."""
    elements: tuple[Element, ...] = ()
    """In the order of the text."""
    damage: tuple[str, str] | None = None
    """The message and the fix where the record is damaged: it has no pages then."""

    @classmethod
    def of(cls, document: Document) -> Self:
        """Those of a document."""
        texts = tuple(document.text[page.start : page.end] for page in document.pages)
        return cls(document.pages, texts, document.elements)

    def page(self, number: int) -> Page:
        """The page of this number. Raises NothingFound if there is none, LibraryDamaged."""
        return self.pages[self._place(number)]

    def text(self, number: int) -> str:
        """The text of a page. Raises as `page`."""
        return self.texts[self._place(number)]

    def _place(self, number: int) -> int:
        if self.damage is not None:
            raise LibraryDamaged(*self.damage)
        place = next((place for place, page in enumerate(self.pages) if page.number == number), None)
        if place is None:
            raise NothingFound(f"There is no page {number} of that paper in the library.", "Pages are numbered from 1.")
        return place

    def has(self, text: str, start: int) -> bool:
        """Whether the document has this text at character `start`, as far as pages have it."""
        for page, whole in zip(self.pages, self.texts, strict=True):
            low, high = max(start, page.start), min(start + len(text), page.end)
            if low < high and text[low - start : high - start] != whole[low - page.start : high - page.start]:
                return False
        return True

    def boxes(self, number: int, start: int, end: int) -> tuple[Box, ...]:
        """The boxes of characters `start` to `end` of the document on a page, one per line; empty if not known.

        The box of a partly covered line is cut by the usual widths of its letters, a letter wider on both sides since
        fonts differ; a vertical or right-to-left line is kept whole. Raises as `page`.
        """
        page, text = self.page(number), self.text(number)
        boxes = []
        for line in page.lines:
            first, last = max(start, line.start), min(end, line.end)
            if first < last and text[first - page.start : last - page.start].strip():
                words = text[line.start - page.start : line.end - page.start]
                boxes.append(_part(line.box, words, first - line.start, last - line.start))
        return tuple(boxes)

    def pack(self) -> bytes:
        """As zlib over JSON."""
        pages = [
            [page.number, page.start, page.end, page.warning, page.furniture, text, _numbers(page.lines)]
            for page, text in zip(self.pages, self.texts, strict=True)
        ]
        elements = [[one.start, one.end, one.kind, one.page, one.level, one.section, one.box] for one in self.elements]
        text = json.dumps([pages, elements], separators=(",", ":"), ensure_ascii=False)
        return zlib.compress(storable(text).encode())

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """The inverse of `pack`, boxes of lines to a tenth of a point."""
        pages, elements = json.loads(zlib.decompress(packed))
        return cls(
            tuple(
                Page(number, start, end, warning, _lines(numbers), furniture)
                for number, start, end, warning, furniture, _, numbers in pages
            ),
            tuple(row[5] for row in pages),
            tuple(
                Element(start, end, kind, page, level, section, tuple(box) if box else None)
                for start, end, kind, page, level, section, box in elements
            ),
        )


def _numbers(lines: Sequence[Line]) -> list[int]:
    return [
        number
        for line in lines
        for number in (line.start, line.end - line.start, *(round(side * _STEPS) for side in line.box))
    ]


def _lines(numbers: Sequence[int]) -> tuple[Line, ...]:
    rows = (numbers[first : first + _COLUMNS] for first in range(0, len(numbers), _COLUMNS))
    scaled = ((start, length, [side / _STEPS for side in sides]) for start, length, *sides in rows)
    return tuple(Line(start, start + length, (x0, y0, x1, y1)) for start, length, (x0, y0, x1, y1) in scaled)


def _part(box: Box, words: str, first: int, last: int) -> Box:
    """The box of `words[first:last]` in the box of `words`, in points."""
    left, top, right, bottom = box
    wide = right - left
    if wide < bottom - top or any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in words):
        return box
    widths = [_WIDTHS.get(letter, _WIDE if letter.isupper() else _USUAL) for letter in words]
    each = wide / sum(widths)
    low = left if first == 0 else max(left, left + (sum(widths[:first]) - _USUAL) * each)
    high = right if last == len(words) else min(right, left + (sum(widths[:last]) + _USUAL) * each)
    return round(low, 1), top, round(high, 1), bottom


def page_breaks(chunk: Chunk, pages: Sequence[Page]) -> list[tuple[int, int]]:
    """(offset in the chunk's text, page number) of each page with characters in the chunk; the first offset is 0."""
    later = [
        (page.start - chunk.start, page.number)
        for page in pages
        if chunk.page_start < page.number <= chunk.page_end and chunk.start < page.start < min(page.end, chunk.end)
    ]
    return [(0, chunk.page_start), *later]


def text_hash(text: str) -> bytes:
    """The cache key of a vector: BLAKE2b, 16 bytes, of the embedded text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class NewPaper:
    """A paper to add."""

    path: str
    md5: str
    size_bytes: int
    modified_ns: int
    document: Document
    chunks: Sequence[Chunk]
    vectors: Matrix
    """Unit rows, shape (len(chunks), dimension), float32."""
    tokens: Mapping[bytes, Codes] | None = None
    """Token vectors to store, by the hash of their text."""
    replaces: Sequence[int] = ()
    """Ids of the papers that it replaces."""
    added_at: str = ""
    """When it came into a library, ISO 8601, UTC; empty: now."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint for duplicate detection."""
        return fingerprint_of(self.path, self.document.text, self.document.metadata, self.modified_ns)


def already_there(path: str) -> RagScienceError:
    """The error for a paper whose path or MD5 another one has."""
    fix = "`python ingest.py sync` updates the library."
    return RagScienceError(f"The library has {path} already: the same file, or the same bytes.", fix)


def row_of(new: NewPaper, paper_id: int, first: int, root: str) -> PaperRow:
    """The row of a paper whose passages begin with the id `first`, in the library of the home `root`."""
    document = new.document
    fields = {
        "size_bytes": new.size_bytes,
        "modified_ns": new.modified_ns,
        "pages": len(document.pages),
        "title": document.title,
        "added_at": new.added_at or datetime.now(UTC).isoformat(timespec="seconds"),
        "warnings": document.warnings,
    }
    lists = json.dumps([*_reference_lists(first, new.chunks)], separators=(",", ":"))
    content = new_paper_json(fields, document.metadata)
    return PaperRow(paper_id, path_within(root, new.path), new.md5, first, len(new.chunks), lists, content)


def _reference_lists(first: int, chunks: Sequence[Chunk]) -> Iterator[tuple[int, int]]:
    """(first passage, number) of each run of passages that a search finds only where they are asked for."""
    places = [place for place, chunk in enumerate(chunks) if chunk.kind in ASKED_KINDS]
    for _, group in groupby(enumerate(places), lambda item: item[1] - item[0]):
        run = [place for _, place in group]
        yield first + run[0], len(run)


def parts_of(new: NewPaper) -> dict[str, bytes]:
    """The contents, the outline and the sketch of a paper, packed."""
    chunks = new.chunks
    starts, ends = [chunk.page_start for chunk in chunks], [chunk.page_end for chunk in chunks]
    outline = Outline(starts, ends, [chunk.kind for chunk in chunks], [storable(chunk.section) for chunk in chunks])
    fingerprint = new.fingerprint
    sketch = fingerprint.shingles.to_bytes(8, "little") + fingerprint.sketch.astype("<u8").tobytes()
    return {"contents": PaperContents.of(new.document).pack(), "outline": outline.pack(), "sketch": sketch}


def passage_rows(new: NewPaper) -> Iterator[str]:
    """The fields of each passage as JSON."""
    for chunk in new.chunks:
        fields = [chunk.ordinal, chunk.text, chunk.start, chunk.end, chunk.page_start, chunk.page_end, chunk.section]
        fields += [chunk.kind, page_breaks(chunk, new.document.pages), chunk.header]
        yield storable(json.dumps(fields, separators=(",", ":"), ensure_ascii=False))
