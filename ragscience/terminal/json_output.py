"""The one JSON shape that scripts get. A change that breaks a reader raises SCHEMA_VERSION; see json_schemas.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ragscience.errors import RagScienceError
from ragscience.records import Answer, Citation, Found, Hit, Paper, Sentence, Step
from ragscience.terminal.graph_json import found_in_graph

if TYPE_CHECKING:
    from ragscience.history import Conversation

__all__ = [
    "SCHEMA_VERSION",
    "SURE",
    "answer_json",
    "conversation_json",
    "dump",
    "error_json",
    "found_json",
    "paper_json",
    "title_of",
]

SCHEMA_VERSION = 1
SURE = 0.5
"""Confidence from which on what was read of a paper's first page is taken for true."""


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
        **found_in_graph(found),
    }


def answer_json(
    answer: Answer,
    question_id: str | None,
    notices: tuple[str, ...] = (),
    *,
    conversation: int | None = None,
    created_at: str | None = None,
) -> dict[str, Any]:
    """What `ask --json` prints for one question; `conversation` and `created_at` are None where nothing was kept."""
    shared = found_json(answer.found, question_id)
    shared["question"] = answer.question
    shared["notices"] = list(dict.fromkeys([*answer.found.notices, *answer.notices, *notices]))
    shared["timings_ms"] = {**answer.found.timings_ms, **answer.timings_ms}
    return shared | {
        "answer_id": answer.answer_id,
        "trace_id": answer.trace_id,
        "answer": answer.text,
        "mode": answer.mode,
        "refused": answer.refused,
        "citations": [_citation_json(item) for item in answer.citations],
        "models": dict(answer.models),
        "searched": answer.found.question,
        "conversation": conversation,
        "created_at": created_at,
        "sentences": [_sentence_json(item) for item in answer.sentences],
        "answerability": answer.answerability,
        "verdict": answer.found.verdict or None,
        "prompt_cut": answer.prompt_cut,
        "tokens": dict(answer.tokens),
        "trace": [_step_json(step) for step in answer.trace],
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
    metadata = paper.metadata
    return {
        "file": paper.file,
        "path": paper.path,
        "md5": paper.md5,
        "title": title_of(paper),
        "pages": paper.pages,
        "chunks": paper.chunks,
        "added_at": paper.added_at,
        "warnings": list(paper.warnings),
        "metadata": {
            "title": metadata.title,
            "authors": list(metadata.authors),
            "year": metadata.year,
            "venue": metadata.venue,
            "doi": metadata.doi,
            "arxiv_id": metadata.arxiv_id,
            "abstract": metadata.abstract,
            "categories": list(metadata.categories),
            "url": metadata.url,
            "published": metadata.published,
            "confidence": dict(metadata.confidence),
        },
    }


def title_of(paper: Paper) -> str:
    """What a paper is called: its title as read from its first page where that is sure enough, else the file's own."""
    metadata = paper.metadata
    sure = metadata.confidence.get("title", 0.0) >= SURE
    return (sure and metadata.title) or paper.title or metadata.title


def conversation_json(conversation: Conversation) -> dict[str, Any]:
    """What `history list --json` prints for one conversation."""
    return {
        "conversation": conversation.conversation_id,
        "name": conversation.name or None,
        "title": conversation.title,
        "turns": conversation.turns,
        "started_at": conversation.started_at,
        "changed_at": conversation.changed_at,
    }


def _citation_json(citation: Citation) -> dict[str, Any]:
    return {
        "file": citation.file,
        "page": citation.page,
        "quote": citation.quote,
        "supported": citation.supported,
        "path": citation.path,
        "boxes": [list(box) for box in citation.boxes],
    }


def _sentence_json(sentence: Sentence) -> dict[str, Any]:
    return {
        "text": sentence.text,
        "verdict": sentence.verdict,
        "score": sentence.score,
        "evidence": None if sentence.evidence is None else _citation_json(sentence.evidence),
    }


def _step_json(step: Step) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(step).items()}


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
