"""The sources of fetched files and the metadata given there: by MD5, so that it outlives re-reading the file.

A row may exist before its file does, and stays when the paper is removed: the same bytes are the same
paper, however they are added again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ragscience.core.records import Document, Metadata
from ragscience.library.damage import Damage
from ragscience.library.database import Transactions
from ragscience.library.sealed_rows import opened, read_state, sealed, write_state

__all__ = [
    "ONLY_FROM_OUTSIDE",
    "FileSource",
    "SourcesTable",
    "from_outside",
    "merged",
    "read_sources",
    "source_from",
    "source_json",
    "sources_of",
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


class SourcesTable:
    """The sources of fetched files."""

    def __init__(self, transactions: Transactions, damage: Damage) -> None:
        self._transactions = transactions
        self._damage = damage

    def put(self, md5: str, metadata: Metadata) -> None:
        """Store the metadata of the file with these bytes, replacing what was stored."""
        with self._transactions.writing() as db:
            row = sealed(("source", md5), source_json(metadata).encode())
            db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?)", (md5, row))
            state = read_state(db)
            write_state(db, replace(state, version=state.version + 1))

    def of(self, md5: str) -> FileSource | None:
        """The source of the file with these bytes, or None."""
        return next(iter(self._read([md5])), None)

    def all(self) -> list[FileSource]:
        """Every fetched file, whether it is in the library or not, by MD5; damaged rows are left out."""
        return self._read(None)

    def _read(self, md5s: list[str] | None) -> list[FileSource]:
        with self._transactions.reading() as db:
            return sources_of(db, md5s, self._damage) if db is not None else []


def read_sources(db: sqlite3.Connection, md5s: list[str] | None, damage: Damage) -> dict[str, Metadata]:
    """The metadata of the sources of these files, or of all, by MD5; damaged rows are noted and left out."""
    return {one.md5: one.metadata for one in sources_of(db, md5s, damage)}


def sources_of(db: sqlite3.Connection, md5s: Iterable[str] | None, damage: Damage) -> list[FileSource]:
    """The sources of these files, or of all, by MD5; damaged rows are noted and left out."""
    where, values = "", []
    if md5s is not None:
        where, values = "WHERE md5 IN (SELECT value FROM json_each(?))", [json.dumps(list(md5s))]
    found = []
    for md5, row in db.execute(f"SELECT md5, row FROM sources {where} ORDER BY md5", values):  # noqa: S608  # ours
        content = opened(("source", md5), row)
        if content is None:
            damage.note("source")
            continue
        found.append(source_from(md5, content))
    return found


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
