"""The extraction of one passage as JSON for the library."""

from __future__ import annotations

import json
import re
from sys import intern
from typing import Any

from ragscience.core.errors import RagScienceError
from ragscience.graph.graph_records import Extracted, Mention, Triple

__all__ = ["decoded", "encoded"]

_SURROGATES = re.compile("[\ud800-\udfff]")


def encoded(found: Extracted) -> str:
    """One line of JSON; the same for the same content. Lone surrogates, which UTF-8 cannot encode, are replaced."""
    content = {
        "mentions": [[one.name, one.entity_type, one.count, one.confidence, *_told(one.key)] for one in found.mentions],
        "triples": [_triple(one) for one in found.triples],
        "aliases": [list(pair) for pair in found.aliases],
    }
    return _SURROGATES.sub("\ufffd", json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def _triple(one: Triple) -> list[object]:
    ends = [one.subject, one.subject_type, one.relation, one.object, one.object_type, one.confidence]
    return [*ends, *_told(one.subject_key, one.object_key)]


def _told(*keys: str) -> list[str]:
    return list(keys) if any(keys) else []


def decoded(chunk_id: int, text: str) -> Extracted:
    """The inverse of `encoded`. Raises RagScienceError for invalid text.

    Equal strings are shared: a name occurs in thousands of passages.
    """
    try:
        content: dict[str, Any] = json.loads(text)
        return Extracted(
            chunk_id,
            tuple(Mention(intern(name), intern(kind), *rest) for name, kind, *rest in content["mentions"]),
            tuple(
                Triple(intern(subject), intern(its_type), intern(relation), intern(other), intern(others_type), *rest)
                for subject, its_type, relation, other, others_type, *rest in content["triples"]
            ),
            tuple((short, long) for short, long in content["aliases"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise RagScienceError(
            f"What the graph knows of passage {chunk_id} cannot be read.",
            "`python ingest.py graph --again` reads all passages again.",
        ) from error
