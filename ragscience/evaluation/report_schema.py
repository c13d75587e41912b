"""JSON Schema (draft 2020-12) of what `report.as_json` gives."""

from __future__ import annotations

from typing import Any

__all__ = ["PROPERTIES"]

_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_NUMBER = {"type": "number"}
_COUNT = {"type": "integer", "minimum": 0}


def _closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def _named(value: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "object", "description": description, "additionalProperties": value}


_ESTIMATE = _closed({"mean": _NUMBER, "low": _NUMBER, "high": _NUMBER, "questions": _COUNT})
_ESTIMATES = _named(_ESTIMATE, "By the name of the measure: a mean over so many questions, with its 95 % interval.")
_OUTCOME = _closed(
    {
        "id": _TEXT,
        "type": _TEXT,
        "question": _TEXT,
        "answer": _TEXT_OR_NULL,
        "error": _TEXT_OR_NULL,
        "values": _named(_NUMBER, "By the name of the measure."),
    }
)
_MEASURED: dict[str, Any] = {
    "conditions": {"type": "object", "additionalProperties": _TEXT},
    "measures": _ESTIMATES,
    "types": _named(_ESTIMATES, "By the type of question."),
    "outcomes": {"type": "array", "items": _OUTCOME},
}
_COMPARISONS = _named(
    _closed(
        {
            "first": _NUMBER,
            "second": _NUMBER,
            "difference": _ESTIMATE,
            "higher": _COUNT,
            "lower": _COUNT,
            "p": {"type": "number", "minimum": 0, "maximum": 1},
            "test": {"enum": ["McNemar", "sign flip"]},
        }
    ),
    "By the name of the measure: both means, second minus first, on how many questions the second is higher and lower, "
    "and the two-sided p-value.",
)

PROPERTIES: dict[str, Any] = {
    "source": _TEXT,
    "questions": _COUNT,
    **_MEASURED,
    "bad_lines": {
        "type": "array",
        "items": _closed({"line": {"type": "integer", "minimum": 1}, "reason": _TEXT}),
    },
    "against": _closed(
        _MEASURED, type=["object", "null"], description="The same questions in the mode that `--against` names."
    ),
    "comparison": _closed(
        {"measures": _COMPARISONS, "types": _named(_COMPARISONS, "By the type of question.")}, type=["object", "null"]
    ),
}
"""All of them are required."""
