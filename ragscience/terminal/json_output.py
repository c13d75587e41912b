"""The one JSON shape that scripts get, and its JSON Schema. A change that breaks a reader raises SCHEMA_VERSION."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ragscience.errors import RagScienceError
from ragscience.records import Answer, Found, Hit, Paper

__all__ = ["SCHEMAS", "SCHEMA_VERSION", "answer_json", "dump", "error_json", "found_json", "paper_json"]

SCHEMA_VERSION = 1


def dump(value: Mapping[str, Any]) -> str:
    """The value as one line of JSON; lone surrogates and control characters are escaped."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace").decode()


def found_json(found: Found, question_id: str | None, notices: tuple[str, ...] = ()) -> dict[str, Any]:
    """What `search --json` prints for one question."""
    return {
        "schema": SCHEMA_VERSION,
        "id": question_id,
        "question": found.question,
        "profile": found.profile,
        "hits": [_hit_json(hit) for hit in found.hits],
        "notices": [*found.notices, *notices],
        "timings_ms": dict(found.timings_ms),
    }


def answer_json(answer: Answer, question_id: str | None, notices: tuple[str, ...] = ()) -> dict[str, Any]:
    """What `ask --json` prints for one question."""
    shared = found_json(answer.found, question_id)
    shared["question"] = answer.question
    shared["notices"] = list(dict.fromkeys([*answer.found.notices, *answer.notices, *notices]))
    shared["timings_ms"] = {**answer.found.timings_ms, **answer.timings_ms}
    return shared | {
        "answer_id": answer.answer_id,
        "answer": answer.text,
        "mode": answer.mode,
        "refused": answer.refused,
        "citations": [
            {"file": item.file, "page": item.page, "quote": item.quote, "supported": item.supported}
            for item in answer.citations
        ],
        "models": dict(answer.models),
    }


def error_json(error: RagScienceError, question_id: str | None, question: str | None) -> dict[str, Any]:
    """What a question that failed leaves in its place, so that the lines stay in order."""
    return {
        "schema": SCHEMA_VERSION,
        "id": question_id,
        "question": question,
        "error": {"message": error.message, "fix": error.fix, "exit_code": error.exit_code},
    }


def paper_json(paper: Paper) -> dict[str, Any]:
    """What `list --json` prints for one paper."""
    return {
        "file": paper.file,
        "path": paper.path,
        "md5": paper.md5,
        "title": paper.title,
        "pages": paper.pages,
        "chunks": paper.chunks,
        "added_at": paper.added_at,
        "warnings": list(paper.warnings),
    }


def _hit_json(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "rank": hit.rank,
        "file": chunk.file,
        "path": chunk.path,
        "page_start": chunk.page_start,
        "page_end": chunk.page_end,
        "section": chunk.section,
        "kind": chunk.kind,
        "text": chunk.text,
        "chunk_id": chunk.chunk_id,
        "score": hit.score,
        "scores": dict(hit.scores),
        "found_by": list(hit.found_by),
    }


def _closed(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_PAGE = {"type": "integer", "minimum": 1}
_SCORE = {"type": ["number", "null"]}
_ID = {"type": ["string", "null"]}
_NAMED_NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}}
_HIT = _closed(
    {
        "rank": _PAGE,
        "file": _TEXT,
        "path": _TEXT,
        "page_start": _PAGE,
        "page_end": _PAGE,
        "section": _TEXT,
        "kind": _TEXT,
        "text": _TEXT,
        "chunk_id": _COUNT,
        "score": {"type": "number"},
        "scores": _closed({"dense": _SCORE, "bm25": _SCORE, "fused": _SCORE, "rerank": _SCORE}),
        "found_by": {"type": "array", "items": {"enum": ["dense", "bm25"]}},
    }
)
_FOUND = {
    "schema": {"const": SCHEMA_VERSION},
    "id": _ID,
    "question": _TEXT,
    "profile": _TEXT,
    "hits": {"type": "array", "items": _HIT},
    "notices": {"type": "array", "items": _TEXT},
    "timings_ms": _NAMED_NUMBERS,
}
_ANSWER = _FOUND | {
    "answer_id": _TEXT,
    "answer": _TEXT,
    "mode": {"enum": ["llm", "extractive"]},
    "refused": {"type": "boolean"},
    "citations": {
        "type": "array",
        "items": _closed({"file": _TEXT, "page": _PAGE, "quote": _TEXT, "supported": {"type": "boolean"}}),
    },
    "models": _closed({"embedder": _ID, "reranker": _ID, "llm": _ID}),
}
_ERROR = {
    "schema": {"const": SCHEMA_VERSION},
    "id": _ID,
    "question": _ID,
    "error": _closed({"message": _TEXT, "fix": _TEXT, "exit_code": _COUNT}),
}
_PAPER = {
    "file": _TEXT,
    "path": _TEXT,
    "md5": _TEXT,
    "title": _TEXT,
    "pages": _COUNT,
    "chunks": _COUNT,
    "added_at": _TEXT,
    "warnings": {"type": "array", "items": _TEXT},
}

SCHEMAS: dict[str, dict[str, Any]] = {
    "search": _closed(_FOUND),
    "ask": _closed(_ANSWER),
    "error": _closed(_ERROR),
    "list": _closed({"schema": {"const": SCHEMA_VERSION}, "papers": {"type": "array", "items": _closed(_PAPER)}}),
}
"""JSON Schema (draft 2020-12) of each shape by the command that prints it; `error` stands in for a failed question."""
