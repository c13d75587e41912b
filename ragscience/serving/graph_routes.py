"""The knowledge graph and the map: `/api/v1/graph`, `/api/v1/map`, and the map's page at `/map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, Strict
from starlette.responses import HTMLResponse, Response

from ragscience.core import __version__
from ragscience.core.records import Paper, title_of
from ragscience.engine.graph_runs import GraphRequest, types_named
from ragscience.serving.access import person_of, state_of
from ragscience.serving.problem_responses import json_reply, of, record_reply
from ragscience.serving.work import Job

if TYPE_CHECKING:
    from ragscience.engine.graph_runs import ServedMap


MOST_UNREAD = 100
"""Papers that a summary names."""
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


def _named(paper: Paper) -> dict[str, Any]:
    return of(paper, "md5 file") | {"title": title_of(paper)}
