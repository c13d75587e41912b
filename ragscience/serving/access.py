"""Who asks, whether they may, and whether it is not too much, before a request reaches its route; what all share."""

import asyncio
import secrets
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ragscience.core.errors import LibraryUnavailable
from ragscience.engine.access_tokens import OWNER, AccessTokens, Person, hash_of
from ragscience.engine.library_engine import Engine
from ragscience.engine.page_files import PagePictures
from ragscience.serving.problem_responses import problem_response
from ragscience.serving.request_guard import with_headers
from ragscience.serving.work import IngestQueue

SESSION_SECONDS = 7 * 24 * 3600.0
"""After which a browser has to sign in again."""
ANSWERS_AT_ONCE = 3
"""Questions of one person, always fewer than the server answers."""
LOOKS_AT_ONCE = 8
"""Other requests of one person; a browser sends six at once."""
DRAWN = "pages", 2
"""Of these, pages to draw: seconds of the processor each, so also without tokens."""
MOST_SESSIONS = 10_000
"""Sessions that are remembered; the oldest go first."""
MOST_WAITING = 20
"""Changes of one person that may wait to be made."""
_PRIVATE = {"cache-control": "private, no-cache"}
"""Replies to a person are kept by no cache on the way, and by the browser only as the server allows each time."""
_OPEN = frozenset(("/", "/healthz", "/api/v1/session"))
_ANSWERS = frozenset(
    (
        "/api/v1/search", "/api/v1/ask", "/api/v1/ask/events", "/api/agent_action", "/v1/chat/completions",
        "/mcp",
    )
)  # fmt: skip
"""What works for the processor and changes no library."""
_OWN = "/api/v1/conversations/"
"""What a reader may delete: conversations are each person's own."""
_DRAWN = ("/image", "/geometry")


def is_open(path: str) -> bool:
    """Whether a request needs no token: the page, its files, signing in, and whether the server lives."""
    return path in _OPEN or path.startswith("/page/")


def needs_writer(method: str, path: str) -> bool:
    """Whether a request changes the library: any but GET and HEAD that is not known to change nothing."""
    if method in ("GET", "HEAD") or path in _ANSWERS:
        return False
    return not (method == "DELETE" and path.startswith(_OWN))


def person_of(scope: Any) -> Person:
    """Who makes the request: of the ASGI scope, which `Access` has let through."""
    person: Person = scope["state"]["person"]
    return person


class Sessions:
    """In memory alone, and there by the hash of the id: they end with the server."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, float]] = OrderedDict()
        """(hash of the token, when it ends) by the hash of the id."""

    def begin(self, token_sha256: str) -> str:
        """The id of a new session for the token with that hash."""
        session_id = secrets.token_hex(32)
        self._kept[hash_of(session_id)] = token_sha256, time.monotonic() + SESSION_SECONDS
        while len(self._kept) > MOST_SESSIONS:
            self._kept.popitem(last=False)
        return session_id

    def token_of(self, session_id: str) -> str:
        """The hash of the token that the session stands for; empty for one that is not there or has expired."""
        sha256, ends_at = self._kept.get(hash_of(session_id), ("", 0.0))
        if time.monotonic() < ends_at:
            return sha256
        self.end(session_id)
        return ""

    def end(self, session_id: str) -> None:
        """Forget it; one that is not there is none."""
        self._kept.pop(hash_of(session_id), None)


class AccessGate:
    """The people of a server: their tokens, sessions and limits. It lives in the event loop's thread.

    Making it raises LibraryUnavailable where the tokens cannot be read.
    """

    def __init__(self, tokens: AccessTokens, *, is_shared: bool, answers: int, port: int) -> None:
        """`answers` that the server gives at once; whether it `is_shared` with other machines."""
        self._tokens = tokens
        self._is_closed = is_shared or bool(tokens.all())
        self.sessions = Sessions()
        self.most_answers = min(ANSWERS_AT_ONCE, max(answers - 1, 1))  # one person leaves a place to the others
        self.under_way: Counter[tuple[str, str]] = Counter()
        """Requests by person and kind: each kind has a limit of its own."""
        self._cookie = f"ragscience_{port}"  # a browser sends a cookie to every port of a host

    def is_closed(self) -> bool:
        """Whether a token is needed. Once it was, it is until the server ends, whatever becomes of the file."""
        self._is_closed = self._is_closed or bool(self._kept())
        return self._is_closed

    def _kept(self) -> list[Person]:
        """Who has a token. Raises HTTPException where their file cannot be read: no door is opened."""
        try:
            return self._tokens.all()
        except LibraryUnavailable as error:
            raise HTTPException(503, "The tokens of this server cannot be read.") from error

    def whose(self, sha256: str) -> Person | None:
        """Whose token has that hash; None for one that is not known. Raises HTTPException (503)."""
        return next((person for person in self._kept() if person.sha256 == sha256), None)

    def person(self, scope: Scope) -> Person | None:
        """Who makes the request; None where a token is needed and no valid one is there. Raises as `whose`."""
        if not self.is_closed():
            return OWNER
        given = [value.decode("latin-1") for key, value in scope["headers"] if key == b"authorization"]
        if given:
            kind, _, token = given[0].partition(" ")
            return self.whose(hash_of(token.strip())) if len(given) == 1 and kind.lower() == "bearer" else None
        return self.whose(self.sessions.token_of(self.session_id(scope)))

    def kind(self, method: str, path: str) -> tuple[str, int]:
        """What a request counts as, and how many of that kind a person may have under way."""
        if method == "POST" and path in _ANSWERS:
            return "questions", self.most_answers
        return DRAWN if path.endswith(_DRAWN) else ("requests", LOOKS_AT_ONCE)

    def cookie_of(self, scope: Scope) -> tuple[str, bool]:
        """The name of the session's cookie, and whether a browser sends it encrypted alone."""
        is_secure = scope["scheme"] == "https"
        return f"__Host-{self._cookie}" if is_secure else self._cookie, is_secure

    def session_id(self, scope: Scope) -> str:
        """The id that the session's cookie has; empty without one."""
        return HTTPConnection(scope).cookies.get(self.cookie_of(scope)[0], "")


