"""What a paper's file and first page say of it: title, authors, arXiv id, DOI, venue and year."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragscience.metadata.author_block import find_authors
from ragscience.metadata.first_page import Segment, blocks_of, body_size, segments_of, stamps_of
from ragscience.metadata.plain_letters import plain_text
from ragscience.metadata.title_lines import find_title
from ragscience.records import Metadata

__all__ = ["find_arxiv_id", "find_doi", "find_venue", "find_year", "metadata_of"]

Found = tuple[str, float]
"""A value, maybe "", and a confidence from 0 to 1."""

_ARXIV = r"(?:\d{4}\.\d{4,5}|[a-z]+(?:-[a-z]+)?(?:\.[A-Z]{2})?/\d{7})(?:v\d{1,2})?"
_STAMP = re.compile(rf"\barXiv:\s*({_ARXIV})(?!\d)", re.IGNORECASE)
_LINE = re.compile(rf"arXiv:\s*({_ARXIV})(?!\d)", re.IGNORECASE)
_DOI = re.compile(r"\b(10\.\d{4,9}/[^\s\"<>{}|\\^]+)")
_YEAR = r"((?:19|20)\d\d)"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(rf"\b(?:\d{{1,2}}\s+{_MONTH}|{_MONTH}(?:\s+\d{{1,2}})?),?\s+{_YEAR}\b", re.IGNORECASE)
_DATE_LINE = re.compile(rf"\(?(?:[A-Za-z]+ ){{0,3}}{_DATE.pattern}\)?\.?", re.IGNORECASE)
_TITLE_WORD = r"(?:[A-Z][\w.&:-]*|of|on|in|and|the|for)"
_VENUES = tuple(
    (re.compile(pattern.format(year=_YEAR, word=_TITLE_WORD)), confidence)
    for pattern, confidence in (
        (r"\bPublished as an? .{{0,20}}paper at (?:the )?([A-Z][\w&/ -]{{1,60}}?),? {year}\b", 0.95),
        (r"\b(?:Conference|Symposium|Workshop) [^.()]{{0,120}}\(([A-Z][\w&/-]*[A-Z]\w*)[ ’']{year}\)", 0.95),
        (
            r"\b(?:[Tt]o appear|[Pp]resented|[Aa]ccepted) (?:in|at|to) (?:the )?([A-Z][\w&/’' -]{{1,60}}?),? {year}\b",
            0.9,
        ),
        (
            r"(?<!appear in the )\bProceedings of (?:the )?"
            r"([A-Z\d][^.,()]{{4,120}}?)(?:[,.(][^©]{{0,100}}?| ){year}\b",
            0.85,
        ),
        (r"^([A-Z][A-Za-z.&: ]{{2,60}}?)\.?,? {year}\s?;\s?\d+", 0.9),
        (
            r"^({word}(?: {word}){{0,9}}),? (?:Vol(?:ume|\.)?\s?)?\d{{1,4}}\s?(?:\(|, ?(?:No|pp)).{{0,40}}?{year}\b",
            0.7,
        ),
    )
)
"""Patterns of a venue (first group) with its year (second group), each with a confidence."""
_MEETING = re.compile(r"\b(?:Proceedings|Conference|Symposium|Workshop)\b", re.IGNORECASE)
_ORDINAL = re.compile(r"(\d) (st|nd|rd|th)\b")
_FROM_STYLE = 0.3
_COPYRIGHT = re.compile(rf"(?:©|\(c\)|copyright|c⃝)\s*{_YEAR}\b", re.IGNORECASE)
_OLD_STYLE = re.compile(r"(?:[a-z.-]+/)?(\d\d)(\d\d)")
_DEFAULT_HEIGHT_PT = 792.0


def metadata_of(
    page_dicts: Sequence[Mapping[str, Any]], file_metadata: Mapping[str, str | None], first_pages_text: str
) -> Metadata:
    """Title, authors, year, venue and identifiers, each with a confidence.

    `page_dicts` are pages as PyMuPDF's `page.get_text("dict")` gives them (only the first is used), `file_metadata` is
    `document.metadata`. The words of `first_pages_text` decide whether a hyphen in the title belongs to its word.
    """
    page: Mapping[str, Any] = page_dicts[0] if page_dicts else {}
    height = float(page.get("height") or _DEFAULT_HEIGHT_PT)
    segments, stamps = segments_of(page), stamps_of(page)
    file_values = {name: plain_text(value) for name, value in file_metadata.items() if isinstance(value, str)}
    stated = [file_values[name] for name in ("subject", "keywords", "title") if file_values.get(name)]

    title = find_title(segments, height, body_size(segments), file_values.get("title", ""), first_pages_text)
    authors, author_confidence = find_authors(segments, title.last, height, file_values.get("author", ""))
    arxiv_id, arxiv_confidence = find_arxiv_id(stamps, segments, stated)
    doi, doi_confidence = find_doi(segments, stated, height)
    printed = [*(segment.text for segment in segments), *blocks_of(page)]
    venue, venue_year, venue_confidence = find_venue(printed, stated)
    created = file_values.get("creationDate", "")
    year, year_confidence = find_year(segments, stamps, (venue_year, venue_confidence), arxiv_id, created)
    confidence = {
        "title": title.confidence,
        "authors": author_confidence,
        "year": year_confidence,
        "venue": venue_confidence,
        "doi": doi_confidence,
        "arxiv_id": arxiv_confidence,
    }
    return Metadata(
        title.text, authors, year, venue, doi, arxiv_id, {name: sure for name, sure in confidence.items() if sure}
    )


def find_arxiv_id(stamps: Iterable[str], segments: Sequence[Segment], file_values: Iterable[str]) -> Found:
    """The paper's own arXiv id: from the stamp in the margin, the beginning of a line, or the file's properties.

    Ids within a line belong to cited papers and do not count.
    """
    for stamp in stamps:
        if match := _STAMP.search(stamp):
            return match[1], 0.99
    for segment in segments:
        if match := _LINE.match(segment.text):
            return match[1], 0.9
    for value in file_values:
        if match := _STAMP.search(value):
            return match[1], 0.9
    return "", 0.0


def find_doi(segments: Sequence[Segment], file_values: Iterable[str], height: float) -> Found:
    """The DOI of the file's properties, or of the first page: one in a margin or after "doi" comes first."""
    for value in file_values:
        if match := _DOI.search(value):
            return _trimmed(match[1]), 0.95
    found = []
    for segment in segments:
        if match := _DOI.search(segment.text):
            in_margin = segment.box[3] < 0.12 * height or segment.box[1] > 0.88 * height
            is_named = "doi" in segment.text[: match.start()].casefold()
            found.append((0.3 + 0.4 * is_named + 0.25 * in_margin, _trimmed(match[1])))
    if not found:
        return "", 0.0
    confidence, doi = max(found, key=lambda one: one[0])
    return doi, round(confidence, 2)


