"""The application: routes, failures, limits, and what begins and ends with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from ragscience.core import __version__
from ragscience.core.errors import RagScienceError
from ragscience.engine.access_tokens import AccessTokens
from ragscience.engine.page_files import PagePictures
from ragscience.serving.access import Access, AccessGate
from ragscience.serving.ingest_queue import IngestQueue
from ragscience.serving.mcp_mount import McpMount
from ragscience.serving.problem_responses import PROBLEM_RESPONSES, add_handlers
from ragscience.serving.request_guard import RequestGuard, known_hosts
from ragscience.serving.server_state import MapCache, ServerOptions, ServerState
from ragscience.serving.status_routes import MeasuredRequests, ServerMetrics

if TYPE_CHECKING:
    from threading import Event as Flag

    from fastapi import FastAPI

    from ragscience.engine.library_engine import Engine

__all__ = ["make_app", "warm_up"]

_QUESTION = "What was measured, and how?"


def warm_up(engine: Engine, cancel: Flag) -> None:
    """Open the indexes and load the models of a search, until `cancel` is set; no log or metric has it.

    What fails here fails again with the first question, which tells it.
    """
    from ragscience.core.records import Filters
    from ragscience.engine.question_run import QuestionRun
    from ragscience.engine.requests import SearchRequest

    with suppress(RagScienceError):
        run = QuestionRun(engine, SearchRequest(_QUESTION), cancel=cancel)
        run.search(_QUESTION, Filters())


API = "/api/v1"


def make_app(engine: Engine, options: ServerOptions | None = None) -> FastAPI:
    """The ASGI application over an open engine, which the caller closes."""
    from fastapi import FastAPI
    from starlette.routing import Route

    options = options or ServerOptions()
    hosts = known_hosts(options.host, options.port, options.names)
    assistants = McpMount(engine)
    tokens = AccessTokens(engine.home.serve_tokens)
    gate = AccessGate(tokens, is_shared=options.is_shared, answers=options.answers, port=options.port)
    app = FastAPI(
        title="RAG Science",
        version=__version__,
        description="Ask questions of a library of papers; every answer has the page behind each fact.",
        lifespan=_lifespan(engine, options, gate, assistants),
        responses=PROBLEM_RESPONSES,
        docs_url=None,
        redirect_slashes=False,
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
    )
    _add_routes(app)
    add_handlers(app)
    # Without sessions there is no stream to GET, and none to DELETE.
    app.router.routes.append(Route("/mcp", assistants, methods=["POST"]))
    app.state.metrics = ServerMetrics()
    app.add_middleware(Access, gate=gate)
    app.add_middleware(RequestGuard, hosts=hosts, max_body=options.max_body, max_upload=options.max_upload)
    app.add_middleware(MeasuredRequests, metrics=app.state.metrics)  # outside of the guard: what it refuses counts
    return app


def _lifespan(
    engine: Engine, options: ServerOptions, gate: AccessGate, assistants: McpMount
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """What begins with the app and ends with it."""
    from anyio import CapacityLimiter

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        stopping = threading.Event()
        warming = asyncio.create_task(asyncio.to_thread(warm_up, engine, stopping))
        answers = CapacityLimiter(options.answers)
        pictures = PagePictures(engine.files)
        state = ServerState(engine, options, answers, IngestQueue(engine), MapCache(engine), warming, gate, pictures)
        app.state.shared = state
        try:
            yield
        finally:
            stopping.set()
            await assistants.close()
            await asyncio.wait([warming])
            state.queue.close()
            state.pictures.close()

    return lifespan


def _add_routes(app: FastAPI) -> None:
    from ragscience.serving.graph_routes import graph_routes, map_page_route
    from ragscience.serving.guide_routes import guide_routes
    from ragscience.serving.openai_routes import openai_routes
    from ragscience.serving.paper_routes import paper_routes
    from ragscience.serving.question_routes import question_routes
    from ragscience.serving.status_routes import session_routes, status_routes

    for versioned in (question_routes, session_routes, paper_routes, graph_routes):
        app.include_router(versioned, prefix=API)
    app.include_router(map_page_route)
    app.include_router(guide_routes, prefix="/api")
    app.include_router(openai_routes, prefix="/v1")
    app.include_router(status_routes)
