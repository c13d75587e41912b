"""The application: routes, failures, limits, and what begins and ends with it."""

import asyncio
import os
import signal
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from threading import Event as Flag
from types import FrameType

import uvicorn
from anyio import CapacityLimiter
from fastapi import FastAPI
from sse_starlette.sse import AppStatus
from starlette.routing import Route

from ragscience.core import __version__
from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import Filters
from ragscience.engine.access_tokens import AccessTokens
from ragscience.engine.library_engine import Engine
from ragscience.engine.page_files import PagePictures
from ragscience.engine.question_run import QuestionRun
from ragscience.engine.requests import SearchRequest
from ragscience.engine.searches import searched
from ragscience.serving.access import Access, AccessGate, ServerOptions, ServerState
from ragscience.serving.guide_routes import graph_routes, guide_routes, map_page_route
from ragscience.serving.mcp_server import McpMount
from ragscience.serving.openai_routes import openai_routes
from ragscience.serving.paper_routes import paper_routes
from ragscience.serving.problem_responses import PROBLEM_RESPONSES, add_handlers
from ragscience.serving.question_routes import question_routes
from ragscience.serving.request_guard import RequestGuard, bound_connections, known_hosts
from ragscience.serving.status_routes import ServerMetrics, session_routes, status_routes
from ragscience.serving.work import IngestQueue, end_answers

_QUESTION = "What was measured, and how?"


def warm_up(engine: Engine, cancel: Flag) -> None:
    """Open the indexes and load the models of a search, until `cancel` is set; no log or metric has it.

    What fails here fails again with the first question, which tells it.
    """
    with suppress(RagScienceError):
        run = QuestionRun(engine, SearchRequest(_QUESTION), cancel=cancel)
        searched(run, _QUESTION, Filters())


API = "/api/v1"


def make_app(engine: Engine, options: ServerOptions | None = None) -> FastAPI:
    """The ASGI application over an open engine, which the caller closes."""
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
    engine.telemetry.count_in(app.state.metrics.registry)
    app.add_middleware(Access, gate=gate)
    app.add_middleware(RequestGuard, hosts=hosts, max_body=options.max_body, max_upload=options.max_upload)
    return app


def _lifespan(
    engine: Engine, options: ServerOptions, gate: AccessGate, assistants: McpMount
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """What begins with the app and ends with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        stopping = threading.Event()
        warming = asyncio.create_task(asyncio.to_thread(warm_up, engine, stopping))
        answers = CapacityLimiter(options.answers)
        pictures = PagePictures(engine.files)
        state = ServerState(engine, options, answers, IngestQueue(engine), warming, gate, pictures)
        app.state.shared = state
        try:
            async with assistants.running():
                yield
        finally:
            stopping.set()
            await asyncio.wait([warming])
            state.queue.close()
            state.pictures.close()

    return lifespan


def _add_routes(app: FastAPI) -> None:
    for versioned in (question_routes, session_routes, paper_routes, graph_routes):
        app.include_router(versioned, prefix=API)
    app.include_router(map_page_route)
    app.include_router(guide_routes, prefix="/api")
    app.include_router(openai_routes, prefix="/v1")
    app.include_router(status_routes)


GRACE_S = 10
"""Seconds that running answers get at the end, before they are ended with an error."""
LAST_S = 5
"""Seconds that they then get to say so."""


def run_server(engine: Engine, options: ServerOptions, on_listening: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `on_listening` gets the address once requests are taken. Raises UsageError.

    Port 0 takes one that is free.
    """
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio sends no half packet
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
    except OSError as error:
        listener.close()
        fix = "Give another --port."
        raise UsageError(f"{options.host}:{options.port} cannot be listened on: {error.strerror}.", fix) from error
    with listener:
        port = listener.getsockname()[1]
        app = make_app(engine, replace(options, port=port))
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, date_header=True, lifespan="on",
            timeout_graceful_shutdown=GRACE_S + LAST_S, ws="none",
            proxy_headers=bool(options.proxies), forwarded_allow_ips=list(options.proxies),
            ssl_certfile=options.tls[0] if options.tls else None, ssl_keyfile=options.tls[1] if options.tls else None,
        )  # fmt: skip
        bound_connections(config)
        config.load()
        if config.ssl is not None:
            config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
        host = f"[{options.host}]" if ":" in options.host else options.host
        scheme = "http"
        if options.tls:  # a certificate is made out to a name
            scheme, host = "https", (options.names or (host,))[0]
        listener.listen(128)
        on_listening(f"{scheme}://{host}:{port}/")
        _server_of(config).run(sockets=[listener])


def _server_of(config: uvicorn.Config) -> uvicorn.Server:
    """A server that SIGINT and SIGTERM end in order, a second one at once; uvicorn's own raises them again behind."""
    AppStatus.enable_automatic_graceful_drain = False  # it would cut streams off at the signal

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
            if self.should_exit:
                os._exit(128 + sig)  # what is kept is on disk, and no lock outlives a process
            self.should_exit = True

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            ending = asyncio.get_running_loop().call_later(GRACE_S, end_answers)
            try:
                await super().shutdown(sockets)
            finally:
                ending.cancel()

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    return Server(config)
