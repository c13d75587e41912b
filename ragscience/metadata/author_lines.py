"""Which lines between the title and the text are the authors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ragscience.metadata.first_page import Segment
from ragscience.metadata.person_names import last_name, names_in, names_of_file

__all__ = ["find_authors"]

_TEXT_BEGINS = re.compile(
    r"(?:\d+\.?\s+)?(?:abstract|a b s t r a c t|summary|introduction|keywords|contents)\b.*", re.I
)
_SENTENCE_WORDS = 9
"""Lower-case words that a line of running text has at least; no line of names has so many."""
_LAST_PART = 0.75
"""Of the page's height: no author is named below."""


def find_authors(
    segments: Sequence[Segment], title_at: int, height: float, file_author: str
) -> tuple[tuple[str, ...], float]:
    """The authors below the title, which ends at segment `title_at`, and how sure that is (0 to 1).

    The first line of names decides what the others look like; the file's own authors stand in where the page has none.
    """
    printed = _printed(segments[title_at + 1 :], height) if title_at >= 0 else []
    own = names_of_file(file_author)
    if not printed:
        return tuple(own), 0.6 if own else 0.0
    agree = {last_name(name).casefold() for name in own} & {last_name(name).casefold() for name in printed}
    return tuple(printed), 0.95 if agree else 0.85 if len(printed) < 40 else 0.6


def _printed(segments: Sequence[Segment], height: float) -> list[str]:
    names: list[str] = []
    model: Segment | None = None
    others: list[Segment] = []
    carried = ""
    for segment in segments:
        if segment.box[1] > _LAST_PART * height or _begins_text(segment):
            break
        is_candidate = (model is None or segment.looks_like(model)) and not _hangs_below(segment, others)
        found, rest = names_in(segment.parts, carried) if is_candidate else ([], "")
        if found:
            model = model or segment
            names.extend(found)
            carried = rest
        else:
            others.append(segment)
            carried = ""
    # One affiliation may stand below several names; nobody is named twice.
    times = Counter(names)
    return [name for name in names if times[name] == 1]


def _begins_text(segment: Segment) -> bool:
    if _TEXT_BEGINS.fullmatch(segment.text):
        return True
    return sum(word.islower() for word in segment.text.split()) >= _SENTENCE_WORDS


def _hangs_below(segment: Segment, others: Sequence[Segment]) -> bool:
    """Whether it goes on with a line that is no names, as a city does with a university."""
    return any(
        other.looks_like(segment)
        and 0 < segment.box[1] - other.box[1] < 1.3 * segment.size
        and min(segment.box[2], other.box[2]) > max(segment.box[0], other.box[0])
        for other in others[-8:]
    )
