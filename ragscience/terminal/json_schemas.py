"""The JSON Schemas of what scripts get."""

from __future__ import annotations

from typing import Any

from ragscience.evaluation.report_schema import PROPERTIES as EVALUATION
from ragscience.terminal.fetching_json import FETCH
from ragscience.terminal.graph_json import FOUND, GRAPH, PATH
from ragscience.terminal.json_output import SCHEMA_VERSION
from ragscience.terminal.upkeep_json import EVENT, FINDINGS

__all__ = ["SCHEMAS"]


def _closed(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_PAGE = {"type": "integer", "minimum": 1}
_SCORE = {"type": ["number", "null"]}
_ID = {"type": ["string", "null"]}
_NAMED_NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}}
_BOX = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}
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
        "scores": _closed(
            dict.fromkeys(("dense", "bm25", "graph", "gear", "fused", "rerank"), _SCORE), optional=("graph", "gear")
        ),
        "found_by": {"type": "array", "description": "Searches, or the tool that read it.", "items": _TEXT},
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
    **FOUND,
}
_CITATION = _closed(
    {
        "file": _TEXT,
        "page": _PAGE,
        "quote": _TEXT,
        "supported": {"type": "boolean"},
        "path": _TEXT,
        "boxes": {
            "type": "array",
            "description": "Where the quote stands on its page: left, top, right, bottom in points.",
            "items": _BOX,
        },
    }
)
_SENTENCE = _closed(
    {
        "text": _TEXT,
        "verdict": {"enum": ["supported", "weak", "unsupported", "no-claim"]},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "evidence": {"anyOf": [{"type": "null"}, _CITATION]},
    }
)
_TEXTS = {"type": "array", "items": _TEXT}
_STEP = _closed(
    {
        "node": {"enum": ["decompose_query", "retrieve", "reason", "reflect", "generate_answer"]},
        "iteration": _PAGE,
        "said": {"type": "string", "description": "What came of it, in one line."},
        "by": {"enum": ["llm", "rules"]},
        "queries": _TEXTS,
        "notes": _TEXTS,
        "score": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "missing": _TEXTS,
        "passages": _COUNT,
        "new_passages": _COUNT,
        "searches": _COUNT,
        "llm_calls": _COUNT,
        "tool_calls": _COUNT,
        "tokens": _COUNT,
        "seconds": {"type": "number", "minimum": 0},
        "started": {"type": "number", "minimum": 0, "description": "Seconds since 1970."},
    }
)
_ANSWER = _FOUND | {
    "answer_id": _TEXT,
    "trace_id": {"type": "string", "pattern": "^([0-9a-f]{32})?$", "description": "The same in log, spans and audit."},
    "answer": _TEXT,
    "mode": {"enum": ["llm", "extractive"]},
    "refused": {"type": "boolean"},
    "citations": {"type": "array", "items": _CITATION},
    "models": _closed({"embedder": _ID, "reranker": _ID, "llm": _ID}),
    "searched": {"type": "string", "description": "The question as it was searched for, made to stand alone."},
    "conversation": {
        "type": ["integer", "null"],
        "description": "The number of the conversation that it was kept in.",
    },
    "created_at": {"type": ["string", "null"], "description": "ISO 8601, UTC."},
    "sentences": {"type": "array", "items": _SENTENCE},
    "answerability": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    "verdict": {
        "enum": ["correct", "ambiguous", "incorrect", None],
        "description": "Of what was found, where it was judged (--corrective).",
    },
    "prompt_cut": {"type": "boolean"},
    "tokens": {"type": "object", "additionalProperties": _COUNT},
    "trace": {"type": "array", "description": "The agent's steps; empty without --agent.", "items": _STEP},
}
_ERROR = {
    "schema": {"const": SCHEMA_VERSION},
    "id": _ID,
    "question": _ID,
    "error": _closed({"message": _TEXT, "fix": _TEXT, "exit_code": _COUNT}),
}
_METADATA = _closed(
    {
        "title": _TEXT,
        "authors": {"type": "array", "items": _TEXT},
        "year": {"type": ["integer", "null"]},
        "venue": _TEXT,
        "doi": _TEXT,
        "arxiv_id": _TEXT,
        "abstract": {"type": "string", "description": "This and the next three: only of a paper that was fetched."},
        "categories": {"type": "array", "items": _TEXT},
        "url": _TEXT,
        "published": {"type": "string", "description": "The day of the first version, as 2017-06-12."},
        "confidence": {
            "type": "object",
            "description": "0 to 1 for each of the fields that is filled, by its name.",
            "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1},
        },
    }
)
_PAPER = {
    "file": _TEXT,
    "path": _TEXT,
    "md5": _TEXT,
    "title": _TEXT,
    "pages": _COUNT,
    "chunks": _COUNT,
    "added_at": _TEXT,
    "warnings": {"type": "array", "items": _TEXT},
    "metadata": _METADATA,
}
_CAPTIONS = {"type": "array", "items": _closed({"caption": _TEXT, "page": _PAGE})}
_OUTLINE = {
    "schema": {"const": SCHEMA_VERSION},
    **_PAPER,
    "outline": {"type": "array", "items": _closed({"level": _COUNT, "heading": _TEXT, "page": _PAGE})},
    "tables": _CAPTIONS,
    "figures": _CAPTIONS,
    "references": _COUNT,
    "bibtex_key": _TEXT,
    "page_warnings": {"type": "array", "items": _closed({"page": _PAGE, "warning": _TEXT})},
}
_ELEMENT = _closed(
    {
        "kind": _TEXT,
        "level": _COUNT,
        "section": _TEXT,
        "text": _TEXT,
        "box": {"anyOf": [{"type": "null"}, _BOX]},
    }
)
_PAGE_READ = {
    "schema": {"const": SCHEMA_VERSION},
    "file": _TEXT,
    "path": _TEXT,
    "page": _PAGE,
    "text": _TEXT,
    "elements": {"type": "array", "items": _ELEMENT},
    "furniture": {"type": "string", "description": "What stands on the page and is left out of its text."},
    "warning": _TEXT,
}
_DUPLICATE = _closed(
    {
        "newer": _TEXT,
        "older": _TEXT,
        "reasons": {"type": "array", "items": {"enum": ["identifier", "title", "text"]}},
        "newer_by": {"enum": ["version", "year", "file date"]},
        "overlap": {"type": "number", "minimum": 0, "maximum": 1},
    }
)

