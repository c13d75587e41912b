"""An answer of a session goes to the audit log, with what a replay needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragscience import __version__
from ragscience.audit import AuditLog, Circumstances, Request, place_of, record_of
from ragscience.errors import RagScienceError
from ragscience.records import Answer, Paper, StoredChunk
from ragscience.settings import deciding_values

if TYPE_CHECKING:
    from ragscience.store import Library
    from ragscience.terminal.session import Session

__all__ = ["audit", "record_for"]

_MIB = 1 << 20


def audit(session: Session, answer: Answer, asked: Request, *, at: str) -> None:
    """Keep the answer, where the settings `audit` and `history` are on and there is a library.

    What goes wrong is a warning, and never costs the answer. `at` is ISO 8601, UTC.
    """
    settings, path = session.settings, session.home.audit
    if not (settings.audit and settings.history and path.parent.is_dir()):
        return
    try:
        log = AuditLog(path, max_bytes=settings.audit_max_mb * _MIB, keep=settings.audit_keep)
        log.append(record_for(session, answer, asked, at=at))
    except RagScienceError as error:
        session.warning(f"This answer is not in the audit log: {error}")


def record_for(session: Session, answer: Answer, asked: Request, *, at: str) -> dict[str, Any]:
    """The record of an answer that this session has just given. Raises RagScienceError for a damaged library."""
    library = session.library
    with library.snapshot():
        earlier = library.chunks([number for turn in asked.history for number in turn.passages])
        papers = _papers(library, [*(hit.chunk for hit in answer.found.hits), *earlier])
        under = Circumstances(
            program=__version__,
            settings=deciding_values(session.settings),
            wanted=session.wanted,
            library_id=library.library_id,
            generation=library.generation,
            chunker=library.chunker,
            embedder=library.embedder,
            digests=_digests(session, answer.models),
            warnings=tuple(session.warnings),
        )
        places = {chunk.chunk_id: place_of(chunk, papers.get(chunk.paper_id)) for chunk in earlier}
    return record_of(answer, at=at, asked=asked, under=under, papers=papers, earlier=places)


def _papers(library: Library, chunks: list[StoredChunk]) -> dict[int, Paper]:
    """The papers of the passages by id, but for those that have changed since they were read."""
    found = (library.paper_by_path(path) for path in {chunk.path for chunk in chunks})
    ids = {chunk.paper_id for chunk in chunks}
    return {paper.paper_id: paper for paper in found if paper is not None and paper.paper_id in ids}


def _digests(session: Session, used: Mapping[str, str | None]) -> dict[str, str]:
    """Of what has weights beside the embedder and was `used`, as far as they are known."""
    digests = {}
    if used.get("reranker"):
        reranker, tokens = session.reranker, session.tokens_from
        late = tokens.identity.digest if tokens is not None else ""
        digests["reranker"] = late if reranker is None else str(getattr(reranker, "digest", ""))
    if used.get("llm") and session.llm is not None:
        digests["llm"] = session.llm.digest
    return digests
