"""An answer of a question run as the audit log keeps it, with what a replay needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import RagScienceError
from ragscience.core.program import __version__
from ragscience.core.records import Answer, Paper, StoredChunk
from ragscience.core.settings import deciding_values
from ragscience.engine.question_profiles import DECIDING_WHERE_SET
from ragscience.library.atomic_files import disk_errors
from ragscience.library.audit import AuditLog, Circumstances, Request, place_of, record_of

if TYPE_CHECKING:
    from ragscience.engine.question_run import QuestionRun
    from ragscience.engine.requests import AskRequest
    from ragscience.library.store import Store

__all__ = ["audit", "record_for"]

_MIB = 1 << 20


def audit(run: QuestionRun, answer: Answer, request: AskRequest, *, at: str) -> None:
    """Append the answer to the audit log, where the settings `audit` and `history` are on and there is a library.

    What goes wrong is a warning, and never costs the answer. `at` is ISO 8601, UTC.
    """
    settings, home = run.settings, run.shared.home
    if not (settings.audit and settings.history and home.vectorstore.is_dir()):
        return
    try:
        path = home.audit_of(run.person)
        with disk_errors(path.parent):
            path.parent.mkdir(mode=0o700, exist_ok=True)
        log = AuditLog(path, max_bytes=settings.audit_max_mb * _MIB, keep=settings.audit_keep)
        log.append(record_for(run, answer, request, at=at) | {"person": run.person})
    except RagScienceError as error:
        run.warn(f"This answer is not in the audit log: {error}")


def record_for(run: QuestionRun, answer: Answer, request: AskRequest, *, at: str) -> dict[str, Any]:
    """The record of an answer that this run has just given. Raises RagScienceError for a damaged library."""
    library = run.library
    asked = Request(request.filters, request.history, request.strict, request.agent, request.plain)
    with library.snapshot():
        earlier = library.chunks([number for turn in asked.history for number in turn.passages])
        papers = _papers(library, [*(hit.chunk for hit in answer.found.hits), *earlier])
        under = Circumstances(
            program=__version__,
            settings=deciding_values(run.settings),
            chosen=tuple(run.settings.model_fields_set & DECIDING_WHERE_SET),
            wanted=request.top_k,
            library_id=library.library_id,
            generation=library.generation,
            chunker=library.chunker,
            embedder=library.embedder,
            digests=_digests(run, answer.models),
        )
        places = {chunk.chunk_id: place_of(chunk, papers.get(chunk.paper_id)) for chunk in earlier}
    return record_of(answer, at=at, asked=asked, under=under, papers=papers, earlier=places)


def _papers(library: Store, chunks: list[StoredChunk]) -> dict[int, Paper]:
    """The papers of the passages by id, but for those that have changed since they were read."""
    found = (library.paper_by_path(path) for path in {chunk.path for chunk in chunks})
    ids = {chunk.paper_id for chunk in chunks}
    return {paper.paper_id: paper for paper in found if paper is not None and paper.paper_id in ids}


def _digests(run: QuestionRun, used: Mapping[str, str | None]) -> dict[str, str]:
    """Of what has weights besides the embedder and was `used`, as far as they are known."""
    digests = {}
    if used.get("reranker"):
        reranker, tokens = run.reranker, run.tokens_from
        late = tokens.identity.digest if tokens is not None else ""
        digests["reranker"] = late if reranker is None else str(getattr(reranker, "digest", ""))
    if used.get("llm") and run.llm is not None:
        digests["llm"] = run.llm.digest
    return digests
