"""A Document becomes Chunks: LangChain's recursive splitter, made to remember where each piece comes from.

With the separators kept, the pieces that RecursiveCharacterTextSplitter cuts a text into lie end to end, and a chunk is
a run of them. Here each piece carries its offset from the cut on, so a chunk's place is known, never searched for:
a passage that occurs twice has two places.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Self

from ragscience.records import Chunk, Document

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

__all__ = ["chunk_document", "chunker_identity"]

_VERSION = 1
"""To be raised with any change that gives other chunks for the same text and settings."""


def chunk_document(document: Document, *, size: int, overlap: int, separators: Sequence[str]) -> list[Chunk]:
    """The document's passages in order, each with `document.text[start:end] == text` and no blank at either end.

    `size` and `overlap` are in characters: no chunk is longer than `size` as long as `separators` end with "" (which
    cuts anywhere), and two that follow each other share at most `overlap`. Every visible character is in a chunk.
    A chunk's pages are those of its first and its last character; what stands between two pages counts with the first.
    Raises ValueError for no separators, a size below 1, or an overlap below 0 or above the size.
    """
    if not separators:
        raise ValueError("separators must not be empty")
    splitter = _splitter_class()(
        chunk_size=size, chunk_overlap=overlap, separators=list(separators), keep_separator=True
    )
    page_starts = [page.start for page in document.pages]
    chunks = []
    for ordinal, (start, end) in enumerate(_spans(splitter.split_text(_Piece.at(0, document.text)))):
        first, last = (document.pages[bisect_right(page_starts, position) - 1] for position in (start, end - 1))
        chunks.append(Chunk(ordinal, document.text[start:end], start, end, first.number, last.number))
    return chunks


def chunker_identity(size: int, overlap: int, separators: Sequence[str]) -> str:
    """A line that differs whenever the chunks of a text may: the algorithm with its version, and its settings."""
    return f"recursive-character/{_VERSION} size={size} overlap={overlap} separators={json.dumps(list(separators))}"


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
