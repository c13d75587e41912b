"""The knowledge graph and the map: `/api/v1/graph`, `/api/v1/map`, and the map's page at `/map`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, Strict
from starlette.responses import HTMLResponse, Response

from ragscience.core import __version__
from ragscience.core.errors import NothingFound
from ragscience.engine.graph_runs import GraphRequest, types_named
from ragscience.engine.outputs import GraphPathOutput
from ragscience.serving.access import person_of
from ragscience.serving.graph_outputs import (
    ConceptOutput,
    ConceptsOutput,
    GraphSummaryOutput,
    SimilarOutput,
    concept_output,
    concepts_output,
    path_output,
    similar_output,
    summary_output,
)
from ragscience.serving.ingest_queue import Job
from ragscience.serving.paper_routes import Md5
from ragscience.serving.question_routes import json_reply
from ragscience.serving.server_state import state_of

if TYPE_CHECKING:
    from ragscience.engine.graph_runs import ServedMap
    from ragscience.engine.library_engine import Engine

__all__ = ["graph_routes", "map_page_route"]

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


graph_routes = APIRouter(tags=["graph"])
"""The routes, to be mounted under the version's prefix."""
map_page_route = APIRouter(include_in_schema=False)
"""The page of the map, without a prefix."""


@graph_routes.get("/graph", responses={200: {"model": GraphSummaryOutput}}, response_class=Response)
def summary(request: Request) -> Response:
    """How large the graph is, and which papers it lacks."""
    return json_reply(summary_output(state_of(request).engine.graph.summary()))


@graph_routes.post("/graph", status_code=202, responses={202: {"model": Job}}, response_class=Response)
def build(request: Request, body: BuildBody | None = None) -> Response:
    """Read the passages that the graph lacks; the job's progress, in passages, is at `/jobs/{id}`."""
    body = body or BuildBody()
    wanted = GraphRequest(types_named(",".join(body.types)), body.by_llm, body.full, body.again)
    return json_reply(state_of(request).queue.build_graph(wanted, person_of(request.scope).name), 202)


@graph_routes.get("/graph/concepts", responses={200: {"model": ConceptsOutput}}, response_class=Response)
def concepts(
    request: Request,
    q: Annotated[str, Query(max_length=300, description="A part of a name; nothing: all.")] = "",
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """The entities with such a name: those that are called so first, then the most frequent."""
    engine = _with_graph(request)
    total, found = engine.graph.named(q, limit=limit, offset=offset)
    return json_reply(concepts_output(q, total, offset, found))


@graph_routes.get("/graph/concepts/{name:path}", responses={200: {"model": ConceptOutput}}, response_class=Response)
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
    places = engine.graph.passages_of(entities, limit=limit, offset=offset)
    return json_reply(concept_output(found, places, offset, _md5_of(engine)))


@graph_routes.get("/graph/path", responses={200: {"model": GraphPathOutput}}, response_class=Response)
def path(
    request: Request,
    source: Annotated[Name, Query(alias="from")],
    target: Annotated[Name, Query(alias="to")],
    together: Together = False,
) -> Response:
    """How two entities are connected, with pages for each step."""
    engine = _with_graph(request)
    names, steps = engine.graph.path(source, target, together=together)
    return json_reply(path_output(names, steps, _md5_of(engine)))


@graph_routes.get("/graph/similar/{md5}", responses={200: {"model": SimilarOutput}}, response_class=Response)
def similar(md5: Md5, request: Request, limit: Limit = 5) -> Response:
    """The papers most like one, by the mean of their passages' vectors."""
    return json_reply(similar_output(*state_of(request).engine.graph.related(md5, limit)))


@graph_routes.get("/map", response_class=Response)
async def map_data(request: Request) -> Response:
    """What the map shows: papers and entities with their places, and the relations between them."""
    return await _map_reply(request, lambda drawn: Response(drawn.data, media_type="application/json"))


@map_page_route.get("/map", response_class=HTMLResponse)
async def map_page(request: Request) -> Response:
    """The map to look at, in a frame of the server's own page or alone."""
    return await _map_reply(request, _page)


def _page(drawn: ServedMap) -> Response:
    headers = {
        "Content-Security-Policy": f"{drawn.policy}; frame-ancestors 'self'",
        "X-Frame-Options": "SAMEORIGIN",
    }
    return HTMLResponse(drawn.page, headers=headers)


async def _map_reply(request: Request, reply: Callable[[ServedMap], Response]) -> Response:
    """The reply with its ETag; 304 where the client has it already."""
    cache = state_of(request).maps
    headers = {"Cache-Control": "private, no-cache", "ETag": _tag(await cache.state())}
    if headers["ETag"] in [tag.strip() for tag in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    drawn = await cache.get()
    response = reply(drawn)
    response.headers.update(headers | {"ETag": _tag(drawn.state)})
    return response


def _tag(state: str) -> str:
    return f'"{hashlib.sha256(f"{__version__} {state}".encode()).hexdigest()[:32]}"'


def _with_graph(request: Request) -> Engine:
    """The engine. Raises NothingFound where its library has no graph yet."""
    engine = state_of(request).engine
    if not engine.library.graph.state():
        raise NothingFound("There is no knowledge graph yet.", "POST /api/v1/graph builds it.")
    return engine


def _md5_of(engine: Engine) -> dict[str, str]:
    return {paper.file: paper.md5 for paper in engine.papers.list()}
