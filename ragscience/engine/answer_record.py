"""The record of an answer in the audit log: what was asked, of what, with which models, and what came out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ragscience.core import __version__
from ragscience.core.records import Answer, Paper, StoredChunk
from ragscience.core.settings import deciding_values
from ragscience.engine.requests import DECIDING_WHERE_SET, AskRequest
from ragscience.library.audit import SCHEMA_VERSION as AUDIT_SCHEMA_VERSION
from ragscience.library.audit import of_answer, place_of, plain, without_credentials

if TYPE_CHECKING:
    from ragscience.engine.question_run import QuestionRun
    from ragscience.library.store import Store

__all__ = ["record_for"]


def record_for(run: QuestionRun, answer: Answer, request: AskRequest, *, at: str) -> dict[str, Any]:
    """The record of an answer that this run has just given, `at` that moment (ISO 8601, UTC), as JSON.

    It has no credentials in URLs, except in text by the user or a model. Raises RagScienceError for a damaged library.
    """
    library = run.library
    with library.snapshot():
        earlier = library.chunks([number for turn in request.history for number in turn.passages])
        papers = _papers(library, [*(hit.chunk for hit in answer.found.hits), *earlier])
        embedder = library.about.embedder
        depends_on = {
            "settings": deciding_values(run.settings),
            "library": {
                "id": library.about.library_id,
                "generation": library.about.version,
                "chunker": library.about.chunker,
                "embedder": embedder and asdict(embedder),
            },
            "models": _models(run, answer, embedder.digest if embedder else ""),
        }
    places = {chunk.chunk_id: place_of(chunk, papers.get(chunk.paper_id)) for chunk in earlier}
    asked = {
        "schema": AUDIT_SCHEMA_VERSION,
        "at": at,
        "program": __version__,
        "agent": request.agent,
        "strict": request.strict,
        "plain": request.plain,
        "k": request.top_k,
        "filters": asdict(request.filters),
        "history": [
            {
                "question": turn.question,
                "answer": turn.answer,
                "passages": [places[number] for number in turn.passages if number in places],
            }
            for turn in request.history
        ],
        "chosen": sorted(run.settings.model_fields_set & DECIDING_WHERE_SET),
    }
    record: dict[str, Any] = plain(asked) | without_credentials(depends_on)
    return record | of_answer(answer, papers, run.warnings)


def _papers(library: Store, chunks: Iterable[StoredChunk]) -> dict[int, Paper]:
    """The papers of the passages by id, but for those that have changed since they were read."""
    chunks = list(chunks)
    found = (library.paper(path=path) for path in {chunk.path for chunk in chunks})
    ids = {chunk.paper_id for chunk in chunks}
    return {paper.paper_id: paper for paper in found if paper is not None and paper.paper_id in ids}


def _models(run: QuestionRun, answer: Answer, embedder: str) -> dict[str, Any]:
    """Name and digest of the weights of each part, None for one that was not used; `embedder` is that one's digest."""
    used, digests = answer.models, {"embedder": embedder}
    if used.get("reranker"):
        late = run.tokens_from.identity.digest if run.tokens_from is not None else ""
        digests["reranker"] = late if run.reranker is None else str(getattr(run.reranker, "digest", ""))
    if used.get("llm") and run.llm is not None:
        digests["llm"] = run.llm.digest
    return {part: {"name": name, "digest": digests.get(part) or None} if name else None for part, name in used.items()}