_CONVERSATION = _closed(
    {
        "conversation": _PAGE,
        "name": _ID,
        "title": _TEXT,
        "turns": _PAGE,
        "started_at": _TEXT,
        "changed_at": _TEXT,
    }
)

SCHEMAS: dict[str, dict[str, Any]] = {
    "search": _closed(_FOUND),
    "ask": _closed(_ANSWER),
    "eval": _closed({"schema": {"const": SCHEMA_VERSION}, **EVALUATION}),
    "error": _closed(_ERROR),
    "list": _closed({"schema": {"const": SCHEMA_VERSION}, "papers": {"type": "array", "items": _closed(_PAPER)}}),
    "show": _closed(_OUTLINE),
    "show --page": _closed(_PAGE_READ),
    "duplicates": _closed(
        {
            "schema": {"const": SCHEMA_VERSION},
            "duplicates": {"type": "array", "items": _DUPLICATE},
            "removed": {"type": "array", "items": _TEXT},
        }
    ),
    "fetch": _closed({"schema": {"const": SCHEMA_VERSION}, **FETCH}),
    "watch": _closed({"schema": {"const": SCHEMA_VERSION}, **EVENT}),
    "doctor": _closed({"schema": {"const": SCHEMA_VERSION}, **FINDINGS}),
    "graph": _closed({"schema": {"const": SCHEMA_VERSION}, **GRAPH}),
    "path": _closed({"schema": {"const": SCHEMA_VERSION}, **PATH}),
    "related": _closed(
        {
            "schema": {"const": SCHEMA_VERSION},
            "file": _TEXT,
            "path": _TEXT,
            "related": {
                "type": "array",
                "items": _closed({"file": _TEXT, "path": _TEXT, "title": _TEXT, "cosine": {"type": "number"}}),
            },
        }
    ),
    "history list": _closed(
        {"schema": {"const": SCHEMA_VERSION}, "conversations": {"type": "array", "items": _CONVERSATION}}
    ),
    "history show": _closed(
        {
            "schema": {"const": SCHEMA_VERSION},
            "conversation": _CONVERSATION,
            "turns": {"type": "array", "items": _closed(_ANSWER)},
        }
    ),
}
"""JSON Schema (draft 2020-12) of each shape by the command that prints it; `error` stands in for a failed question."""
