"""The audit record of an answer: enough to see where it came from.

A passage is named by the MD5 of its file and its offsets, because its id changes with a rebuild. Of its text only the
digest is kept: the library has the text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ragscience.core.records import Answer, Citation, Hit, Paper, StoredChunk

SCHEMA_VERSION = 2
"""Of a record. A change that breaks a reader raises it; a new field does not."""
_CREDENTIALS = re.compile(r"(?<=://)[^\s/?#@]+(?:@[^\s/?#@]+)*@")
_URL_END = re.compile(r"[?#].*", re.DOTALL)
_IS_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_OF_CHUNK = ("chunk_id", "file", "path", "page_start", "page_end", "section", "kind")
_OF_CITATION = ("file", "path", "page", "start", "end", "quote", "supported")


def of_answer(answer: Answer, papers: Mapping[int, Paper], warnings: Iterable[str] = ()) -> dict[str, Any]:
    """What a record says of the answer itself, as JSON; `papers` has the passages' papers by id.

    `warnings` are those of the run that are not the answer's own.
    """
    found = answer.found
    record: dict[str, Any] = plain(
        {
            "answer_id": answer.answer_id,
            "trace_id": answer.trace_id,
            "question": answer.question,
            "searched": found.question,
            "profile": found.profile,
            "passages": [_passage(hit, papers.get(hit.chunk.paper_id)) for hit in found.hits],
            "signals": found.signals,
            "second_look": found.verdict or None,
            "concepts": found.concepts,
            "paths": [asdict(path) for path in found.paths],
            "answer": answer.text,
            "mode": answer.mode,
            "route": answer.route,
            "refused": answer.refused,
            "answerability": answer.answerability,
            "prompt_cut": answer.prompt_cut,
            "citations": [_citation(item) for item in answer.citations],
            "sentences": [
                {
                    "text": item.text,
                    "verdict": item.verdict,
                    "score": item.score,
                    "evidence": _citation(item.evidence) if item.evidence else None,
                }
                for item in answer.sentences
            ],
            "timings_ms": {**found.timings_ms, **answer.timings_ms},
            "tokens": answer.tokens,
        }
    )
    said = list(dict.fromkeys([*found.warnings, *answer.warnings, *warnings]))
    return record | {
        "warnings": without_credentials(said),
        "trace": without_credentials([asdict(step) for step in answer.trace]),
    }


def place_of(chunk: StoredChunk, paper: Paper | None) -> dict[str, Any]:
    """A passage's name that survives a rebuild: its file's MD5 (empty if unknown) and its offsets."""
    return {"md5": paper.md5 if paper else "", "start": chunk.start, "end": chunk.end}


def without_credentials(value: Any) -> Any:
    """The value as `plain`, without user and password in its URLs; a text that is a URL loses its query, too."""
    if isinstance(value, str):
        bare = _CREDENTIALS.sub("", value)
        return _URL_END.sub("", bare) if _IS_URL.fullmatch(bare) else bare
    if isinstance(value, Mapping):
        return {name: without_credentials(item) for name, item in value.items()}
    return [without_credentials(item) for item in value] if isinstance(value, list | tuple) else plain(value)


def plain(value: Any) -> Any:
    """The value as JSON: None for NaN and infinity, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _passage(hit: Hit, paper: Paper | None) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "rank": hit.rank,
        **place_of(chunk, paper),
        **{name: getattr(chunk, name) for name in _OF_CHUNK},
        "url": without_credentials(paper.metadata.url) if paper else "",
        "text_sha256": hashlib.sha256(chunk.text.encode("utf-8", "surrogatepass")).hexdigest(),
        "score": hit.score,
        "scores": hit.scores,
        "found_by": hit.found_by,
    }


def _citation(citation: Citation) -> dict[str, Any]:
    return {name: getattr(citation, name) for name in _OF_CITATION}