class Access:
    """ASGI middleware inside the guard: lets a request through with its person, or answers 401, 403, 404 or 429."""

    def __init__(self, app: ASGIApp, *, gate: AccessGate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or refuse it."""
        if scope["type"] != "http" or is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            person = self._gate.person(scope)
        except HTTPException as error:
            fix = "`python query.py doctor` says why."
            await problem_response(error.status_code, str(error.detail), fix)(scope, receive, send)
            return
        # Without tokens only what takes seconds of the processor counts, for the address that it comes from.
        kind = self._gate.kind(scope["method"], scope["path"])
        caller = person.name if person else ""
        if not caller and kind == DRAWN and scope.get("client"):
            caller = scope["client"][0]
        refused = self._refused(person, caller, scope)
        if refused is not None or person is None:
            await (refused or Response(status_code=401))(scope, receive, send)
            return
        scope.setdefault("state", {})["person"] = person
        counted = caller, kind[0]
        self._gate.under_way[counted] += 1
        try:
            await self._app(scope, receive, with_headers(send, _PRIVATE) if person.name else send)
        finally:
            self._gate.under_way[counted] -= 1

    def _refused(self, person: Person | None, caller: str, scope: Scope) -> Response | None:
        """Why the request may not go on; None where it may."""
        gate, method, path = self._gate, scope["method"], scope["path"]
        if person is None:
            fix = "Sign in, or send it as `Authorization: Bearer …`; who runs the server has it."
            return problem_response(401, "A token is needed.", fix, {"WWW-Authenticate": 'Bearer realm="ragscience"'})
        if person.role != "writer" and needs_writer(method, path):
            what = f"This needs the role writer, and yours is {person.role}."
            return problem_response(403, what, "Ask who runs the server for it.")
        what, (kind, most) = "", gate.kind(method, path)
        if caller and gate.under_way[caller, kind] >= most:
            what = f"{most} of your {kind} are under way"
        elif person.name and method == "POST" and needs_writer(method, path):
            waiting = scope["app"].state.shared.queue.waiting_of(person.name)
            what = "Your changes of the library wait" if waiting >= MOST_WAITING else ""
        if not what:
            return None
        return problem_response(429, f"{what}, as many as may at once.", "Try again in 2 s.", {"Retry-After": "2"})


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server is run."""

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    """Further host names that it is known by."""
    is_shared: bool = False
    """Whether other machines may reach it: it then needs a token of everybody."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    tls: tuple[Path, Path] | None = None
    """Files of the certificate and its key."""
    max_body: int = 1 << 20
    """Bytes of a request that is no upload."""
    max_upload: int = 200 << 20
    """Bytes of an upload."""
    answers: int = 8
    """Questions that are answered at once; others wait."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """The engine and its limits."""

    engine: Engine
    options: ServerOptions
    answers: CapacityLimiter
    queue: IngestQueue
    warming: asyncio.Task[None]
    """Loads what the first question needs."""
    gate: AccessGate
    pictures: PagePictures


def state_of(request: Request) -> ServerState:
    """What the server's requests share."""
    state: ServerState = request.app.state.shared
    return state
