"""The sources of fetched files and the metadata given there: by MD5, so that it outlives re-reading the file.

A row may exist before its file does, and stays when the paper is removed: the same bytes are the same
paper, however they are added again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ragscience.core.records import Document, Metadata

__all__ = [
    "ONLY_FROM_OUTSIDE",
    "FileSource",
    "from_outside",
    "merged",
    "source_from",
    "source_json",
]

_MERGED = ("title", "authors", "year", "venue", "doi", "arxiv_id")
ONLY_FROM_OUTSIDE = ("abstract", "categories", "url", "published")


@dataclass(frozen=True, slots=True)
class FileSource:
    """The source of a file."""

    md5: str
    """MD5 of the file, in hexadecimal."""
    fetched_at: str
    """ISO 8601, UTC."""
    metadata: Metadata
    """The metadata given by the source, `url` included."""


def source_json(metadata: Metadata) -> str:
    """What is kept of a source that is fetched now."""
    fields = {name: value for name, value in asdict(metadata).items() if value and name != "confidence"}
    return json.dumps([datetime.now(UTC).isoformat(timespec="seconds"), fields])


def source_from(md5: str, content: bytes | str) -> FileSource:
    """The inverse of `source_json`."""
    fetched_at, fields = json.loads(content)
    known: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    return FileSource(md5, fetched_at, Metadata(**known))


def merged(document: Document, source: FileSource | None) -> Document:
    """The document with the source's metadata in place of what its pages give; confidence 1, as it was not parsed."""
    if source is None:
        return document
    outside = source.metadata
    fields = {name: getattr(outside, name) for name in _MERGED if getattr(outside, name)}
    more = {name: getattr(outside, name) for name in ONLY_FROM_OUTSIDE}
    confidence = {**document.metadata.confidence, **dict.fromkeys(fields, 1.0)}
    metadata = replace(document.metadata, **fields, **more, confidence=confidence)
    if metadata.venue != document.metadata.venue:
        metadata = replace(metadata, kind="", volume="", number="", pages="")
    return replace(document, title=outside.title or document.title, metadata=metadata)


def from_outside(metadata: Metadata, source: Metadata | None) -> Metadata:
    """A paper's metadata with the fields that only its source has."""
    if source is None:
        return metadata
    return replace(metadata, **{name: getattr(source, name) for name in ONLY_FROM_OUTSIDE})
