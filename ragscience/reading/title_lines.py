"""Which lines of the first page are the title."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.reading.author_names import names_in
from ragscience.reading.first_page import Segment
from ragscience.reading.name_words import plain_text
from ragscience.reading.text_cleaning import sensible_title

_BANNER = re.compile(
    r"\bjournal of\b|\bjournal$|proceedings of|procedia|transactions on|annals of|bulletin of|elsevier|springer|"
    r"sciencedirect|contents lists|available online|https?:|www\.|\bissn\b|\bvol(?:ume)?\b|\bdoi\b|published|"
    r"(?:original|research|review|position|invited) (?:article|paper|research)|open access|technical report|preprint|"
    r"accepted|received|copyright|©|arxiv|\blecture notes\b|^letters?$|permission to|proper attribution|under review|"
    r"running head|terms of use",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"(?:\d+\.?\s+)?(?:abstract|a b s t r a c t|summary|introduction|contents|references|keywords)\b.?", re.I
)
_NO_SUBTITLE = re.compile(
    r"@|\b(?:19|20)\d\d\b|^\(|\b(?:universit|institut|department|laborator|college|school|version|draft|thesis|"
    r"dissertation|invited|extended abstract|inc\.|corporation|by\b)",
    re.IGNORECASE,
)
_SHORTEST = 6
"""Letters and digits of a title in a file's properties, at least."""
_FIRST_PART = 0.65
"""Share of the page's height: no title begins below it."""
_STANDS_OUT = 1.12
"""How many times larger than the running text a title is, if its size alone shows it."""


@dataclass(frozen=True, slots=True)
class Title:
    """A title and where it ends; the authors are below."""

    text: str
    confidence: float
    last: int
    """Index of its last segment on the page; -1 where it is not from the page."""


def squashed(text: str) -> str:
    """Letters and digits alone, case aside."""
    return "".join(char for char in plain_text(text).casefold() if char.isalnum())


def says_nothing(file_title: str) -> bool:
    """Whether the title in a file's properties is a placeholder of a program, or too short."""
    own = plain_text(file_title)
    return " " not in own or not sensible_title(own) or len(squashed(own)) < _SHORTEST


def find_title(segments: Sequence[Segment], height: float, body: float, file_title: str, text: str) -> Title:
    """The title by its size, its place and what follows it, or the file's title where the page has none.

    `height` is the page's and `body` the size of its running text, in points; `text` decides about hyphens.
    """
    own = "" if says_nothing(file_title) else plain_text(file_title)
    best: tuple[float, list[int]] = (0.0, [])
    for places in _runs(segments, _end_of_front(segments)):
        score = _score(segments, places, height, body, own)
        if score > best[0]:
            best = (score, places)
    score, places = best
    if not places:
        return Title(own, 0.5 if own else 0.0, -1)
    places = [*places, *_further_lines(segments, places, body)]
    title = _joined([segments[place].text for place in places], text)
    if own and squashed(own) == squashed(title):
        return Title(own if title.isupper() else title, 0.98, places[-1])
    ratio = segments[places[0]].size / body
    if own and ratio < _STANDS_OUT and squashed(own) in squashed(text):
        return Title(own, 0.8, places[-1])
    sure = min(0.95, 0.35 + 0.35 * score / 1.5) if ratio > _STANDS_OUT else 0.3
    return Title(title, round(sure, 2), places[-1])


def _end_of_front(segments: Sequence[Segment]) -> int:
    """Index of the first section heading, or the number of segments."""
    for place, segment in enumerate(segments):
        if place > 0 and _SECTION.fullmatch(segment.text):
            return place
    return len(segments)


def _runs(segments: Sequence[Segment], end: int) -> list[list[int]]:
    """The indices of each run of segments of one type below each other."""
    runs: list[list[int]] = []
    for place in range(end):
        segment = segments[place]
        run = next((run for run in reversed(runs[-6:]) if _continues(segments[run[-1]], segment)), None)
        if run is None:
            runs.append([place])
        else:
            run.append(place)
    return runs


def _continues(above: Segment, below: Segment) -> bool:
    step = below.box[1] - above.box[1]
    overlap = min(above.box[2], below.box[2]) - max(above.box[0], below.box[0])
    return above.looks_like(below) and 0.5 * above.size < step < 2.0 * above.size and overlap > 0


def _further_lines(segments: Sequence[Segment], places: list[int], body: float) -> list[int]:
    """The indices of the title's lines in another size: a subtitle, or a line that a scanner measured otherwise."""
    found: list[int] = []
    first, last = segments[places[0]], segments[places[-1]]
    for place in range(places[-1] + 1, min(places[-1] + 4, len(segments))):
        segment = segments[place]
        step = segment.box[1] - last.box[1]
        overlap = min(last.box[2], segment.box[2]) - max(last.box[0], segment.box[0])
        if step > 2.0 * first.size or overlap <= 0 or segment.bold != first.bold:
            continue
        is_subtitle = 1.15 * body < segment.size and 0.65 * first.size < segment.size
        is_measured_otherwise = 0.88 < segment.size / last.size < 1.13 and step < 1.3 * last.size
        if not (is_subtitle or is_measured_otherwise) or not _may_be_title(segment):
            break
        found.append(place)
        last = segment
    return found


def _may_be_title(segment: Segment) -> bool:
    """Whether a line below a title may continue it: it is no line of names, no address, no date, no banner."""
    text = segment.text
    line = names_in(segment.parts, in_list=True)
    if line.names or line.half or _BANNER.search(text) or _NO_SUBTITLE.search(text) or _SECTION.fullmatch(text):
        return False
    return sum(map(str.isalpha, text)) > 5


def _score(segments: Sequence[Segment], places: list[int], height: float, body: float, own: str) -> float:
    """How much a run of segments resembles a title; 0 where it cannot be one."""
    first, last = segments[places[0]], segments[places[-1]]
    text = " ".join(segments[place].text for place in places)
    letters, words = sum(map(str.isalpha, text)), len(text.split())
    if letters < 4 or words > 45 or first.box[1] > _FIRST_PART * height or _SECTION.fullmatch(text):
        return 0.0
    score = min(first.size / body, 2.5)
    if own and squashed(own) == squashed(text):
        score += 1.0
    if _BANNER.search(text) and words < 40:
        score -= 0.7
    if last.box[3] < 0.06 * height:
        score -= 0.4
    if words == 1:
        score -= 0.4
    if names_in(first.parts).names and first.size < 1.3 * body:
        score -= 0.4
    if any("@" in above.text for above in segments[: places[0]]):
        score -= 0.7
    score += 0.1 * first.bold
    below = segments[places[-1] + 1 : places[-1] + 5]
    if any(names_in(segment.parts).names for segment in below):
        score += 0.4
    return max(score, 0.0)


def _joined(lines: list[str], text: str) -> str:
    """The lines joined; a hyphen at a line's end stays where `text` has it in that word, or where it is two words."""
    joined = lines[0]
    for line in lines[1:]:
        if not joined.endswith("-"):
            joined = f"{joined} {line}"
            continue
        before, after = re.split(r"\s", joined)[-1], re.split(r"\s", line)[0]
        keeps = not after[:1].islower() or (before + after).casefold() in plain_text(text).casefold()
        joined = joined + line if keeps else joined[:-1] + line
    return joined
