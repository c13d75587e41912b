"""Whether the server lives and can answer, and its metrics: `/healthz`, `/readyz`, `/metrics`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from ragscience.errors import RagScienceError
from ragscience.serving.problem_responses import problem_response, status_of
from ragscience.serving.question_routes import json_reply, state_of

__all__ = ["status_routes"]


status_routes = APIRouter(tags=["status"])


@status_routes.get("/healthz", response_class=Response)
async def healthz() -> Response:
    """That the server lives."""
    return json_reply({"status": "ok"})


@status_routes.get("/readyz", response_class=Response)
def readyz(request: Request) -> Response:
    """That the library can be read."""
    state = state_of(request)
    try:
        papers = state.engine.library.paper_count
    except RagScienceError as error:
        return problem_response(max(status_of(error), 503), error.message, error.fix)
    return json_reply({"status": "ok", "papers": papers})
