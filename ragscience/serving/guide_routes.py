"""The graph over HTTP: the graph guide's two calls, `POST /api/build_graph` and `/api/agent_action`; graph and map."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from threading import Event as Flag
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, Strict
from starlette.responses import HTMLResponse, Response

from ragscience.core import __version__
from ragscience.core.errors import Cancelled, LibraryUnavailable, NothingFound, UsageError
from ragscience.core.records import Answer, Filters, Paper, title_of
from ragscience.core.serialization import SCHEMA_VERSION, select
from ragscience.engine.events import Event, FetchRequest, OnEvent
from ragscience.engine.graph_runs import GraphRequest, ServedMap, types_named
from ragscience.engine.library_engine import Engine
from ragscience.engine.requests import AskRequest, SearchRequest
from ragscience.serving.access import person_of, state_of
from ragscience.serving.problem_responses import JsonReply
from ragscience.serving.work import LOOK_S, Job, until_done

ACTIONS = ("chat", "summarize", "compare", "find_gaps")
OF_EACH = {
    "summarize": ("Summarize this paper",),
    "find_gaps": ("What are the limitations of this paper?", "What future work does this paper suggest?"),
}
"""What an action without a query asks of each paper by itself."""
PASSAGES_PER_PAPER = 20
"""That a topic is searched with."""
MOST_PAPERS = 20
"""Papers of an action that looks at each by itself."""
SessionId = Annotated[str, Field(max_length=100, description="The name of a conversation; a new one without it.")]
Name = Annotated[str, Field(min_length=1, max_length=1000)]


class BuildGraphBody(BaseModel, extra="forbid"):
    """A topic to find papers for."""

    topic: Annotated[str, Field(min_length=1, max_length=300)]
    max_results: Annotated[int, Field(ge=1, le=50)] = 5
    source: Annotated[
        Literal["arxiv", "library"], Field(description="Fetched from arXiv, or papers that are there.")
    ] = "arxiv"


class AgentActionBody(BaseModel, extra="forbid"):
    """What to do with papers."""

    action: Annotated[str, Field(max_length=100, description=f"One of {', '.join(ACTIONS)}.")] = "chat"
    selected_papers: Annotated[list[Name | dict[str, Any]], Field(max_length=100)] = []
    query: Annotated[
        str, Field(max_length=8000, description="The question; without one, what the action looks for by itself.")
    ] = ""
    session_id: SessionId = ""
    use_hybrid: Annotated[bool, Field(description="Search by meaning and words, not by meaning alone.")] = True
    use_reranking: bool = True


guide_routes = APIRouter(tags=["graph guide"], default_response_class=Response)
"""The routes, to be mounted under `/api`."""


@guide_routes.post("/build_graph")
async def build_graph(body: BuildGraphBody, request: Request) -> Response:
    """Fetch papers on a topic, read them, and give the graph of them; a client that leaves ends it."""
    state, cancel = state_of(request), Flag()
    if body.source == "arxiv" and state.engine.settings.offline:
        fix = 'Start it without --offline, or send "source": "library" to use the papers that are there.'
        raise UsageError("The server is offline: papers cannot be fetched from arXiv.", fix)
    job = Job(f"graph of {body.topic[:60]}", total=body.max_results)

    def work(hear: OnEvent) -> dict[str, Any]:
        def told(event: Event) -> None:
            if state.queue.is_closing():
                cancel.set()
            hear(event)

        return _built(state.engine, body, told, cancel)

    made = state.queue.put(job, work, person_of(request.scope).name)
    try:
        while job.state in ("waiting", "running") and not await request.is_disconnected():
            await asyncio.sleep(LOOK_S)
    finally:
        cancel.set()
    if made.cancelled() or not made.done():
        raise LibraryUnavailable("The graph was not built.", f"GET /api/v1/jobs/{job.job_id} says more.")
    built = made.result()
    return JsonReply(built | {"warnings": [*job.warnings, *built["warnings"]]})


@guide_routes.post("/agent_action")
async def agent_action(body: AgentActionBody, request: Request) -> Response:
    """Chat with papers, summarize them, compare them, or look for what they leave open."""
    state = state_of(request)
    if body.action not in ACTIONS:
        raise UsageError(f"There is no action {body.action!r}.", f"The actions are {', '.join(ACTIONS)}.")
    session = body.session_id.strip() or _session_id()

    def work(_: Any, cancel: Flag) -> tuple[list[tuple[str, Answer]], dict[str, str]]:
        engine = state.engine
        papers = engine.papers.find([_name(one) for one in body.selected_papers])
        talk = engine.dialogue(name=session, person=person_of(request.scope).name)
        by_meaning = engine.settings.model_copy(update={"dense_weight": 1.0, "bm25_weight": 0.0})
        searching = engine if body.use_hybrid else engine.with_settings(by_meaning)
        has_graph = bool(engine.library.graph.state())
        answers = [
            (title, searching.ask(_request(body, question, part, has_graph=has_graph), dialogue=talk, cancel=cancel))
            for title, question, part in _questions(body, papers)
        ]
        return answers, {paper.file: paper.md5 for paper in engine.papers.list()}

    answers, md5 = await until_done(work, state.answers, request)
    return JsonReply(_done(answers, md5, session))


def _questions(body: AgentActionBody, papers: Sequence[Paper]) -> list[tuple[str, str, Sequence[Paper]]]:
    """(heading, question, papers to answer it from) of each question that the action asks. Raises UsageError."""
    query = body.query.strip()
    if body.action == "chat":
        if not query:
            raise UsageError("The action chat needs a query.", 'Send "query": "…".')
        return [("", query, papers)]
    least = 2 if body.action == "compare" else 1
    if not least <= len(papers) <= MOST_PAPERS:
        said = f"The action {body.action} takes {least} to {MOST_PAPERS} papers, not {len(papers)}."
        raise UsageError(said, 'Name them in "selected_papers".')
    if body.action == "compare" and not query:
        files = [paper.file for paper in papers]
        return [("", f"Compare {', '.join(files[:-1])} and {files[-1]}", papers)]
    questions = (query,) if query else OF_EACH[body.action]
    return [(title_of(paper) or paper.file, question, [paper]) for paper in papers for question in questions]


def _name(paper: str | dict[str, Any]) -> str:
    """What names a selected paper, a node of `build_graph` or a part of one. Raises UsageError."""
    if isinstance(paper, str):
        return paper
    named = next((paper[key] for key in ("md5", "id", "file", "link", "title") if paper.get(key)), None)
    if not isinstance(named, str):
        raise UsageError("A selected paper has no id.", "Send the nodes of build_graph, or their ids.")
    return named[:1000]


def _request(body: AgentActionBody, question: str, papers: Sequence[Paper], *, has_graph: bool) -> AskRequest:
    filters = Filters(papers=tuple(paper.md5 for paper in papers))
    profile, rerank = "even" if body.use_hybrid else "default", None if body.use_reranking else "off"
    return AskRequest(question, filters, profile=profile, rerank=rerank, graph=has_graph or None)


def _done(answers: Sequence[tuple[str, Answer]], md5: dict[str, str], session: str) -> dict[str, Any]:
    parts: list[str] = []
    for title, answer in answers:
        heading = f"## {title}"
        parts += [heading] if title and heading not in parts else []
        parts.append(answer.text)
    cited = [one for _, answer in answers for one in answer.citations]
    return {
        "response": "\n\n".join(parts),
        "session_id": session,
        "citations": [{"md5": md5.get(one.file)} | select("file page quote", one) for one in cited],
        "answer_ids": [answer.answer_id for _, answer in answers],
        "warnings": list(dict.fromkeys(warning for _, answer in answers for warning in answer.warnings)),
    }


def _built(engine: Engine, body: BuildGraphBody, told: OnEvent, cancel: Flag) -> dict[str, Any]:
    """The papers of a topic as a graph: similar ones, what they name, and what they state between these.

    Raises NothingFound where no paper fits the topic, SourceError where arXiv fails, Cancelled once `cancel` is set.
    """

    def until_stopped(event: Event) -> None:
        told(event)
        if cancel.is_set():
            raise Cancelled

    failures: list[str] = []
    if body.source == "library":
        papers = _found(engine, body, cancel)
    else:
        papers, failures = _fetched(engine, body, told, cancel)
    if cancel.is_set():
        raise Cancelled
    engine.graph.build(GraphRequest(), on_event=until_stopped)
    near, entities, relations = engine.graph.among(papers)
    named = [{"id": one.key, "name": one.label, "type": one.entity_type} | select("mentions", one) for one in entities]
    return {
        "nodes": [_node(paper, engine) for paper in papers],
        "edges": [{"source": one.md5, "target": two.md5, "weight": round(cosine, 6)} for one, two, cosine in near],
        "knowledge_graph": {
            "nodes": named,
            "edges": [select("source relation target confidence", one) for one in relations],
        },
        "session_id": _session_id(),
        "warnings": failures,
    }


def _found(engine: Engine, body: BuildGraphBody, cancel: Flag) -> list[Paper]:
    """The papers of the library whose passages fit the topic best."""
    most = min(200, PASSAGES_PER_PAPER * body.max_results)
    found = engine.search(SearchRequest(body.topic, top_k=most, rerank="off"), cancel=cancel)
    by_id = {paper.paper_id: paper for paper in engine.papers.list()}
    best = dict.fromkeys(hit.chunk.paper_id for hit in found.hits)
    papers = [by_id[paper_id] for paper_id in best if paper_id in by_id][: body.max_results]
    if not papers:
        raise NothingFound("No paper of the library fits this topic.", "Use other words, or add papers.")
    return papers


def _fetched(engine: Engine, body: BuildGraphBody, told: OnEvent, cancel: Flag) -> tuple[list[Paper], list[str]]:
    """(the papers that arXiv has for the topic, as they are in the library, why others are missing)."""
    wanted = FetchRequest((body.topic,), only_topics=True, count=body.max_results)
    came = engine.ingest.fetch(wanted, on_event=told, cancel=cancel)
    if not came.papers and came.failures:
        raise came.failures[0].error
    places = {form: paper for paper in engine.papers.list() for form in (paper.md5, paper.file, paper.path)}
    found = [places.get(one.md5) or places.get(one.file) for one in came.papers]
    papers = {paper.md5: paper for paper in found if paper is not None}
    failures = [f"{one.title}: {one.error}" for one in came.papers if one.error]
    failures += [f"{each.path.name}: {each.problem.message}" for each in (came.ingest.failures if came.ingest else ())]
    if not papers and not cancel.is_set():
        raise NothingFound("None of the papers could be fetched and read.", "; ".join(failures[:3]))
    return list(papers.values()), failures


def _node(paper: Paper, engine: Engine) -> dict[str, Any]:
    known = paper.metadata
    return {
        "id": paper.md5,
        "title": title_of(paper) or paper.file,
        "summary": engine.papers.abstract(paper),
        "authors": known.authors,
        "published": known.published or str(known.year or ""),
        "link": f"https://arxiv.org/abs/{known.arxiv_id}" if known.arxiv_id else known.url,
    } | select("md5 file pages", paper)


def _session_id() -> str:
    """A name for a conversation that no other has."""
    return f"graph-{secrets.token_hex(8)}"


MOST_UNREAD = 100
"""Papers that a summary names."""
EntityType = Annotated[str, Field(pattern=r"^[\w -]+$", max_length=100)]


class BuildBody(BaseModel, extra="forbid"):
    """How the passages are read that the graph lacks."""

    types: Annotated[list[EntityType], Field(max_length=20, description="Types of entities to look for as well.")] = []
    by_llm: Annotated[bool, Strict(), Field(description="By the language model instead of the rules.")] = False
    full: Annotated[bool, Strict(), Field(description="With by_llm every passage, not titles and abstracts alone.")] = (
        False
    )
    again: Annotated[bool, Strict(), Field(description="Also passages that were read before.")] = False


graph_routes = APIRouter(tags=["graph"], default_response_class=Response)
"""The routes, to be mounted under the version's prefix."""
map_page_route = APIRouter(include_in_schema=False)
"""The page of the map, without a prefix."""


