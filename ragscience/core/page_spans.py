"""Where words are: the form of a source, and the page of each stretch of a passage."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ragscience.core.records import StoredChunk

__all__ = ["page_label", "page_parts"]


def page_label(file: str, page: int) -> str:
    """The form that a source has everywhere: `(file.pdf, p.3)`."""
    return f"({file}, p.{page})"


def page_parts(chunk: StoredChunk, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(page, start, end) for each page that `chunk.text[start:end]` has words on, in order."""
    breaks = [*chunk.page_breaks, (len(chunk.text), 0)]
    for (begin, page), (stop, _) in pairwise(breaks):
        left, right = max(start, begin), min(end, stop)
        if left < right and chunk.text[left:right].strip():
            yield page, left, right
