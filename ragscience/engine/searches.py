"""The searches of one question: for each way to read it, for each paper that it compares, and as a run of the agent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.ask.answer_context import AnswerRequest
from ragscience.ask.answers import worth
from ragscience.ask.confidence import log_odds
from ragscience.ask.conversation import held_reading
from ragscience.ask.decomposition import in_turn, parts_of, together
from ragscience.core.records import Answer, Filters, Found, Paper, Profile, QuestionPart
from ragscience.engine.events import ModelAsked, Reranking, Searched
from ragscience.engine.places import placed
from ragscience.engine.requests import AskRequest, described, shortened
from ragscience.library.filter_selection import match_papers
from ragscience.search.hybrid_search import SearchModels, search
from ragscience.search.names import PaperNames
from ragscience.search.profiles import profile_of

if TYPE_CHECKING:
    from ragscience.agent.agent_state import AgentContext
    from ragscience.agent.tools import ToolsUsed
    from ragscience.engine.question_run import QuestionRun
    from ragscience.models.served_llm import ServedLLM


Find = Callable[[str, Filters], Found]
NEXT_READING = 1.0
"""How much lower the log-odds of the next best reading may be for it to be answered, too: docs/choices.md."""
IN_PARTS = -0.5
"""By how much the mean log-odds of the parts' worth may be lower than those of the whole: docs/choices.md."""
AGENT_SECONDS = 600.0
"""Time limit for the agent: after ten minutes, the best draft is the answer."""
TOOL_TEXT_CHARS = 4000
"""Of the text of one tool."""


def agent_answer(run: QuestionRun, request: AskRequest) -> Answer:
    """The answer by the agent, with the place of each quote on its page.

    The whole answer is one `Token` event, each finished step a `StepDone`.
    """
    from ragscience.agent.loop import answer_by_agent

    answer = answer_by_agent(_context(run, request))
    run.on_token(answer.text)
    return placed(answer, run.library)


def agent_profile(run: QuestionRun) -> Profile:
    """How the agent searches for each sub-query: `rrf`, unless another profile than the default is wanted.

    Each search gives as many passages as a plain answer is made from, so that the question's own are never fewer.
    """
    if run.settings.profile != "default" or run.llm_reranker is not None:
        return run.answer_profile
    return profile_of(run.settings, run.request.top_k, name="rrf", for_answer=True)


def _context(run: QuestionRun, request: AskRequest) -> AgentContext:
    from ragscience.agent.agent_state import AgentContext, Limits

    library, settings, filters = run.library, run.settings, request.filters
    profile = agent_profile(run)
    papers = _allowed(library.papers(), filters)

    def find(query: str, own: Filters) -> Found:
        given = {name: value for name in ("paper_ids", "kinds", "sections") if (value := getattr(own, name))}
        return searched(run, query, replace(filters, **given), profile=profile)

    def search(query: str, files: tuple[str, ...]) -> Found:
        return find(query, Filters(paper_ids=tuple(paper.paper_id for paper in papers if paper.file in files)))

    return AgentContext(
        request=AnswerRequest(run.spelled, request.history, request.strict, run.readings[0].searched),
        answering=run.answer_context,
        steps_by_llm=run.step_llm is not None,
        papers=papers,
        search=search,
        use_tools=_tools(run, run.step_llm, filters, find) if run.step_llm and library.about.chunks else None,
        limits=Limits(
            settings.agent_iterations, AGENT_SECONDS, **({"passages": request.top_k} if request.top_k else {})
        ),
        on_step=run.on_step,
    )


def _tools(run: QuestionRun, llm: ServedLLM, filters: Filters, find: Find) -> Callable[..., ToolsUsed]:
    from ragscience.agent.tool_calling import use_tools
    from ragscience.agent.tools import Toolbox

    ids = run.library.select(filters) if filters != Filters() else None
    kept = None if ids is None else set(ids.tolist())
    allowed = lambda hit: kept is None or hit.chunk.chunk_id in kept  # noqa: E731
    toolbox = Toolbox(run.library, finds=find, most_chars=TOOL_TEXT_CHARS, allowed=allowed)

    def use(wanted: str, *, most_calls: int, seconds: float) -> ToolsUsed:
        if llm.calls_tools:
            run.publish(ModelAsked(llm.name, 0))
        cancelled = run.answer_context.cancelled
        return use_tools(toolbox, llm, wanted, most_calls=most_calls, seconds=seconds, cancelled=cancelled)

    return use


def _allowed(papers: list[Paper], filters: Filters) -> tuple[Paper, ...]:
    """The papers that the filters allow by their names."""
    if filters.papers:
        ids = match_papers(papers, filters.papers)
        papers = [paper for paper in papers if paper.paper_id in ids]
    return tuple(papers)


