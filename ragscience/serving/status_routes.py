"""The page's files, `/` and `/page/…`; whether the server lives and can answer: `/healthz`, `/readyz`, `/metrics`."""

import mimetypes
from collections import Counter as Tally
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import prometheus_client as prometheus
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from ragscience.core.errors import RagScienceError
from ragscience.engine.access_tokens import Person, hash_of
from ragscience.serving.access import SESSION_SECONDS, AccessGate, ServerState, state_of
from ragscience.serving.problem_responses import JsonReply, problem_response, status_of

FOLDER = Path(__file__).parent / "page"
for suffix, kind in {
    ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml",
    ".wasm": "application/wasm", ".ttf": "font/ttf", ".pfb": "application/octet-stream",
    ".bcmap": "application/octet-stream",
}.items():  # fmt: skip
    mimetypes.add_type(kind, suffix)  # the system's own table may be wrong or empty

_PAGE = StaticFiles(directory=FOLDER)
status_routes = APIRouter(tags=["status"], default_response_class=Response)


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


@status_routes.get("/healthz")
async def healthz() -> Response:
    """That the server lives."""
    return JsonReply({"status": "ok"})


@status_routes.get("/readyz")
def readyz(request: Request) -> Response:
    """That the library can be read and the models are loaded."""
    state = state_of(request)
    if not state.warming.done():
        return problem_response(503, "The models are being loaded.", "Ask again in a moment; questions are taken.")
    try:
        papers = state.engine.library.about.papers
    except RagScienceError as error:
        return problem_response(max(status_of(error), 503), error.message, error.fix)
    return JsonReply({"status": "ok", "papers": papers})


@status_routes.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request) -> Response:
    """Counts and times for Prometheus."""
    counted: ServerMetrics = request.app.state.metrics
    return Response(counted.text(state_of(request)), media_type=prometheus.CONTENT_TYPE_PLAIN_0_0_4)


JOB_STATES = ("waiting", "running", "done", "failed")


class ServerMetrics:
    """The metrics of one server. No label has a word of a client."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        gauge = partial(prometheus.Gauge, registry=self.registry)
        self._questions = gauge("ragscience_open_questions", "Questions by state.", ["state"])
        self._jobs = gauge("ragscience_jobs", "Remembered changes of the library.", ["state"])
        self._papers = gauge("ragscience_library_papers", "Papers in the library.")
        self._passages = gauge("ragscience_library_passages", "Passages in the library.")
        prometheus.ProcessCollector(registry=self.registry)

    def text(self, state: ServerState) -> bytes:
        """All metrics in Prometheus' text form; those of the library as they last were where it cannot be read."""
        asked = state.answers.statistics()
        self._questions.labels("running").set(asked.borrowed_tokens)
        self._questions.labels("waiting").set(asked.tasks_waiting)
        tally = Tally[str](job.state for job in state.queue.jobs())
        for name in JOB_STATES:
            self._jobs.labels(name).set(tally[name])
        with suppress(RagScienceError):
            about = state.engine.library.about
            self._papers.set(about.papers)
            self._passages.set(about.chunks)
        return prometheus.generate_latest(self.registry)


session_routes = APIRouter(tags=["session"], default_response_class=Response)


class TokenBody(BaseModel, extra="forbid", hide_input_in_errors=True):
    """The token of `query.py serve token add`."""

    token: Annotated[str, Field(min_length=1, max_length=200)]


@session_routes.get("/session")
async def session(request: Request) -> Response:
    """Who has signed in; open to everybody."""
    gate = state_of(request).gate
    return JsonReply(_session(gate.person(request.scope), gate))


@session_routes.post("/session")
async def sign_in(body: TokenBody, request: Request) -> Response:
    """Exchange a token for the cookie of a session."""
    gate = state_of(request).gate
    if not gate.is_closed():
        return problem_response(409, "This server asks for no token.", "Go on without one.")
    person = gate.whose(hash_of(body.token))
    if person is None:
        return problem_response(401, "This token is not known.", "Copy it whole, or ask who runs the server for one.")
    gate.sessions.end(gate.session_id(request.scope))
    response = JsonReply(_session(person, gate))
    name, is_secure = gate.cookie_of(request.scope)
    value = gate.sessions.begin(person.sha256)
    response.set_cookie(name, value, int(SESSION_SECONDS), secure=is_secure, httponly=True, samesite="strict")
    return response


@session_routes.delete("/session", status_code=204)
async def sign_out(request: Request) -> Response:
    """End the session of the cookie."""
    gate = state_of(request).gate
    gate.sessions.end(gate.session_id(request.scope))
    name, is_secure = gate.cookie_of(request.scope)
    response = Response(status_code=204)
    response.delete_cookie(name, secure=is_secure, httponly=True, samesite="strict")
    return response


def _session(person: Person | None, gate: AccessGate) -> dict[str, object]:
    """Who has signed in: null for nobody, an empty name for the library's own user."""
    name, role = (person.name, person.role) if person else (None, None)
    return {"name": name, "role": role, "sign_in": gate.is_closed()}
