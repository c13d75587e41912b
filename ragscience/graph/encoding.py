"""What one passage gave, as the JSON that the library keeps."""

from __future__ import annotations

import json
from typing import Any

from ragscience.errors import RagScienceError
from ragscience.graph.records import Extracted, Mention, Triple

__all__ = ["decoded", "encoded"]


def encoded(found: Extracted) -> str:
    """One line of JSON; the same for the same content."""
    content = {
        "mentions": [[each.name, each.entity_type, each.count, each.confidence] for each in found.mentions],
        "triples": [
            [each.subject, each.subject_type, each.relation, each.object, each.object_type, each.confidence]
            for each in found.triples
        ],
        "aliases": [list(pair) for pair in found.aliases],
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def decoded(chunk_id: int, text: str) -> Extracted:
    """What `encoded` made. Raises RagScienceError for anything else."""
    try:
        content: dict[str, Any] = json.loads(text)
        return Extracted(
            chunk_id,
            tuple(Mention(*each) for each in content["mentions"]),
            tuple(Triple(*each) for each in content["triples"]),
            tuple((short, long) for short, long in content["aliases"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise RagScienceError(
            f"What the graph knows of passage {chunk_id} cannot be read.",
            "`python ingest.py graph --again` reads all passages anew.",
        ) from error