def searched(run: QuestionRun, question: str, filters: Filters, profile: Profile | None = None) -> Found:
    """The passages that the filters allow, best first."""
    run.stop_if_cancelled()
    profile, question = profile or run.profile, shortened(question)
    run.publish(Searched(question))
    if not run.library.about.chunks:
        return Found(question, profile.name, ())
    if profile.name == "guide":
        from ragscience.search.guide_profile import guide_search

        with run.shared.search_slots:
            return guide_search(
                question,
                library=run.library,
                embedder=run.embedder,
                reranker=run.reranker,
                profile=profile,
                filters=filters,
            )
    graph, kept_to = run.graph, filters
    if graph is not None and run.request.graph_filter:
        kept_to = replace(filters, paper_ids=graph.papers(question, run.library))
        if not kept_to.paper_ids:
            run.warn("The question names no entity of the knowledge graph, so all papers were searched.")
    models = SearchModels(
        run.embedder,
        run.tokens_from,
        run.reranker,
        sources=graph.sources if graph is not None else {},
        on_rerank=lambda passages: run.publish(Reranking(passages)),
    )
    with nullcontext() if run.llm_reranker is not None else run.shared.search_slots:
        found = search(question, library=run.library, models=models, profile=profile, filters=kept_to)
    if graph is not None:
        found = graph.described(found, run.library, profile)
    if not found.hits and filters != Filters():
        run.warn(f"No passage fits the filters: {described(filters)}.")
    return found


def search_readings(run: QuestionRun, filters: Filters, profile: Profile | None = None, rewritten: str = "") -> Found:
    """What is found for the reading of the question that is answered best; `Found.question` is its text.

    How well is what the quotes are worth that an answer would be made of, `Found.signals["worth"]`. `rewritten`, a
    language model's own reading, competes where it loses no name and brings no new one.
    """
    names = PaperNames.of(run.library) if run.library.about.chunks else None
    readings = run.readings
    if rewritten and names is not None:
        spoken = " ".join((run.spelled, *(f"{turn.question} {turn.answer}" for turn in run.request.history)))
        readings = (*held_reading(rewritten, readings, run.spelled, spoken, names), *readings)
    results: list[tuple[float, Found]] = []
    for reading in dict.fromkeys(readings):
        ids = tuple(names.id_of(file) for file in reading.files) if names is not None else ()
        kept = replace(filters, paper_ids=ids) if ids and not (filters.papers or filters.paper_ids) else filters
        found = search_in_parts(run, reading.searched, kept, profile)
        found = replace(found, about=reading.files)
        if len(readings) == 1 and not reading.before:
            return found
        likely = worth(found, run.answer_context)
        results.append((log_odds(likely) + reading.prior, replace(found, signals={**found.signals, "worth": likely})))
    (likely, best), *others = sorted(results, key=lambda result: -result[0])
    if others and likely - others[0][0] < NEXT_READING:
        return replace(best, second=QuestionPart(others[0][1].question, others[0][1].hits))
    return best


def search_in_parts(run: QuestionRun, question: str, filters: Filters, profile: Profile | None = None) -> Found:
    """As `searched`; each thing that the question asks is searched for by itself, in the paper that it names.

    The passages of the parts then take turns, the best of each first, and `Found.parts` says which are whose. Parts
    that are not each about a paper of its own are to be answered nearly as well as the whole. Raises as `searched`.
    """
    whole = searched(run, question, filters, profile)
    if not whole.hits:
        return whole
    names, found, papers = PaperNames.of(run.library), list[Found](), set[tuple[int, ...]]()
    for part in parts_of(question, names, run.answer_context.split):
        ids = tuple(map(names.id_of, part.papers))
        if filters.paper_ids and not set(ids) <= set(filters.paper_ids):
            continue  # of a paper that is not asked
        each = searched(run, part.text, replace(filters, paper_ids=ids) if ids else filters, profile)
        found += [replace(_of_part(whole, each), question=part.text)] if each.hits else []
        papers.add(ids)
    if len(found) < 2:
        return whole
    if len(papers) < 2 or () in papers:
        sure = [log_odds(worth(each, run.answer_context)) for each in found]
        if sum(sure) / len(sure) < log_odds(worth(whole, run.answer_context)) + IN_PARTS:
            return whole
    return together(whole, found, in_turn([each.hits for each in found])[: (profile or run.profile).top_k], found)


def _of_part(whole: Found, found: Found) -> Found:
    """What was found for a part: its best passage, those that the whole question has found in its papers, the rest."""
    papers = {hit.chunk.paper_id for hit in found.hits}
    hits = (*found.hits[:1], *(hit for hit in whole.hits if hit.chunk.paper_id in papers), *found.hits[1:])
    return replace(found, hits=tuple({hit.chunk.chunk_id: hit for hit in hits}.values()))
