"""The JSON Schema of what `watch` and `doctor` print: a line for each event, one object for all findings."""

from __future__ import annotations

from typing import Any

__all__ = ["EVENT", "EVENTS", "FINDINGS"]

EVENTS = (
    "watching", "added", "updated", "removed", "renamed", "copy", "failed", "waiting", "problem", "vanished", "back",
    "stopped",
)  # fmt: skip
"""What may happen to a watch."""

_COUNT = {"type": ["integer", "null"], "minimum": 0}

EVENT: dict[str, Any] = {
    "event": {"enum": list(EVENTS)},
    "file": {"type": "string", "description": "The paper's name in the library, or a full path."},
    "text": {"type": "string", "description": "What the line says of it."},
    "pages": _COUNT,
    "passages": _COUNT,
    "seconds": {"type": ["number", "null"], "minimum": 0, "description": "How long it took."},
}

FINDINGS: dict[str, Any] = {
    "worst": {"enum": ["ok", "info", "warning", "error"]},
    "findings": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "area": {"type": "string", "description": "What was looked at: disk, database, models, …"},
                "severity": {"enum": ["ok", "info", "warning", "error"]},
                "message": {"type": "string"},
                "remedy": {"type": "string", "description": "What to do about it; empty where nothing is to be done."},
            },
            "required": ["area", "severity", "message", "remedy"],
            "additionalProperties": False,
        },
    },
}
