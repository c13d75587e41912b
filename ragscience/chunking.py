"""A Document becomes Chunks: LangChain's recursive splitter, within what its sections, tables and references allow.

With the separators kept, the pieces that RecursiveCharacterTextSplitter cuts a text into lie end to end, and a chunk is
a run of them. Here each piece carries its offset from the cut on, so a chunk's place is known, never searched for:
a passage that occurs twice has two places.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Self

from ragscience.records import Chunk, Document, Element

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

__all__ = ["chunk_document", "chunker_identity"]

_VERSION = 2
"""To be raised with any change that gives other chunks for the same document and settings."""
_SEPARATOR = " › "
_LONGEST_TITLE = 200
_SPECIAL = {"abstract", "caption", "equation", "footnote"}
"""Kinds that a chunk takes over where most of its text is of them; it is "text" otherwise."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of elements that chunks do not reach out of."""

    start: int
    end: int
    path: tuple[str, ...]
    """The headings that all of it stands under."""
    kind: str
    """ "table", "reference", or "" for running text, whose kind is told chunk by chunk."""


def chunk_document(document: Document, *, size: int, overlap: int, separators: Sequence[str]) -> list[Chunk]:
    """The document's passages in order, each with `document.text[start:end] == text` and no blank at either end.

    `size` and `overlap` are in characters: no chunk is longer than `size` as long as `separators` end with "" (which
    cuts anywhere), and two that follow each other share at most `overlap`. Every visible character is in a chunk.
    A chunk's pages are those of its first and its last character; what stands between two pages counts with the first.
    Where the document's elements are known, chunks keep to sections, of which small ones next to each other share a
    chunk; a table is one with its caption, and only one larger than `size` is split, between its rows.
    Raises ValueError for no separators, a size below 1, or an overlap below 0 or above the size.
    """
    if not separators:
        raise ValueError("separators must not be empty")
    splitter = _splitter_class()(
        chunk_size=size, chunk_overlap=overlap, separators=list(separators), keep_separator=True
    )
    text = document.text
    page_starts = [page.start for page in document.pages]
    title = _title(document)
    chunks: list[Chunk] = []
    for part in _parts(document, size):
        table = _table_in(document, part) if part.kind == "table" else None
        for start, end in _cuts(splitter, document, part, size):
            first, last = (document.pages[bisect_right(page_starts, position) - 1] for position in (start, end - 1))
            header = _SEPARATOR.join(filter(None, (title, *part.path)))
            if table is not None and start > table.start:
                header += "\n" + _header_row(text, table)
            kind = part.kind or _kind(document.elements, start, end)
            section = _SEPARATOR.join(part.path)
            number = len(chunks)
            chunks.append(Chunk(number, text[start:end], start, end, first.number, last.number, section, kind, header))
    return chunks


def _title(document: Document) -> str:
    """The document's title on one line, from its record or its first page."""
    found = document.title or next(
        (document.text[one.start : one.end] for one in document.elements if one.kind == "title"), ""
    )
    return " ".join(found.split())[:_LONGEST_TITLE]


def _parts(document: Document, size: int) -> Iterator[_Part]:
    """The runs that chunks keep to, in the order of the text, which they cover but for blanks."""
    if not document.elements:
        yield _Part(0, len(document.text), (), "")
        return
    runs = [_Part(run[0].start, run[-1].end, _path(run[0]), kind) for kind, run in _runs(document.elements)]
    merged: list[_Part] = []
    for run in runs:
        last = merged[-1] if merged else None
        joined = _joined(last, run, size) if last else None
        if joined:
            merged[-1] = joined
        else:
            merged.append(run)
    yield from merged


def _path(element: Element) -> tuple[str, ...]:
    return tuple(element.section.split(_SEPARATOR)) if element.section else ()


def _runs(elements: Sequence[Element]) -> Iterator[tuple[str, list[Element]]]:
    """The elements in runs: tables with their captions, references, and running text of one section."""
    for kind, run in groupby(
        _kinds(elements), key=lambda item: (item[1], item[0].section if item[1] != "reference" else "")
    ):
        yield kind[0].partition(" ")[0], [element for element, _ in run]


def _kinds(elements: Sequence[Element]) -> Iterator[tuple[Element, str]]:
    """Each element with "reference", "table N" for the tables and their captions, or "" for running text."""
    tables = 0
    for index, element in enumerate(elements):
        after = elements[index + 1] if index + 1 < len(elements) else None
        if element.kind == "table":
            # A caption stands right before its table and has opened it.
            if not (index and elements[index - 1].kind == "caption"):
                tables += 1
            yield element, f"table {tables}"
        elif element.kind == "caption" and after is not None and after.kind == "table":
            tables += 1
            yield element, f"table {tables}"
        else:
            yield element, "reference" if element.kind == "reference" else ""


def _joined(last: _Part, run: _Part, size: int) -> _Part | None:
    """Two runs of running text as one where they are small and stand under a common heading, else None."""
    if last.kind or run.kind or run.end - last.start > size:
        return None
    common = []
    for above, below in zip(last.path, run.path, strict=False):
        if above != below:
            break
        common.append(above)
    # What stands above all headings, title and authors, goes with what comes first.
    if not common and last.path:
        return None
    return _Part(last.start, run.end, tuple(common) if last.path else run.path, "")


