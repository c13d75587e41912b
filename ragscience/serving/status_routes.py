"""The page's files, `/` and `/page/…`; whether the server lives and can answer: `/healthz`, `/readyz`, `/metrics`."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from ragscience.core.errors import RagScienceError
from ragscience.serving.json_replies import json_reply
from ragscience.serving.problem_responses import problem_response, status_of
from ragscience.serving.server_metrics import ServerMetrics
from ragscience.serving.server_state import state_of

__all__ = ["status_routes"]

FOLDER = Path(__file__).parent / "page"
for suffix, kind in {
    ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml",
    ".wasm": "application/wasm", ".ttf": "font/ttf", ".pfb": "application/octet-stream",
    ".bcmap": "application/octet-stream",
}.items():  # fmt: skip
    mimetypes.add_type(kind, suffix)  # the system's own table may be wrong or empty

_PAGE = StaticFiles(directory=FOLDER)
status_routes = APIRouter(tags=["status"])


@status_routes.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def page_itself(request: Request) -> Response:
    """The page."""
    return await page_file("index.html", request)


@status_routes.api_route("/page/{name:path}", methods=["GET", "HEAD"], include_in_schema=False)
async def page_file(name: str, request: Request) -> Response:
    """A file of the page; not again where the browser has it."""
    reply = await _PAGE.get_response(name, request.scope)
    reply.headers["Cache-Control"] = "no-cache"
    return reply


@status_routes.get("/healthz", response_class=Response)
async def healthz() -> Response:
    """That the server lives."""
    return json_reply({"status": "ok"})


@status_routes.get("/readyz", response_class=Response)
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


@status_routes.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request) -> Response:
    """Counts and times for Prometheus."""
    counted: ServerMetrics = request.app.state.metrics
    return Response(counted.text(state_of(request)), media_type=CONTENT_TYPE_PLAIN_0_0_4)
