"""The authors of a paper: the lines of names between its title and its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragscience.reading.author_names import (
    NameLine,
    is_rest_of_name,
    last_name,
    names_in,
    names_of_file,
    written_alike,
)
from ragscience.reading.first_page import Segment
from ragscience.reading.name_words import plain_letters

__all__ = ["find_authors"]

_TEXT_BEGINS = re.compile(
    r"(?:\d+\.?\s+)?(?:abstract|a b s t r a c t|summary|introduction|keywords|key words|contents|index terms|"
    r"article info|background|objectives?|purpose)\b.*",
    re.IGNORECASE,
)
_SENTENCE_WORDS = 6
"""Lower-case words of a line of running text, at least; no line of names has so many."""
_SENTENCE_SHARE = 0.55
_LAST_PART = 0.75
"""Share of the page's height: no author is named below it."""
_WIDER_THAN_BLANK, _WIDE = 2.0, 2.8
"""Gaps in times the type size, below which a lone word belongs to what is beside it, and two lone words together."""
_MANY = 40
"""A list of more names is more often a misreading than a list."""
_EMAIL = re.compile(r"[\w.{},+-]{1,200}@[\w-]{2,40}\.[\w.-]{2,40}")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
"""No line of names has one: a date, or the journal."""
UNSURE = 0.45
"""Confidence of a list from which a name may be missing."""


def find_authors(
    segments: Sequence[Segment], title_at: int, height: float, file_author: str
) -> tuple[tuple[str, ...], float]:
    """The authors below the title, which ends at segment `title_at` (-1: no title), and a confidence from 0 to 1.

    The first line of names decides the type of the others. Where the file's list of authors is longer and all of it is
    printed there, it is taken; without names on the page, `file_author` is parsed.
    """
    block = _lines_joined(_rows_joined(list(_block(segments, title_at, height)))) if title_at >= 0 else []
    printed, is_whole = _printed(block)
    own = names_of_file(file_author)
    if not printed:
        return tuple(own), 0.6 if own else 0.0
    text = _squashed(" ".join(segment.text for segment in block))
    if len(own) > len(printed) and all(_squashed(name) in text for name in own):
        return tuple(own), 0.95
    agree = {last_name(name).casefold() for name in own} & {last_name(name).casefold() for name in printed}
    sure = 0.95 if agree else 0.85 if len(printed) < _MANY else 0.6
    return tuple(printed), sure if is_whole or len(own) == len(printed) else UNSURE


def _squashed(text: str) -> str:
    return "".join(char for char in plain_letters(text) if char.isalpha())


def _block(segments: Sequence[Segment], title_at: int, height: float) -> Iterator[Segment]:
    """The segments between the title and the text, without those of a column beside the title."""
    title = segments[title_at]
    same = [title, *(segment for segment in segments[:title_at] if segment.looks_like(title))]
    left, right = min(segment.box[0] for segment in same), max(segment.box[2] for segment in same)
    beside: list[Segment] = []
    for segment in segments[title_at + 1 :]:
        if segment.box[1] > _LAST_PART * height:
            return
        is_beside = segment.box[0] > right or segment.box[2] < left
        if _begins_text(segment.text):
            if not is_beside:
                return
            beside.append(segment)
        elif not (is_beside and any(one.box[0] - 3 < segment.box[0] < one.box[2] for one in beside)):
            yield segment


def _rows_joined(block: Sequence[Segment]) -> list[Segment]:
    """The block with words that a wide blank parts put together again, as in justified and scanned lines."""
    joined: list[Segment] = []
    for segment in block:
        last = joined[-1] if joined else None
        if last and abs(last.box[3] - segment.box[3]) < 0.3 * segment.size and last.looks_like(segment):
            gap = segment.box[0] - last.box[2]
            lone = [" " not in one.text and not one.text.endswith(",") for one in (last, segment)]
            if 0 <= gap < (_WIDE if all(lone) else _WIDER_THAN_BLANK) * segment.size and any(lone):
                box = (last.box[0], min(last.box[1], segment.box[1]), segment.box[2], max(last.box[3], segment.box[3]))
                parts = (*last.parts[:-1], f"{last.parts[-1]} {segment.parts[0]}", *segment.parts[1:])
                joined[-1] = replace(last, text=f"{last.text} {segment.text}", parts=parts, box=box)
                continue
        joined.append(segment)
    return joined