def _cuts(
    splitter: RecursiveCharacterTextSplitter, document: Document, part: _Part, size: int
) -> Iterator[tuple[int, int]]:
    """(start, end) of the chunks of a part."""
    text = document.text
    if part.kind != "table" or part.end - part.start <= size:
        yield from _spans(splitter.split_text(_Piece.at(part.start, text[part.start : part.end])))
        return
    start, end = part.start, part.start
    position = part.start
    while position < part.end:
        line_end = text.find("\n", position, part.end)
        beyond = part.end if line_end < 0 else line_end + 1
        if beyond - start > size and end > start:
            yield from _spans(splitter.split_text(_Piece.at(start, text[start:end])))
            start = end
        end = position = beyond
    yield from _spans(splitter.split_text(_Piece.at(start, text[start:end])))


def _table_in(document: Document, part: _Part) -> Element | None:
    """The table of a part that has one."""
    inside = (one for one in document.elements if part.start <= one.start and one.end <= part.end)
    return next((one for one in inside if one.kind == "table"), None)


def _header_row(text: str, table: Element) -> str:
    return text[table.start : table.end].partition("\n")[0]


def _kind(elements: Sequence[Element], start: int, end: int) -> str:
    """The kind that most of a stretch of running text is of."""
    shares: dict[str, int] = {}
    first = max(bisect_right(elements, start, key=lambda one: one.start) - 1, 0)
    for element in elements[first:]:
        if element.start >= end:
            break
        shares[element.kind] = shares.get(element.kind, 0) + min(end, element.end) - max(start, element.start)
    kind = max(shares, key=lambda name: shares[name], default="text")
    return kind if kind in _SPECIAL and 2 * shares[kind] > end - start else "text"


def chunker_identity(size: int, overlap: int, separators: Sequence[str]) -> str:
    """A line that differs whenever the chunks of a text may: the algorithm with its version, and its settings."""
    return f"sections/{_VERSION} size={size} overlap={overlap} separators={json.dumps(list(separators))}"


class _Piece(str):
    """A part of a text that knows at which offset it begins there."""

    __slots__ = ("start",)
    start: int

    @classmethod
    def at(cls, start: int, text: str) -> Self:
        piece = cls(text)
        piece.start = start
        return piece

    def cut(self, separator: str) -> list[_Piece]:
        """The parts, end to end, each but the first beginning with the separator; each character for itself if ""."""
        if not separator:
            return [_Piece.at(self.start + offset, character) for offset, character in enumerate(self)]
        bounds = [0]
        found = self.find(separator)
        while found >= 0:
            bounds.append(found)
            found = self.find(separator, found + len(separator))
        bounds.append(len(self))
        return [_Piece.at(self.start + begin, self[begin:end]) for begin, end in pairwise(bounds) if begin < end]


def _spans(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """The (start, end) of each piece without the blanks around it, but of none that lies within one beside it.

    Such a piece has nothing but the overlap and blanks: the passage before or after it holds all that it says.
    """
    spans: list[tuple[int, int]] = []
    for piece in pieces:
        if not isinstance(piece, _Piece):
            raise TypeError("the splitter lost track of where a passage begins: check the version of LangChain")
        start = piece.start + len(piece) - len(piece.lstrip())
        end = start + len(piece.strip())
        if start == end or (spans and end <= spans[-1][1]):
            continue
        while spans and start <= spans[-1][0]:
            spans.pop()
        spans.append((start, end))
    return spans


@cache
def _splitter_class() -> type[RecursiveCharacterTextSplitter]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class SpanSplitter(RecursiveCharacterTextSplitter):
        """Cuts and joins _Pieces; when to cut and what to merge is decided as in the class above it."""

        def _split_text(self, text: str, separators: list[str]) -> list[str]:
            """The chunks of a _Piece, by the first separator that occurs in it, longer parts by the ones after."""
            assert isinstance(text, _Piece)  # noqa: S101 - split_text is only called with one, as is this below
            index = next((i for i, separator in enumerate(separators) if separator in text), len(separators) - 1)
            finer = separators[index + 1 :] if separators[index] else []
            chunks: list[str] = []
            run: list[str] = []
            for piece in text.cut(separators[index]):
                if len(piece) < self._chunk_size:
                    run.append(piece)
                    continue
                chunks += self._merge_splits(run, "") if run else []
                run = []
                chunks += self._split_text(piece, finer) if finer else [piece]
            return chunks + (self._merge_splits(run, "") if run else [])

        def _join_docs(self, docs: list[str], separator: str) -> str | None:
            """The run of pieces as one, at the place of the first."""
            first = docs[0] if docs else None
            assert first is None or isinstance(first, _Piece)  # noqa: S101 - they are those of _split_text
            return _Piece.at(first.start, separator.join(docs)) if first is not None else None

    return SpanSplitter
