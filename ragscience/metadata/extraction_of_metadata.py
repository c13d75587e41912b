"""All that a paper says of itself, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragscience.metadata.author_lines import find_authors
from ragscience.metadata.first_page import blocks_of, body_size, plain_text, segments_of, stamps_of
from ragscience.metadata.identifiers import find_arxiv_id, find_doi, find_venue, find_year
from ragscience.metadata.title_lines import find_title
from ragscience.records import Metadata

__all__ = ["metadata_of"]

_DEFAULT_HEIGHT_PT = 792.0


def metadata_of(
    page_dicts: Sequence[Mapping[str, Any]], file_metadata: Mapping[str, str | None], first_pages_text: str
) -> Metadata:
    """Title, authors, year, venue and identifiers with a confidence each.

    `page_dicts` are the first pages as PyMuPDF's `page.get_text("dict")` gives them (only the first is looked at),
    `file_metadata` is `document.metadata`. `first_pages_text` tells whether a title's hyphen belongs to the word.
    """
    page: Mapping[str, Any] = page_dicts[0] if page_dicts else {}
    height = float(page.get("height") or _DEFAULT_HEIGHT_PT)
    segments, stamps = segments_of(page), stamps_of(page)
    file_values = {name: plain_text(value) for name, value in file_metadata.items() if isinstance(value, str)}
    told = [file_values[name] for name in ("subject", "keywords", "title") if file_values.get(name)]

    title = find_title(segments, height, body_size(segments), file_values.get("title", ""), first_pages_text)
    authors, author_confidence = find_authors(segments, title.last, height, file_values.get("author", ""))
    arxiv_id, arxiv_confidence = find_arxiv_id(stamps, segments, told)
    doi, doi_confidence = find_doi(segments, told, height)
    printed = [*(segment.text for segment in segments), *blocks_of(page)]
    venue, venue_year, venue_confidence = find_venue(printed, told)
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
