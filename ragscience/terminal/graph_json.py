"""The JSON of what comes from the knowledge graph, and its JSON Schema."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ragscience.records import Found, FoundPath, PathStep

__all__ = ["FOUND", "GRAPH", "PATH", "found_in_graph", "step_json"]


def found_in_graph(found: Found) -> dict[str, Any]:
    """What the graph adds to the JSON of a search."""
    return {"concepts": list(found.concepts), "paths": [_path_json(path) for path in found.paths]}


def _path_json(path: FoundPath) -> dict[str, Any]:
    return {"score": path.score, "steps": [step_json(step) for step in path.steps]}


def step_json(step: PathStep) -> dict[str, Any]:
    """A relation and the pages that say it."""
    return asdict(step) | {"pages": [{"file": file, "page": page} for file, page in step.pages]}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_TEXTS = {"type": "array", "items": _TEXT}
_PAGES = {"type": "array", "items": _closed({"file": _TEXT, "page": {"type": "integer", "minimum": 1}})}
_STEP = {"source": _TEXT, "relation": _TEXT, "target": _TEXT, "pages": _PAGES}
_STEPS = {"type": "array", "items": _closed(_STEP)}
_ENTITY = {"name": _TEXT, "type": _TEXT, "names": _TEXTS, "mentions": _COUNT, "pages": _PAGES}

FOUND: dict[str, Any] = {
    "concepts": {
        "type": "array",
        "description": "Names that the knowledge graph has near the question; empty without --graph.",
        "items": _TEXT,
    },
    "paths": {
        "type": "array",
        "description": "Its best paths for the question, best first.",
        "items": _closed({"score": {"type": "number"}, "steps": _STEPS}),
    },
}
GRAPH: dict[str, Any] = {
    "entities": {"type": "array", "items": _closed(_ENTITY)},
    "hops": _COUNT,
    "relations": {
        "type": "array",
        "description": "The nearest first; depth is that of the step, from 1.",
        "items": _closed(_STEP | {"depth": _COUNT, "confidence": {"type": "number", "minimum": 0, "maximum": 1}}),
    },
    "reached": {"type": "integer", "minimum": 0, "description": "Entities in so many hops, these not counted."},
}
PATH: dict[str, Any] = {"source": _TEXT, "target": _TEXT, "steps": _STEPS}
"""Of each shape the properties, all of which are always there."""