def _lines_joined(block: Sequence[Segment]) -> list[Segment]:
    """The block with the lines joined between which a name is broken: "Edward Van / Keuren, Alan Migdall"."""
    joined: list[Segment] = []
    for segment in block:
        above = joined[-1] if joined else None
        if above and above.looks_like(segment) and 0 < segment.box[1] - above.box[1] < 1.6 * segment.size:
            is_hyphened = above.text.endswith("-") and segment.text[0].islower()
            if is_rest_of_name(above.parts, segment.parts, is_hyphened=is_hyphened):
                end = above.parts[-1].removesuffix("-") if is_hyphened else f"{above.parts[-1]} "
                box = (
                    min(above.box[0], segment.box[0]),
                    above.box[1],
                    max(above.box[2], segment.box[2]),
                    segment.box[3],
                )
                parts = (*above.parts[:-1], end + segment.parts[0], *segment.parts[1:])
                joined[-1] = replace(above, text=f"{above.text} {segment.text}", parts=parts, box=box)
                continue
        joined.append(segment)
    return joined


def _begins_text(text: str) -> bool:
    if _TEXT_BEGINS.fullmatch(text):
        return True
    words = [word.strip(".,;:()") for word in text.split()]
    small = sum(word.islower() and word.isalpha() for word in words)
    return "@" not in text and small >= _SENTENCE_WORDS and small >= _SENTENCE_SHARE * len(words)


def _printed(block: Sequence[Segment]) -> tuple[list[str], bool]:
    """The names in the block, and whether every name of it could be read."""
    addresses = "".join(found for segment in block for found in _EMAIL.findall(segment.text)).casefold()
    found: list[tuple[Segment, NameLine]] = []
    others: list[Segment] = []
    last = NameLine()
    for segment in block:
        line = NameLine()
        if _is_candidate(segment, found, others):
            line = names_in(segment.parts, last.half, in_list=last.goes_on or bool(last.half))
            if line.names and _is_below_its_name(segment, line, found, addresses):
                line = NameLine()
        if line.names or line.half:
            found.append((segment, line))
            last = line
        elif found and segment.size < 0.8 * found[0][0].size and len(segment.text) < 4:
            continue
        else:
            others.append(segment)
            last = NameLine()
    # One affiliation may be printed below several names; no author is named twice.
    names = [name for _, line in found for name in line.names]
    times = Counter(names)
    return written_alike([name for name in names if times[name] == 1]), all(line.is_whole for _, line in found)


def _is_candidate(segment: Segment, found: Sequence[tuple[Segment, NameLine]], others: Sequence[Segment]) -> bool:
    """Whether a segment may be a line of names: set as the first one, or beside one."""
    if _hangs_below(segment, others) or _YEAR.search(segment.text):
        return False
    if not found or segment.looks_like(found[0][0]):
        return True
    beside = [one for one, _ in found if abs(one.box[3] - segment.box[3]) < 0.3 * segment.size]
    return any(abs(one.size - segment.size) < 0.2 * one.size and one.bold == segment.bold for one in beside)


def _hangs_below(segment: Segment, others: Sequence[Segment]) -> bool:
    """Whether the segment continues a line without names, as a city continues a university."""
    return any(
        other.looks_like(segment)
        and 0 < segment.box[1] - other.box[1] < 1.3 * segment.size
        and min(segment.box[2], other.box[2]) > max(segment.box[0], other.box[0])
        for other in others[-8:]
    )


def _is_below_its_name(
    segment: Segment, line: NameLine, found: Sequence[tuple[Segment, NameLine]], addresses: str
) -> bool:
    """Whether a lone "name" is the affiliation of the name above it: that one has an e-mail address, this one none."""
    if len(line.names) != 1 or not addresses:
        return False
    for other, above in reversed(found[-8:]):
        is_near = 0 < segment.box[1] - other.box[1] < 1.5 * segment.size
        overlap = min(segment.box[2], other.box[2]) - max(segment.box[0], other.box[0])
        if is_near and overlap > 0 and len(above.names) == 1 and not above.goes_on and "@" not in other.text:
            return _is_addressed(above.names[0], addresses) and not _is_addressed(line.names[0], addresses)
    return False


def _is_addressed(name: str, addresses: str) -> bool:
    return any(len(word) > 2 and plain_letters(word) in addresses for word in re.split(r"[\s.-]+", name))
