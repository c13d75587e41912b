"""The knowledge graph and the map: `/api/v1/graph`, `/api/v1/map`, and the map's page at `/map`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, Strict
from starlette.responses import HTMLResponse, Response

from ragscience.core import __version__
from ragscience.core.errors import NothingFound
from ragscience.core.records import Paper, PathStep, title_of
from ragscience.engine.graph_runs import Entity, GraphRequest, types_named
from ragscience.serving.access import person_of, state_of
from ragscience.serving.paper_routes import Md5
from ragscience.serving.problem_responses import json_reply, of, record_reply
from ragscience.serving.work import Job

if TYPE_CHECKING:
    from ragscience.engine.graph_runs import ServedMap
    from ragscience.engine.library_engine import Engine


MOST_UNREAD = 100
"""Papers that a summary names."""
Name = Annotated[str, Field(min_length=1, max_length=300)]
Limit = Annotated[int, Query(ge=1, le=200, description="How many results.")]
Offset = Annotated[int, Query(ge=0, le=1_000_000, description="How many results to leave out, for the next page.")]
Together = Annotated[bool, Query(description="Also follow entities that are only named in the same sentence.")]
EntityType = Annotated[str, Field(pattern=r"^[\w -]+$", max_length=100)]


class BuildBody(BaseModel):
    """How the passages are read that the graph lacks."""

    model_config = ConfigDict(extra="forbid")

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
    named = [_named(paper) for paper in unread[:MOST_UNREAD]]
    return record_reply(counts, built=counts["passages_read"] > 0, papers_unread=len(unread), unread=named)


@graph_routes.post("/graph", status_code=202, responses={202: {"model": Job}})
def build(request: Request, body: BuildBody | None = None) -> Response:
    """Read the passages that the graph lacks; the job's progress, in passages, is at `/jobs/{id}`."""
    body = body or BuildBody()
    wanted = GraphRequest(types_named(",".join(body.types)), body.by_llm, body.full, body.again)
    return json_reply(state_of(request).queue.build_graph(wanted, person_of(request.scope).name), 202)


@graph_routes.get("/graph/concepts")
def concepts(
    request: Request,
    q: Annotated[str, Query(max_length=300, description="A part of a name; nothing: all.")] = "",
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """The entities with such a name: those that are called so first, then the most frequent."""
    engine = _with_graph(request)
    total, found = engine.graph.named(q, limit=limit, offset=offset)
    return record_reply(query=q, total=total, offset=offset, concepts=[_entity(one) for one in found])


@graph_routes.get("/graph/concepts/{name:path}")
def concept(
    request: Request,
    name: Annotated[str, Path(min_length=1, max_length=300, description="A name, or the id of an entity.")],
    hops: Annotated[int | None, Query(ge=1, le=4)] = None,
    limit: Limit = 20,
    offset: Offset = 0,
    together: Together = False,
) -> Response:
    """The entities of a name: their papers, passages with pages, and what the papers relate them with."""
    engine = _with_graph(request)
    found = engine.graph.neighbours(name, hops=hops, most=offset + limit, together=together)
    entities = tuple(one.entity for one in found.entities)
    papers, passages, total = engine.graph.passages_of(entities, limit=limit, offset=offset)
    md5 = _md5_of(engine)
    relations = found.relations[offset:]
    return record_reply(
        of(found, "hops reached"),
        entities=[_entity(one.entity) | {"pages": _pages(one.pages, md5)} for one in found.entities],
        relations=[_step(each.step, md5) | of(each, "depth confidence") for each in relations],
        relations_total=found.walked,
        papers=[_named(paper) | {"passages": count} for paper, count in papers],
        passages=[of(one, "file page") | {"md5": md5.get(one.file), "quote": one.text} for one in passages],
        passages_total=total,
        offset=offset,
    )


@graph_routes.get("/graph/path")
def path(
    request: Request,
    source: Annotated[Name, Query(alias="from")],
    target: Annotated[Name, Query(alias="to")],
    together: Together = False,
) -> Response:
    """How two entities are connected, with pages for each step."""
    engine = _with_graph(request)
    names, steps = engine.graph.path(source, target, together=together)
    md5 = _md5_of(engine)
    return record_reply(source=names[0], target=names[-1], steps=[_step(step, md5) for step in steps])


@graph_routes.get("/graph/similar/{md5}")
def similar(md5: Md5, request: Request, limit: Limit = 5) -> Response:
    """The papers most like one, by the mean of their passages' vectors."""
    paper, related = state_of(request).engine.graph.related(md5, limit)
    near = [_named(one) | {"cosine": round(cosine, 6)} for one, cosine in related]
    return record_reply(of(paper, "md5 file"), related=near)


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


def _with_graph(request: Request) -> Engine:
    """The engine. Raises NothingFound where its library has no graph yet."""
    engine = state_of(request).engine
    if not engine.library.graph.state():
        raise NothingFound("There is no knowledge graph yet.", "POST /api/v1/graph builds it.")
    return engine


def _md5_of(engine: Engine) -> dict[str, str]:
    return {paper.file: paper.md5 for paper in engine.papers.list()}


def _named(paper: Paper) -> dict[str, Any]:
    return of(paper, "md5 file") | {"title": title_of(paper)}


def _entity(entity: Entity) -> dict[str, Any]:
    return {"id": entity.key, "name": entity.label, "type": entity.entity_type} | of(entity, "names mentions")


def _step(step: PathStep, md5: dict[str, str]) -> dict[str, Any]:
    return of(step, "source relation target") | {"pages": _pages(step.pages, md5)}


def _pages(pages: Iterable[tuple[str, int]], md5: dict[str, str]) -> list[dict[str, Any]]:
    return [{"md5": md5.get(file), "file": file, "page": page} for file, page in pages]
