"""Splits a Document into Chunks: sentences packed within the limits of sections, tables and references.

Text of unknown structure is split by LangChain's RecursiveCharacterTextSplitter, which keeps a paragraph whole that is
shorter than a chunk. Running text of known structure is split into sentences by the same separators before it is
packed, so that passages are full and overlap: docs/choices.md, "Reading". Each piece carries its offset from the start,
so a chunk's position is known, never searched for: a passage that occurs twice has two positions.
"""

from __future__ import annotations

import json
import textwrap
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Self

from ragscience.core.paper_records import NOTES_OF
from ragscience.core.records import ASKED_KINDS, NOTE, Chunk, Document, Element

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

_VERSION = 5
"""Incremented with any change that gives other chunks for the same document and settings."""
_SEPARATOR = " › "
_LONGEST_TITLE = 200
_SHORT = 400
"""Minimum characters of a section that is a passage of its own: docs/choices.md, "Reading"."""
SEPARATORS = ("\n\n", "\n", ". ", " ", "")
"""Where a chunk of text without structure may end, the best place first (the guide)."""
_CUTS_SENTENCES = {" ", ""}
"""Separators used only inside a sentence longer than a chunk, if the structure is known."""
_SPECIAL = {"abstract", "caption", "equation", "footnote"}
"""Kinds that a chunk takes if most of its text has them; otherwise it is "text"."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span of running text that is not split further: a sentence, a heading, a line of a list."""

    start: int
    end: int
    heading: bool
    section: str
    begun: int
    """Start of the run's part of the section: the section itself, or its text from a table on."""
    until: int
    """End of that part."""


def chunk_document(document: Document, *, size: int, overlap: int) -> list[Chunk]:
    """The document's passages in order, each with `document.text[start:end] == text` and no blank at either end.

    `size` and `overlap` are in characters: no chunk is longer than `size`, and two consecutive ones share at most
    `overlap`. Every visible character is in a chunk.
    A chunk's pages are those of its first and its last character; text between two pages counts with the first.
    If the document's elements are known, running text is packed into chunks sentence by sentence. A chunk stays in
    its section; short sections are joined with their neighbours of the same chapter (a section of the first level),
    and such a chunk's section is the one that it begins in. A table forms one with its caption, and is split, between
    its rows, only if larger than `size`; references and the text in figures are separate.
    Raises ValueError for a size below 1, or an overlap below 0 or above the size.
    """
    splitter = splitter_class()(chunk_size=size, chunk_overlap=overlap, separators=[*SEPARATORS], keep_separator=True)
    text = document.text
    page_starts = [page.start for page in document.pages]
    title = _title(document)
    chunks: list[Chunk] = []

    def add(start: int, end: int, section: str, kind: str, header_row: str = "") -> None:
        first, last = (document.pages[bisect_right(page_starts, position) - 1] for position in (start, end - 1))
        header = "\n".join(filter(None, (_SEPARATOR.join(filter(None, (title, section))), header_row)))
        number = len(chunks)
        chunks.append(Chunk(number, text[start:end], start, end, first.number, last.number, section, kind, header))

    if not document.elements:
        for start, end in _split(splitter, text, 0, len(text)):
            add(start, end, "", "text")
    for kind, run in _runs(document.elements):
        if kind:
            table = next((one for one in run if one.kind == "table"), None)
            for start, end in _cuts(splitter, text, (run[0].start, run[-1].end), size if table else None):
                row = text[table.start : table.end].partition("\n")[0] if table and start > table.start else ""
                add(start, end, run[0].section, kind, row)
            continue
        for start, end in _filled(text, run, size, overlap):
            add(start, end, *_section_and_kind(run, start, end))
    return chunks


NOTES = "Your notes"
"""The section of passages that are a reader's words, where the file does not say whose."""


def with_notes(document: Document, chunks: Sequence[Chunk], size: int) -> tuple[Document, list[Chunk]]:
    """The document with its reader's marks after the text of its pages, and a passage of at most `size` for each.

    A mark's page is that of the words that it marks; the text after the pages is on none.
    """
    text, found, last = document.text, [*chunks], len(document.pages)
    for mark in document.marks:
        said = " — ".join(filter(None, (mark.text and f"“{mark.text}”", mark.comment)))
        page, section = min(max(1, mark.page), last), f"{NOTES_OF}{mark.author}" if mark.author else NOTES
        header = _SEPARATOR.join(filter(None, (_title(document), section)))
        for piece in textwrap.wrap(said, size):
            start = len(text) + 2
            text = f"{text}\n\n{piece}"
            found.append(Chunk(len(found), piece, start, len(text), page, page, section, NOTE, header))
    return replace(document, text=text), found


