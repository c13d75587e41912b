"""What a paper's file and first page say of it: title, authors, arXiv id, DOI, publication and year."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragscience.core.records import Metadata
from ragscience.reading.author_block import find_authors
from ragscience.reading.first_page import blocks_of, body_size, segments_of, stamps_of
from ragscience.reading.identifiers import find_arxiv_id, find_doi
from ragscience.reading.plain_letters import plain_text
from ragscience.reading.publication import find_publication, find_year
from ragscience.reading.title_lines import find_title

__all__ = ["metadata_of"]

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
