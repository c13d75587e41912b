"""What is wrong with the value of a setting, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from ragscience.core.setting_fields import Settings

__all__ = ["must_be"]

PATTERNS = {
    "papers": "must be an address like s3://bucket/prefix",
    "ollama_url": "must start with http:// or https://",
    "llm_url": "must be an address like http://127.0.0.1:8080/v1",
    "embed_url": "must be an address like http://127.0.0.1:8081/v1",
    "arxiv_url": "must be an address like https://export.arxiv.org/api/query",
    "library": "must be vectorstore, lance:///folder or s3://bucket/prefix",
    "ocr_language": "must be Tesseract language codes, as eng or eng+deu",
    "pdf_viewer": "must contain {file}, as okular -p {page} {file}",
    "graph_entity_types": "must not have spaces in a type",
}
PLAIN = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "path_type": "must be a path",
    "tuple_type": 'must be a list, as ["METHOD"]',
    "too_short": "must have at least one entry",
}
"""What each kind of pydantic's errors says, by its type; the names in braces are of its context."""


def must_be(error: Mapping[str, Any]) -> str:
    """One of pydantic's errors on Settings as a clause: `it must be at least 1`."""
    name = str(error["loc"][0]) if error["loc"] else ""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "literal_error":
        allowed = [str(value) for value in get_args(Settings.model_fields[name].annotation)]
        return f"it must be {', '.join(allowed[:-1])} or {allowed[-1]}"
    if kind == "string_pattern_mismatch" and name in PATTERNS:
        return f"it {PATTERNS[name]}"
    if kind in PLAIN:
        return f"it {PLAIN[kind].format(**context)}"
    said = str(error["msg"]).removeprefix("Value error, ")
    return f"{said[:1].lower()}{said[1:]}"
