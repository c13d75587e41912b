"""The OpenAPI document: each operation with the problems that it can answer with."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from ragscience.serving.problem_responses import PROBLEM, every_title, titles_of

__all__ = ["DocumentedApp"]

ANYWHERE = (401, 403, 413, 421, 429, 500)
"""Statuses of any operation: the server may refuse who asks, or from where, or how much."""
OF_THE_LIBRARY = (400, 404, 409, 422, 502, 503, 507)
"""Statuses of operations that take parameters or need the library or a model."""
WITHOUT_LIBRARY = ("/healthz", "/metrics")
_PROBLEM_SCHEMA = {
    "type": "object",
    "description": "A failure (RFC 9457).",
    "required": ["type", "title", "status", "detail", "fix"],
    "properties": {
        "type": {"type": "string", "const": "about:blank"},
        "title": {"type": "string", "enum": every_title()},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "What happened, with the value seen."},
        "fix": {"type": "string", "description": "What to do about it."},
        "error": {"type": "object", "description": "Under /v1: the same in OpenAI's form."},
    },
}
_UNUSED = ("HTTPValidationError", "ValidationError")


class DocumentedApp(FastAPI):
    """An app whose document has the problems of each operation."""

    def openapi(self) -> dict[str, Any]:
        """The document, made once."""
        if self.openapi_schema is None:
            document = super().openapi()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            for path, operations in document["paths"].items():
                for operation in operations.values():
                    _add_problems(path, operation["responses"])
            for name in _UNUSED:
                schemas.pop(name, None)
            schemas["Problem"] = _PROBLEM_SCHEMA
        return self.openapi_schema or {}


def _add_problems(path: str, responses: dict[str, Any]) -> None:
    """Replace what the framework says of refused parameters, and add the other problems."""
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status in ANYWHERE if path in WITHOUT_LIBRARY else (*ANYWHERE, *OF_THE_LIBRARY):
        responses[str(status)] = {"description": "; ".join(titles_of(status)), "content": content}
