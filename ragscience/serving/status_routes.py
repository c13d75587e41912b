"""Whether the server lives and can answer, and its metrics: `/healthz`, `/readyz`, `/metrics`."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import PlainTextResponse, Response
from typing_extensions import TypedDict

from ragscience.core.errors import RagScienceError
from ragscience.core.serialization import Count
from ragscience.serving.json_replies import json_reply
from ragscience.serving.problem_responses import problem_response, status_of
from ragscience.serving.server_metrics import ServerMetrics
from ragscience.serving.server_state import state_of

__all__ = ["status_routes"]


status_routes = APIRouter(tags=["status"])


class Health(TypedDict):
    """That the server lives."""

    status: Literal["ok"]


class Readiness(Health):
    """That the library can be read."""

    papers: Count


@status_routes.get("/healthz", responses={200: {"model": Health}}, response_class=Response)
async def healthz() -> Response:
    """That the server lives."""
    return json_reply({"status": "ok"})


@status_routes.get("/readyz", responses={200: {"model": Readiness}}, response_class=Response)
def readyz(request: Request) -> Response:
    """That the library can be read and the models are loaded."""
    state = state_of(request)
    if not state.warming.done():
        return problem_response(503, "The models are being loaded.", "Ask again in a moment; questions are taken.")
    try:
        papers = state.engine.library.about.papers
    except RagScienceError as error:
        return problem_response(max(status_of(error), 503), error.message, error.fix)
    return json_reply({"status": "ok", "papers": papers})


@status_routes.get("/metrics", responses={200: {"content": {"text/plain": {}}}}, response_class=PlainTextResponse)
def metrics(request: Request) -> Response:
    """Counts and times for Prometheus."""
    counted: ServerMetrics = request.app.state.metrics
    return Response(counted.text(state_of(request)), media_type=CONTENT_TYPE_PLAIN_0_0_4)
