"""What `fetch --json` prints, and its JSON Schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragscience.terminal.fetching_view import Row

__all__ = ["FETCH", "fetch_json"]

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_MAYBE = {"type": ["string", "null"]}
_PAPER = {
    "status": {
        "enum": ["listed", "known", "fetched", "failed"],
        "description": "Found and not taken; there before; fetched now; not to be had.",
    },
    "title": _TEXT,
    "authors": _TEXTS,
    "year": {"type": ["integer", "null"]},
    "published": {"type": "string", "description": "The day of the first version, as 2017-06-12; may be empty."},
    "venue": _TEXT,
    "doi": _TEXT,
    "arxiv_id": _TEXT,
    "categories": _TEXTS,
    "abstract": _TEXT,
    "url": _TEXT,
    "withdrawn": {"type": "boolean"},
    "file": {"type": ["string", "null"], "description": "Where it is: its name in the library, or its path."},
    "md5": _MAYBE,
    "error": _MAYBE,
}
_FAILURE = {"argument": _TEXT, "error": _TEXT}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


FETCH: dict[str, Any] = {
    "papers": {"type": "array", "items": _closed(_PAPER)},
    "failures": {
        "type": "array",
        "description": "What was asked for and led to no paper.",
        "items": _closed(_FAILURE),
    },
}
"""The properties beside `schema`."""


def fetch_json(rows: Sequence[Row], failures: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """What `fetch --json` prints beside `schema`; `failures`: arguments that led to no paper, each with the reason."""
    return {
        "papers": [_row_json(row) for row in rows],
        "failures": [{"argument": said, "error": error} for said, error in failures],
    }


def _row_json(row: Row) -> dict[str, Any]:
    metadata = row.candidate.metadata
    return {
        "status": row.status,
        "title": metadata.title,
        "authors": list(metadata.authors),
        "year": metadata.year,
        "published": metadata.published,
        "venue": metadata.venue,
        "doi": metadata.doi,
        "arxiv_id": metadata.arxiv_id,
        "categories": list(metadata.categories),
        "abstract": metadata.abstract,
        "url": row.candidate.url,
        "withdrawn": row.candidate.is_withdrawn,
        "file": row.file or None,
        "md5": row.md5 or None,
        "error": row.error or None,
    }
