"""What is on a page and where: geometry, pictures, passages, words that a reader selects, the sources of an answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragscience.core.errors import NothingFound
from ragscience.core.records import Paper, title_of
from ragscience.engine.places import passage_numbered, passage_parts, placed_sources, word_places
from ragscience.serving.json_replies import of, record_reply
from ragscience.serving.paper_routes import Md5, Number
from ragscience.serving.path_numbers import IN_DIGITS
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


@page_view_routes.get("/papers/{md5}/pages/{number}/geometry", response_class=Response)
def geometry(md5: Md5, number: Number, request: Request) -> Response:
    """The size of a page, and where its lines and parts stand on it.

    Boxes are left, top, right, bottom in points (1/72 inch) from the top left corner of the page as it is shown: cut to
    its crop box and turned by its rotation. pdf.js draws the same page with `page.getViewport({scale})`, where a point
    is `scale` pixels.
    """
    state = state_of(request)
    page = state.engine.papers.page(md5, number)
    shape = state.pictures.shape(page.paper, number)
    elements = [of(each, "kind level section start end box") for each in page.elements]
    shown = of(shape, "width height rotation crop_box") | of(page.page, "start end lines")
    return record_reply(of(page.paper, "md5 file"), shown, page=number, elements=elements)


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


@page_view_routes.post("/papers/{md5}/places", response_class=Response)
def places(md5: Md5, body: WordsBody, request: Request) -> Response:
    """Where words stand in a paper; 404 where they do not."""
    library = state_of(request).engine.library
    paper = _paper(request, md5)
    found = word_places(library, paper, body.quote, body.page)
    return record_reply(of(paper, "md5 file"), places=[{"parts": parts} for parts in found])


@page_view_routes.get("/passages/{chunk_id}", response_class=Response)
def passage(chunk_id: Annotated[int, IN_DIGITS, Path(ge=0, le=2**62)], request: Request) -> Response:
    """A passage and where it stands."""
    library = state_of(request).engine.library
    with library.snapshot():
        chunk = passage_numbered(library, chunk_id)
        shown = of(chunk, "chunk_id md5 file section kind page_start page_end text")
        title = title_of(_paper(request, chunk.md5))
        return record_reply(shown, title=title, parts=passage_parts(library, chunk))


@page_view_routes.get("/answers/{answer_id}/sources", response_class=Response)
def sources(answer_id: AnswerId, request: Request) -> Response:
    """The sources of an earlier answer, numbered as under it, with the boxes of their quotes."""
    engine = state_of(request).engine
    answer = history_of(request).answer(answer_id).answer
    shown = [
        of(each, "number md5 file title page")
        | {"quotes": [of(quote, "quote supported start end boxes") for quote in each.quotes]}
        for each in placed_sources(answer, engine.library)
    ]
    return record_reply(answer_id=answer.answer_id, sources=shown)


def _paper(request: Request, md5: str) -> Paper:
    """The paper whose file has that MD5. Raises NothingFound."""
    paper = state_of(request).engine.library.paper(md5=md5)
    if paper is None:
        raise NothingFound(f"The library has no paper {md5!r}.", "GET /api/v1/papers lists them.")
    return paper
