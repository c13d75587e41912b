"""What a paper's file and first page say of it: title, authors, arXiv id, DOI, publication and year."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragscience.core.records import Metadata
from ragscience.reading.author_names import find_authors
from ragscience.reading.first_page import Segment, blocks_of, body_size, segments_of, stamps_of
from ragscience.reading.name_words import plain_text
from ragscience.reading.publication import find_publication, find_year
from ragscience.reading.title_lines import find_title

Found = tuple[str, float]
"""A value, maybe "", and a confidence from 0 to 1."""
_ARXIV = r"(?:\d{4}\.\d{4,5}|[a-z]+(?:-[a-z]+)?(?:\.[A-Z]{2})?/\d{7})(?:v\d{1,2})?"
_STAMP = re.compile(rf"\barXiv:\s?({_ARXIV})(?!\d)", re.IGNORECASE)
_DOI = re.compile(r"(?<![\d.])(10\.\d{4,9}/[^\s\"<>{}|\\^]+)")
_GLUED = re.compile(
    r"https?:|(?<=[\w)])doi(?:\.org|:)?(?=$|10\.|https?:)|(?<=.)10\.\d{4,9}/|"
    r"(?<=\d)(?:Received|Accepted|Published|Copyright|Abstract|Article|Citation|Editor|License|ISSN|ISBN|PII|www\.)",
    re.IGNORECASE,
)
"""What no blank parts from the end of a DOI, as in "10.1109/x.49DOI 10.1109/x.49"."""
_CITE_THIS = re.compile(r"\bcite this (?:article|paper)\b", re.IGNORECASE)
_BEFORE, _AFTER = 80, 500
"""Characters around "Cite this article" in which the DOI is the paper's own."""
_LEAST = 0.5
"""A DOI with a lower confidence may be a cited paper's."""


def find_arxiv_id(stamps: Iterable[str], segments: Sequence[Segment], file_values: Iterable[str]) -> Found:
    """The paper's own arXiv id: from the stamp in the margin, the beginning of a line, or the file's properties.

    Ids within a line belong to cited papers and do not count.
    """
    for stamp in stamps:
        if match := _STAMP.search(stamp):
            return match[1], 0.99
    for segment in segments:
        if match := _STAMP.match(segment.text):
            return match[1], 0.9
    for value in file_values:
        if match := _STAMP.search(value):
            return match[1], 0.9
    return "", 0.0


def find_doi(segments: Sequence[Segment], file_values: Iterable[str], height: float, other_text: str = "") -> Found:
    """The DOI of the file's properties, of the first page, or beside "Cite this article" in `other_text`.

    On the page one in a margin or after "doi" comes first; of several in its middle none is taken.
    """
    for value in file_values:
        if match := _DOI.search(value):
            return _trimmed(match[1]), 0.95
    found: list[tuple[float, str]] = []
    for segment in segments:
        if match := _DOI.search(segment.text):
            in_margin = segment.box[3] < 0.12 * height or segment.box[1] > 0.88 * height
            is_named = "doi" in segment.text[: match.start()].casefold()
            found.append((0.3 + 0.4 * is_named + 0.25 * in_margin, _trimmed(match[1])))
    sure, doi = max(found, key=lambda one: one[0], default=(0.0, ""))
    if sure >= _LEAST and (sure > 0.7 or len({other.casefold() for _, other in found}) == 1):
        return doi, round(sure, 2)
    for mention in _CITE_THIS.finditer(other_text):
        if match := _DOI.search(other_text[max(0, mention.start() - _BEFORE) : mention.end() + _AFTER]):
            return _trimmed(match[1]), 0.8
    return "", 0.0


def _trimmed(doi: str) -> str:
    """The DOI without what is glued to it and the punctuation of its sentence."""
    if match := _GLUED.search(doi, len("10.")):
        doi = doi[: match.start()]
    doi = doi.rstrip(".,;:'\"”’*†/")
    while doi.endswith((")", "]")) and doi.count(doi[-1]) > doi.count("(" if doi[-1] == ")" else "["):
        doi = doi[:-1].rstrip(".,;:")
    return doi


_DEFAULT_HEIGHT_PT = 792.0


def metadata_of(
    page_dicts: Sequence[Mapping[str, Any]],
    file_metadata: Mapping[str, str | None],
    first_pages_text: str,
    last_page_text: str = "",
) -> Metadata:
    """Title, authors, year, publication and identifiers, each with a confidence.

    `page_dicts` are pages as PyMuPDF's `page.get_text("dict")` gives them (only the first is used), `file_metadata` is
    `document.metadata`. The words of `first_pages_text` decide whether a hyphen in the title belongs to its word; in it
    and in `last_page_text` a note "Cite this article" may tell the DOI.
    """
    page: Mapping[str, Any] = page_dicts[0] if page_dicts else {}
    height = float(page.get("height") or _DEFAULT_HEIGHT_PT)
    segments, stamps = segments_of(page), stamps_of(page)
    file_values = {name: plain_text(value) for name, value in file_metadata.items() if isinstance(value, str)}
    stated = [file_values[name] for name in ("subject", "keywords", "title") if file_values.get(name)]

    title = find_title(segments, height, body_size(segments), file_values.get("title", ""), first_pages_text)
    authors, author_confidence = find_authors(segments, title.last, height, file_values.get("author", ""))
    arxiv_id, arxiv_confidence = find_arxiv_id(stamps, segments, stated)
    doi, doi_confidence = find_doi(segments, stated, height, f"{first_pages_text}\n{last_page_text}")
    publication = find_publication(segments, blocks_of(page), stated, height)
    created = file_values.get("creationDate", "")
    year, year_confidence = find_year(segments, stamps, publication, created, height)
    confidence = {
        "title": title.confidence,
        "authors": author_confidence,
        "year": year_confidence,
        "venue": publication.confidence if publication.venue else 0.0,
        "doi": doi_confidence,
        "arxiv_id": arxiv_confidence,
    }
    return Metadata(
        title.text,
        authors,
        year,
        publication.venue,
        doi,
        arxiv_id,
        {name: sure for name, sure in confidence.items() if sure},
        kind=publication.kind,
        volume=publication.volume,
        number=publication.number,
        pages=publication.pages,
    )
