"""The audit record of an answer: enough to see where it came from and to repeat the question.

A passage is named by the MD5 of its file and its offsets, because its id changes with a rebuild. Of its text only the
digest is kept: the library has the text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ragscience.core.records import Answer, Citation, EmbedderIdentity, Filters, Hit, Paper, Sentence, StoredChunk, Turn

__all__ = ["SCHEMA_VERSION", "Circumstances", "Request", "place_of", "record_of", "text_digest", "without_credentials"]

SCHEMA_VERSION = 2
"""Of a record. A change that breaks a reader raises it; a new field does not."""

_CREDENTIALS = re.compile(r"(?<=://)[^\s/?#@]+(?:@[^\s/?#@]+)*@")
_URL_END = re.compile(r"[?#].*", re.DOTALL)
_IS_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_SAID = ("settings", "models", "warnings", "trace", "library")
"""The fields of a record that may repeat a setting."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a question."""

    filters: Filters
    history: tuple[Turn, ...]
    """The turns before the question, as they were given."""
    strict: bool
    agent: bool
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The conditions of an answer: program, settings, library and models."""

    program: str
    """The program's version."""
    settings: Mapping[str, Any]
    """Those that an answer depends on, as JSON values."""
    wanted: int | None
    """How many passages were requested; None for the default."""
    library_id: str
    """Empty where there is no library."""
    generation: int
    chunker: str | None
    embedder: EmbedderIdentity | None
    digests: Mapping[str, str]
    """Of the weights of `reranker` and `llm`, if known."""
    chosen: tuple[str, ...] = ()
    """Those of `top_k` and `answer_passages` that somebody had set, be it to the default."""
    warnings: tuple[str, ...] = ()
    """Warnings of the run that are not the answer's own."""


def record_of(
    answer: Answer,
    *,
    at: str,
    asked: Request,
    under: Circumstances,
    papers: Mapping[int, Paper],
    earlier: Mapping[int, Mapping[str, Any]],
) -> dict[str, Any]:
    """The answer as one JSON object, without credentials in URLs, except in text by the user or a model.

    `at` is ISO 8601, UTC; `papers` has the passages' papers by id, `earlier` the places (see `place_of`) of the
    passages that the turns before cite, by id.
    """
    found = answer.found
    value: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "answer_id": answer.answer_id,
        "at": at,
        "program": under.program,
        "trace_id": answer.trace_id,
        "question": answer.question,
        "searched": found.question,
        "agent": asked.agent,
        "strict": asked.strict,
        "plain": asked.plain,
        "k": under.wanted,
        "profile": found.profile,
        "filters": asdict(asked.filters),
        "history": [_turn(turn, earlier) for turn in asked.history],
        "settings": dict(under.settings),
        "chosen": sorted(under.chosen),
        "library": _library(under),
        "models": _models(answer.models, under),
        "passages": [_passage(hit, papers) for hit in found.hits],
        "signals": dict(found.signals),
        "second_look": found.verdict or None,
        "concepts": list(found.concepts),
        "paths": [asdict(path) for path in found.paths],
        "answer": answer.text,
        "mode": answer.mode,
        "route": answer.route,
        "refused": answer.refused,
        "answerability": answer.answerability,
        "prompt_cut": answer.prompt_cut,
        "citations": [_citation(item) for item in answer.citations],
        "sentences": [_sentence(item) for item in answer.sentences],
        "warnings": list(dict.fromkeys([*found.warnings, *answer.warnings, *under.warnings])),
        "timings_ms": {**found.timings_ms, **answer.timings_ms},
        "tokens": dict(answer.tokens),
        "trace": [asdict(step) for step in answer.trace],
    }
    value.update({name: without_credentials(value[name]) for name in _SAID})
    kept: dict[str, Any] = _finite(value)
    return kept


def place_of(chunk: StoredChunk, paper: Paper | None) -> dict[str, Any]:
    """A passage's name that survives a rebuild: its file's MD5 (empty if unknown) and its offsets."""
    return {"md5": paper.md5 if paper else "", "start": chunk.start, "end": chunk.end}


def text_digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def without_credentials(value: Any) -> Any:
    """The JSON value without user and password in its URLs; a text that is a URL loses its query, too."""
    if isinstance(value, str):
        bare = _CREDENTIALS.sub("", value)
        return _URL_END.sub("", bare) if _IS_URL.fullmatch(bare) else bare
    if isinstance(value, Mapping):
        return {name: without_credentials(item) for name, item in value.items()}
    return [without_credentials(item) for item in value] if isinstance(value, list | tuple) else value


def _passage(hit: Hit, papers: Mapping[int, Paper]) -> dict[str, Any]:
    chunk = hit.chunk
    paper = papers.get(chunk.paper_id)
    return {
        "rank": hit.rank,
        **place_of(chunk, paper),
        "chunk_id": chunk.chunk_id,
        "file": chunk.file,
        "path": chunk.path,
        "url": without_credentials(paper.metadata.url) if paper else "",
        "page_start": chunk.page_start,
        "page_end": chunk.page_end,
        "section": chunk.section,
        "kind": chunk.kind,
        "text_sha256": text_digest(chunk.text),
        "score": hit.score,
        "scores": dict(hit.scores),
        "found_by": list(hit.found_by),
    }


def _citation(citation: Citation) -> dict[str, Any]:
    return {
        "file": citation.file,
        "path": citation.path,
        "page": citation.page,
        "start": citation.start,
        "end": citation.end,
        "quote": citation.quote,
        "supported": citation.supported,
    }


def _sentence(sentence: Sentence) -> dict[str, Any]:
    return {
        "text": sentence.text,
        "verdict": sentence.verdict,
        "score": sentence.score,
        "evidence": _citation(sentence.evidence) if sentence.evidence else None,
    }


def _library(under: Circumstances) -> dict[str, Any]:
    return {
        "id": under.library_id,
        "generation": under.generation,
        "chunker": under.chunker,
        "embedder": asdict(under.embedder) if under.embedder else None,
    }


def _turn(turn: Turn, earlier: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    places = [dict(earlier[number]) for number in turn.passages if number in earlier]
    return {"question": turn.question, "answer": turn.answer, "passages": places}


def _models(used: Mapping[str, str | None], under: Circumstances) -> dict[str, Any]:
    digests = {**under.digests, "embedder": under.embedder.digest if under.embedder else ""}
    return {part: {"name": name, "digest": digests.get(part) or None} if name else None for part, name in used.items()}


def _finite(value: Any) -> Any:
    """The value as JSON: None for NaN and infinity, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
