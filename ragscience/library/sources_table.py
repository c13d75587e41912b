"""The sources of fetched files and the metadata given there: by MD5, so that it outlives re-reading the file.

A row may exist before its file does, and stays when the paper is removed: the same bytes are the same
paper, however they are added again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from ragscience.core.records import Document, Metadata
from ragscience.library.row_checksums import is_intact, row_checksum
from ragscience.library.transactions import Transactions

__all__ = ["Source", "SourcesTable", "from_outside", "merged", "metadata_from_json"]

_MERGED = ("title", "authors", "year", "venue", "doi", "arxiv_id")
_ONLY_FROM_OUTSIDE = ("abstract", "categories", "url", "published")


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a file."""

    md5: str
    """MD5 of the file, in hexadecimal."""
    fetched_at: str
    """ISO 8601, UTC."""
    metadata: Metadata
    """The metadata given by the source, `url` included."""


class SourcesTable:
    """The sources of fetched files; empty in a library from an older version."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def put(self, md5: str, metadata: Metadata) -> None:
        """Store the metadata of the file with these bytes, replacing what was stored."""
        fields = {name: value for name, value in asdict(metadata).items() if value and name != "confidence"}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transactions.writing() as db:
            row = (md5, metadata.url, now, json.dumps(fields))
            db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?)", (*row, row_checksum(*row)))

    def of(self, md5: str) -> Source | None:
        """The source of the file with these bytes, or None."""
        with self._reading() as db:
            row = db.execute(f"{_SELECT} WHERE md5 = ?", (md5,)).fetchone() if db else None
        return _source(row) if row and is_intact(row) else None

    def all(self) -> list[Source]:
        """Every fetched file, whether it is in the library or not, by MD5; damaged rows are left out."""
        with self._reading() as db:
            rows = db.execute(f"{_SELECT} ORDER BY md5").fetchall() if db else []
        return [_source(row) for row in rows if is_intact(row)]

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        with self._transactions.reading() as db:
            yield db


_SELECT = "SELECT md5, url, fetched_at, metadata, checksum FROM sources"


def merged(document: Document, source: Source | None) -> Document:
    """The document with the source's metadata in place of what its pages give; confidence 1, as it was not parsed."""
    if source is None:
        return document
    outside = source.metadata
    fields = {name: getattr(outside, name) for name in _MERGED if getattr(outside, name)}
    more = {name: getattr(outside, name) for name in _ONLY_FROM_OUTSIDE}
    confidence = {**document.metadata.confidence, **dict.fromkeys(fields, 1.0)}
    metadata = replace(document.metadata, **fields, **more, confidence=confidence)
    if metadata.venue != document.metadata.venue:
        metadata = replace(metadata, kind="", volume="", number="", pages="")
    return replace(document, title=outside.title or document.title, metadata=metadata)


def from_outside(metadata: Metadata, stored: str | None) -> Metadata:
    """A paper's metadata with the fields that only its source has; `stored` is the source row's JSON."""
    if stored is None:
        return metadata
    fields = metadata_from_json(stored)
    return replace(metadata, **{name: getattr(fields, name) for name in _ONLY_FROM_OUTSIDE})


def _source(row: tuple[str, ...]) -> Source:
    md5, _, fetched_at, stored, _ = row
    return Source(md5, fetched_at, metadata_from_json(stored))


def metadata_from_json(stored: str) -> Metadata:
    """The metadata of a row's JSON."""
    fields: Mapping[str, object] = json.loads(stored)
    return Metadata(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})  # type: ignore[arg-type]  # put() wrote them