def find_venue(printed: Iterable[str], file_values: Iterable[str]) -> tuple[str, str, float]:
    """Venue, the year printed with it, and a confidence, from the first text that names a venue.

    Proceedings named only in the file's properties have a low confidence: a conference's LaTeX style puts them into
    every paper, accepted or not.
    """
    for texts, from_style in ((printed, False), (file_values, True)):
        for text in texts:
            for pattern, confidence in _VENUES:
                if match := pattern.search(text):
                    venue = _ORDINAL.sub(r"\1\2", match[1]).strip(" ,.’'")
                    is_doubtful = from_style and _MEETING.search(text)
                    return venue, match[2], _FROM_STYLE if is_doubtful else confidence
    return "", "", 0.0


def find_year(
    segments: Sequence[Segment], stamps: Iterable[str], venue: Found, arxiv_id: str, created: str
) -> tuple[int | None, float]:
    """The year of the venue, a date on its own line, the stamp, a copyright, the arXiv id or the file, in this order.

    A doubtful venue comes last; its year has a higher confidence where the file's date agrees.
    """
    if venue[1] > _FROM_STYLE:
        return int(venue[0]), venue[1]
    front = segments[: max(12, len(segments) // 6)]
    for segment in front:
        if match := _DATE_LINE.fullmatch(segment.text):
            return int(match[1]), 0.85
    for stamp in stamps:
        if match := _DATE.search(stamp):
            return int(match[1]), 0.8
    for segment in segments:
        if match := _COPYRIGHT.search(segment.text):
            return int(match[1]), 0.7
    if match := _OLD_STYLE.match(arxiv_id):
        year = int(match[1])
        return (1900 if year > 90 else 2000) + year, 0.7
    made = re.match(r"(?:D:)?(199\d|20\d\d)[01]\d", created)
    if venue[0]:
        return int(venue[0]), 0.6 if made and made[1] == venue[0] else venue[1]
    return (int(made[1]), 0.3) if made else (None, 0.0)


def _trimmed(doi: str) -> str:
    """The DOI without the punctuation of its sentence."""
    doi = doi.rstrip(".,;:'\"”’")
    while doi.endswith(")") and doi.count(")") > doi.count("("):
        doi = doi[:-1].rstrip(".,;:")
    return doi