def _title(document: Document) -> str:
    """The document's title on one line, from its record or its first page."""
    found = document.title or next(
        (document.text[one.start : one.end] for one in document.elements if one.kind == "title"), ""
    )
    return " ".join(found.split())[:_LONGEST_TITLE]


def _runs(elements: Sequence[Element]) -> list[tuple[str, list[Element]]]:
    """(kind, elements) of each table with its caption, figure, list of references, and of the running text between.

    The kind of running text is "", as it is set passage by passage. A heading with references or a figure behind it
    goes with them: "References" alone says nothing.
    """
    runs: list[tuple[str, list[Element]]] = []
    for element in reversed(elements):
        kind = element.kind if element.kind in (*ASKED_KINDS, "table") else ""
        its_kind, its = runs[-1] if runs else (None, [])
        is_its_caption = element.kind == "caption" and bool(its) and its[-1].kind == "table"
        is_its_heading = element.kind == "heading" and its_kind in ASKED_KINDS
        if is_its_caption or is_its_heading or kind == its_kind != "table":
            its.append(element)
        else:
            runs.append((kind, [element]))
    return [(kind, run[::-1]) for kind, run in reversed(runs)]


# Running text


def _filled(text: str, elements: Sequence[Element], size: int, overlap: int) -> list[tuple[int, int]]:
    """(start, end) of the passages of running text: as many pieces as fit, the next one starting at the overlap.

    No overlap crosses into another section.
    """
    pieces = _pieces(text, elements, size, overlap)
    spans: list[tuple[int, int]] = []
    first = 0
    while first < len(pieces):
        begin, beyond = first, _beyond(pieces, first, size)
        spans.append((pieces[begin].start, pieces[beyond - 1].end))
        first = beyond
        while (
            beyond < len(pieces)
            and first - 1 > begin
            and pieces[first - 1].section == pieces[beyond].section
            and spans[-1][1] - pieces[first - 1].start <= overlap
            and pieces[beyond].end - pieces[first - 1].start <= size
        ):
            first -= 1
    return _trimmed(text, spans)


def _beyond(pieces: Sequence[_Piece], first: int, size: int) -> int:
    """The index of the piece before which the passage that begins with piece `first` ends.

    It does not end with a heading, unless it contains nothing else.
    """
    beyond = first + 1
    while beyond < len(pieces) and pieces[beyond].end - pieces[first].start <= size:
        before, after = pieces[beyond - 1], pieces[beyond]
        if before.section != after.section and not _gathered(pieces[first], before, after, size):
            break
        beyond += 1
    while beyond < len(pieces) and beyond - 1 > first and pieces[beyond - 1].heading:
        beyond -= 1
    return beyond


def _gathered(first: _Piece, before: _Piece, after: _Piece, size: int) -> bool:
    """Whether a passage that begins with `first` continues beyond `before` into the section that begins with `after`.

    It does within a chapter, if it has only short sections so far, or a short one that fits whole follows. Text
    above all headings goes with the first of them.
    """
    chapter, its_chapter = (piece.section.partition(_SEPARATOR)[0] for piece in (before, after))
    is_short = first.start == first.begun and before.until - first.start < _SHORT
    fits = after.until - after.start < _SHORT and after.until - first.start <= size
    return chapter in ("", its_chapter) and (is_short or fits)


def _pieces(text: str, elements: Sequence[Element], size: int, overlap: int) -> list[_Piece]:
    """The elements split into contiguous pieces."""
    pieces: list[_Piece] = []
    ends = [*(after.start for after in elements[1:]), elements[-1].end]
    for section, members in groupby(zip(elements, ends, strict=True), key=lambda item: item[0].section):
        run = list(members)
        begun, until = run[0][0].start, run[-1][0].end
        for element, end in run:
            for start, stop in _finer(text, element.start, end, size, overlap):
                pieces.append(_Piece(start, stop, element.kind == "heading", section, begun, until))
    return pieces


def _finer(
    text: str, start: int, end: int, size: int, overlap: int, separators: Sequence[str] = SEPARATORS
) -> Iterator[tuple[int, int]]:
    """A span split at every separator except those inside sentences, which only split what is too long.

    The visible part of a separator ends a piece: a sentence keeps its full stop.
    """
    for index, separator in enumerate(separators):
        if separator in _CUTS_SENTENCES and end - start <= size:
            continue
        if not separator:
            step = min(size, overlap or size)
            yield from ((position, min(position + step, end)) for position in range(start, end, step))
            return
        ends = [found + len(separator.rstrip()) for found in _places(text, separator, start, end)]
        if ends:
            for begin, until in pairwise([start, *ends, end]):
                if begin < until:
                    yield from _finer(text, begin, until, size, overlap, separators[index + 1 :])
            return
    yield start, end