@graph_routes.get("/graph")
def summary(request: Request) -> Response:
    """How large the graph is, and which papers it lacks."""
    counts, unread = state_of(request).engine.graph.summary()
    named = [select("md5 file title", paper, title=title_of(paper)) for paper in unread[:MOST_UNREAD]]
    more = {"built": counts["passages_read"] > 0, "papers_unread": len(unread), "unread": named}
    return JsonReply({"schema": SCHEMA_VERSION} | counts | more)


@graph_routes.post("/graph", status_code=202, responses={202: {"model": Job}})
def build(request: Request, body: BuildBody | None = None) -> Response:
    """Read the passages that the graph lacks; the job's progress, in passages, is at `/jobs/{id}`."""
    body = body or BuildBody()
    wanted = GraphRequest(types_named(",".join(body.types)), body.by_llm, body.full, body.again)
    return JsonReply(state_of(request).queue.build_graph(wanted, person_of(request.scope).name), 202)


@graph_routes.get("/map")
def map_data(request: Request) -> Response:
    """What the map shows: papers and entities with their places, and the relations between them."""
    return _map_reply(request, lambda drawn: Response(drawn.data, media_type="application/json"))


@map_page_route.get("/map", response_class=HTMLResponse)
def map_page(request: Request) -> Response:
    """The map to look at, in a frame of the server's own page or alone."""
    return _map_reply(request, _page)


def _page(drawn: ServedMap) -> Response:
    policy = f"{drawn.policy}; frame-ancestors 'self'"
    return HTMLResponse(drawn.page, headers={"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN"})


def _map_reply(request: Request, reply: Callable[[ServedMap], Response]) -> Response:
    """The reply with its ETag; 304 where the client has it already."""
    graph = state_of(request).engine.graph
    tag = f'"{graph.state()}-{__version__}"'
    if tag in [each.strip() for each in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers={"ETag": tag, "Cache-Control": "private, no-cache"})
    drawn = graph.served_map()
    response = reply(drawn)
    response.headers.update({"ETag": f'"{drawn.state}-{__version__}"', "Cache-Control": "private, no-cache"})
    return response
