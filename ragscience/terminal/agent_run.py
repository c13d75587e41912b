"""The settings and the library of a session become a run of the agent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ragscience.records import Answer, Filters, Found, Hit, Paper, Profile, Step, Turn
from ragscience.retrieval import profile_named
from ragscience.store.filter_selection import match_papers

if TYPE_CHECKING:
    from ragscience.agent.agent_context import AgentContext, ToolUse
    from ragscience.agent.agent_state import Limits
    from ragscience.terminal.session import Session

__all__ = ["agent_answer", "agent_profile"]

TOOL_TEXT_CHARS = 4000
"""Of what one tool says."""


def agent_answer(
    session: Session,
    question: str,
    *,
    history: Sequence[Turn],
    filters: Filters,
    strict: bool,
    on_token: Callable[[str], None] | None,
    on_step: Callable[[Step], None] | None,
) -> Answer:
    """The answer by the agent, with the place of each quote on its page; a run that was interrupted is gone on with.

    `on_token` gets the answer in one piece when it is there, `on_step` each step when it is done.
    """
    from ragscience.agent.loop import answer_by_agent
    from ragscience.engine.quote_location import placed

    library, settings = session.library, session.settings
    context = _agent_context(session, question, tuple(history), filters, strict, on_step)

    def resumed(steps: int) -> None:
        done = "1 step was" if steps == 1 else f"{steps} steps were"
        session.warning(f"Going on where this question was interrupted: {done} done already.")

    answer = answer_by_agent(
        context,
        checkpoints=session.home.agent if settings.history and library.chunk_count else None,
        run_id=_run_id(session, context, filters),
        on_resume=resumed,
    )
    if on_token is not None:
        on_token(answer.text)
    return placed(answer, library)


def agent_profile(session: Session) -> Profile:
    """How the agent searches for each sub-query: `rrf`, unless another profile than the default is asked for.

    Each search gives as many passages as a plain answer is made from, so that the question's own are never fewer.
    """
    settings = session.settings
    if settings.profile != "default" or session.llm_reranker is not None:
        return session.answer_profile
    profile = profile_named(
        "rrf",
        candidates=settings.top_k_candidates,
        top_k=settings.top_k,
        dense_weight=settings.dense_weight,
        bm25_weight=settings.bm25_weight,
        wanted=session.wanted,
    )
    return profile if session.wanted else replace(profile, top_k=max(profile.top_k, settings.answer_passages))


def _agent_context(
    session: Session,
    question: str,
    history: tuple[Turn, ...],
    filters: Filters,
    strict: bool,
    on_step: Callable[[Step], None] | None,
) -> AgentContext:
    from ragscience.agent.agent_context import AgentContext
    from ragscience.answering.answer_context import AnswerRequest

    library = session.library
    profile = agent_profile(session)
    papers = _papers(session, filters)

    def search(query: str, files: tuple[str, ...]) -> Found:
        within = replace(filters, papers=tuple(map(_named, files))) if files else filters
        return session.search(query, within, profile=profile)

    return AgentContext(
        request=AnswerRequest(question, history, strict),
        answering=session.answer_context,
        papers=papers,
        search=search,
        passages=library.chunks,
        use_tools=_tools(session, filters, papers, profile) if library.chunk_count else None,
        limits=_limits(session),
        on_step=on_step,
    )


def _limits(session: Session) -> Limits:
    from ragscience.agent.agent_state import Limits

    settings = session.settings
    return Limits(
        iterations=settings.agent_iterations,
        seconds=settings.agent_seconds,
        tokens=settings.agent_tokens,
        enough=settings.agent_enough,
        passages=session.wanted or settings.agent_passages,
        tool_calls=settings.agent_tool_calls,
    )


def _tools(session: Session, filters: Filters, papers: Sequence[Paper], profile: Profile) -> ToolUse:
    from ragscience.agent.tool_calling import tool_use
    from ragscience.agent.tools import Toolbox

    library = session.library

    def search(query: str, own: Filters) -> Found:
        within = replace(
            filters,
            papers=own.papers or filters.papers,
            kinds=own.kinds or filters.kinds,
            sections=own.sections or filters.sections,
        )
        return session.search(query, within, profile=profile)

    ids = library.select(filters) if filters != Filters() else None
    kept = None if ids is None else set(ids.tolist())

    def allowed(hit: Hit) -> bool:
        return kept is None or hit.chunk.chunk_id in kept

    toolbox = Toolbox(library, search=search, most_chars=TOOL_TEXT_CHARS)
    return tool_use(toolbox, papers=papers, llm=session.llm, allowed=allowed)


def _papers(session: Session, filters: Filters) -> tuple[Paper, ...]:
    """The papers that a question may be asked of, by their names."""
    papers = session.library.papers()
    if filters.papers:
        ids = match_papers(papers, filters.papers)
        papers = [paper for paper in papers if paper.paper_id in ids]
    return tuple(papers)


def _named(file: str) -> str:
    """A file's name as a filter takes it: characters of shell patterns stand for themselves."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in file)


def _run_id(session: Session, context: AgentContext, filters: Filters) -> str:
    """What stands for the question, the library as it is now and all that an answer depends on."""
    from ragscience.agent.agent_state import STATE_VERSION
    from ragscience.settings import deciding_values

    library, llm = session.library, session.llm
    parts: list[Any] = [
        STATE_VERSION,
        context.request.question,
        [[turn.question, turn.answer] for turn in context.request.history],
        asdict(filters),
        library.generation,
        asdict(library.embedder) if library.embedder else None,
        deciding_values(session.settings),
        session.wanted,
        [llm.name, llm.digest] if llm else None,
        context.request.strict,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