def _places(text: str, separator: str, start: int, end: int) -> Iterator[int]:
    """Where a separator begins in a part of the text."""
    found = text.find(separator, start, end)
    while found >= 0:
        yield found
        found = text.find(separator, found + len(separator), end)


def _cuts(
    splitter: RecursiveCharacterTextSplitter, text: str, span: tuple[int, int], table_size: int | None
) -> Iterator[tuple[int, int]]:
    """(start, end) of the chunks of a figure or of references; of a table above a size they end with its rows."""
    start, end = span
    if table_size is not None and end - start > table_size:
        at = start
        for line in text[start:end].split("\n"):
            beyond = min(at + len(line) + 1, end)
            if beyond - start > table_size and at > start:
                yield from _split(splitter, text, start, at)
                start = at
            at = beyond
    yield from _split(splitter, text, start, end)


def _section_and_kind(elements: Sequence[Element], start: int, end: int) -> tuple[str, str]:
    """The section that a span of running text begins in, or its first one below a heading; the kind of most of it."""
    first = max(bisect_right(elements, start, key=lambda one: one.start) - 1, 0)
    touched = elements[first : bisect_left(elements, end, key=lambda one: one.start)]
    shares = Counter[str]()
    for element in touched:
        shares[element.kind] += min(end, element.end) - max(start, element.start)
    ((kind, share),) = shares.most_common(1) or [("text", 0)]
    section = next((element.section for element in touched if element.section), "")
    return section, kind if kind in _SPECIAL and 2 * share > end - start else "text"


def chunker_identity(size: int, overlap: int) -> str:
    """A fingerprint that changes whenever the chunks of a text may: algorithm, version and settings."""
    return f"sections/{_VERSION} size={size} overlap={overlap} separators={json.dumps(SEPARATORS)}"


class _Placed(str):
    """A part of a text that knows its offset there."""

    __slots__ = ("start",)
    start: int

    @classmethod
    def at(cls, start: int, text: str) -> Self:
        piece = cls(text)
        piece.start = start
        return piece

    def cut(self, separator: str) -> list[_Placed]:
        """The contiguous parts, each but the first beginning with the separator; single characters if ""."""
        if not separator:
            return [_Placed.at(self.start + offset, character) for offset, character in enumerate(self)]
        bounds = [0, *_places(self, separator, 0, len(self)), len(self)]
        return [_Placed.at(self.start + begin, self[begin:end]) for begin, end in pairwise(bounds) if begin < end]


def _split(splitter: RecursiveCharacterTextSplitter, text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The (start, end) of each piece that the splitter makes of a part of the text, as `_trimmed` has them."""
    pieces = splitter.split_text(_Placed.at(start, text[start:end]))
    placed = [piece for piece in pieces if isinstance(piece, _Placed)]
    if len(placed) < len(pieces):
        raise TypeError("the splitter lost track of where a passage begins: check the version of LangChain")
    return _trimmed(text, [(piece.start, piece.start + len(piece)) for piece in placed])


def _trimmed(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans without surrounding whitespace, without those that are then empty or lie within the one before or after.

    Such a one has only overlap and whitespace: the passage before or after it contains all its text.
    """
    kept: list[tuple[int, int]] = []
    for start, end in spans:
        piece = text[start:end]
        first = start + len(piece) - len(piece.lstrip())
        last = first + len(piece.strip())
        if first == last or (kept and last <= kept[-1][1]):
            continue
        while kept and first <= kept[-1][0]:
            kept.pop()
        kept.append((first, last))
    return kept


@cache
def splitter_class() -> type[RecursiveCharacterTextSplitter]:
    """LangChain's splitter, for a `_Placed`; to import it takes 0.3 s."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class SpanSplitter(RecursiveCharacterTextSplitter):
        """Splits and joins pieces; the parent class decides when to split and what to merge."""

        def _split_text(self, text: str, separators: list[str]) -> list[str]:
            """The chunks of a _Placed, by the first separator that occurs in it, longer parts by the later ones."""
            assert isinstance(text, _Placed)  # noqa: S101 - split_text is only called with one, as is this below
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
            """The run of pieces as one, at the offset of the first."""
            first = docs[0] if docs else None
            assert first is None or isinstance(first, _Placed)  # noqa: S101 - they are those of _split_text
            return _Placed.at(first.start, separator.join(docs)) if first is not None else None

    return SpanSplitter
