"""What is on a page and where: geometry, pictures, passages, words that a reader selects, the sources of an answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragscience.core.errors import NothingFound
from ragscience.core.records import Paper
from ragscience.engine.places import passage_numbered, passage_parts, placed_sources, word_places
from ragscience.serving.json_replies import json_reply
from ragscience.serving.paper_routes import Md5, Number
from ragscience.serving.path_numbers import IN_DIGITS
from ragscience.serving.place_records import (
    GeometryOutput,
    PassageOutput,
    PlacesOutput,
    SourcesOutput,
    geometry_output,
    passage_output,
    places_output,
    sources_output,
)
from ragscience.serving.question_routes import AnswerId, history_of
from ragscience.serving.server_state import state_of

__all__ = ["page_view_routes"]

NARROWEST, WIDEST = 50, 3000
"""Pixels of a picture."""
LONGEST_QUOTE = 20_000
"""Characters; a page has 3,000 to 8,000."""
_FOR_GOOD = {"Cache-Control": "private, max-age=31536000, immutable"}
"""A picture of a page of a file with that MD5 never changes."""


class WordsBody(BaseModel):
    """Words of a paper."""

    model_config = ConfigDict(extra="forbid")

    quote: Annotated[str, Field(min_length=1, max_length=LONGEST_QUOTE, description="The words, as they were copied.")]
    page: Annotated[int | None, Field(ge=1, le=1_000_000, description="Where they begin; without it, any page.")] = None


page_view_routes = APIRouter(tags=["pages"])
"""The routes, to be mounted under the version's prefix."""


@page_view_routes.get(
    "/papers/{md5}/pages/{number}/geometry", responses={200: {"model": GeometryOutput}}, response_class=Response
)
def geometry(md5: Md5, number: Number, request: Request) -> Response:
    """The size of a page, and where its lines and parts stand on it."""
    state = state_of(request)
    page = state.engine.papers.page(md5, number)
    return json_reply(geometry_output(page, state.pictures.shape(page.paper, number)))


@page_view_routes.get(
    "/papers/{md5}/pages/{number}/image",
    responses={200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}},
    response_class=Response,
)
def image(
    md5: Md5,
    number: Number,
    request: Request,
    width: Annotated[int, Query(ge=NARROWEST, le=WIDEST, description="Pixels.")] = 1000,
) -> Response:
    """A page as a PNG; one that is much higher than wide is drawn narrower."""
    state = state_of(request)
    page = state.engine.papers.page(md5, number)
    return Response(state.pictures.picture(page.paper, number, width), headers=_FOR_GOOD, media_type="image/png")


@page_view_routes.post("/papers/{md5}/places", responses={200: {"model": PlacesOutput}}, response_class=Response)
def places(md5: Md5, body: WordsBody, request: Request) -> Response:
    """Where words stand in a paper; 404 where they do not."""
    library = state_of(request).engine.library
    paper = _paper(request, md5)
    return json_reply(places_output(paper, word_places(library, paper, body.quote, body.page)))


@page_view_routes.get("/passages/{chunk_id}", responses={200: {"model": PassageOutput}}, response_class=Response)
def passage(chunk_id: Annotated[int, IN_DIGITS, Path(ge=0, le=2**62)], request: Request) -> Response:
    """A passage and where it stands."""
    library = state_of(request).engine.library
    with library.snapshot():
        chunk = passage_numbered(library, chunk_id)
        return json_reply(passage_output(chunk, _paper(request, chunk.md5), passage_parts(library, chunk)))


@page_view_routes.get(
    "/answers/{answer_id}/sources", responses={200: {"model": SourcesOutput}}, response_class=Response
)
def sources(answer_id: AnswerId, request: Request) -> Response:
    """The sources of an earlier answer, numbered as under it, with the boxes of their quotes."""
    engine = state_of(request).engine
    answer = history_of(request).answer(answer_id).answer
    return json_reply(sources_output(answer.answer_id, placed_sources(answer, engine.library)))


def _paper(request: Request, md5: str) -> Paper:
    """The paper whose file has that MD5. Raises NothingFound."""
    paper = state_of(request).engine.library.paper(md5=md5)
    if paper is None:
        raise NothingFound(f"The library has no paper {md5!r}.", "GET /api/v1/papers lists them.")
    return paper
