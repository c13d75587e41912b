"""Who asks, whether they may, and whether it is not too much: before a request reaches its route."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import LibraryUnavailable
from ragscience.engine.access_tokens import OWNER, AccessTokens, Person, Token
from ragscience.serving.access_limits import Buckets, Running, Sessions
from ragscience.serving.access_rules import counts_as, is_open, needs_writer
from ragscience.serving.problem_responses import problem_response

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ragscience.serving.server_state import ServerOptions

__all__ = ["Access", "AccessGate", "address_of", "person_of", "too_many"]

SESSION_SECONDS = 7 * 24 * 3600.0
"""After which a browser has to sign in again."""
REQUESTS_A_MINUTE = 600
"""Of one person; reading a long PDF takes some."""
ANSWERS_AT_ONCE = 3
"""Questions of one person, always fewer than the server answers."""
CHANGES_AT_ONCE = 2
"""Uploads of one person, while they are received;"""
MOST_WAITING = 20
"""and those that may wait to be read."""
FAILED_SIGN_INS = 10
FAILED_SECONDS = 600.0
"""So many failed sign-ins of an address are let through at once, and as many again in each such time."""


def person_of(scope: Any) -> Person:
    """Who makes the request: of the ASGI scope, which `Access` has let through."""
    person: Person = scope["state"]["person"]
    return person


class AccessGate:
    """The people of a server: their tokens, sessions and limits. It lives in the event loop's thread.

    Making it raises LibraryUnavailable where the tokens cannot be read.
    """

    def __init__(self, tokens: AccessTokens, options: ServerOptions) -> None:
        self._tokens = tokens
        self._is_closed = options.is_shared or bool(tokens.all())
        self.sessions = Sessions(SESSION_SECONDS)
        self.failures = Buckets(FAILED_SIGN_INS, FAILED_SECONDS)
        self.requests = Buckets(REQUESTS_A_MINUTE, 60.0)
        answers = min(ANSWERS_AT_ONCE, max(options.answers - 1, 1))  # one person leaves a place to the others
        self.running = {"answer": Running(answers), "change": Running(CHANGES_AT_ONCE)}
        self._cookie = f"ragscience_{options.port}"  # a browser sends a cookie to every port of a host

    def is_closed(self) -> bool:
        """Whether a token is needed. Once it was, it is until the server ends, whatever becomes of the file."""
        self._is_closed = self._is_closed or bool(self._checked().all())
        return self._is_closed

    def verify(self, token: str) -> Token | None:
        """What is kept of a token; None for one that is not known. Raises HTTPException (503)."""
        return self._checked().verify(token)

    def person(self, scope: Scope) -> Person | None:
        """Who makes the request; None where a token is needed and no valid one is there. Raises HTTPException (503)."""
        if not self.is_closed():
            return OWNER
        given = [value.decode("latin-1") for key, value in scope["headers"] if key == b"authorization"]
        if given:
            kind, _, token = given[0].partition(" ")
            found = self.verify(token.strip()) if len(given) == 1 and kind.lower() == "bearer" else None
        else:
            sha256 = self.sessions.token_of(self.session_id(scope))
            found = self._checked().token_of(sha256) if sha256 else None
        return Person(found.name, found.role) if found else None

    def waits(self, scope: Scope, person: Person) -> bool:
        """Whether as many changes of the library as may already wait for the person."""
        waiting: int = scope["app"].state.shared.queue.waiting_of(person.name)
        return waiting >= MOST_WAITING

    def cookie_of(self, scope: Scope) -> tuple[str, bool]:
        """The name of the session's cookie, and whether a browser sends it encrypted alone."""
        is_secure = scope["scheme"] == "https"
        return f"__Host-{self._cookie}" if is_secure else self._cookie, is_secure

    def session_id(self, scope: Scope) -> str:
        """The id that the session's cookie has; empty without one."""
        from starlette.requests import HTTPConnection

        return HTTPConnection(scope).cookies.get(self.cookie_of(scope)[0], "")

    def _checked(self) -> AccessTokens:
        """The tokens. Raises HTTPException where their file cannot be read: no door is opened."""
        try:
            self._tokens.all()
        except LibraryUnavailable as error:
            from starlette.exceptions import HTTPException

            raise HTTPException(503, "The tokens of this server cannot be read.") from error
        return self._tokens


class Access:
    """ASGI middleware inside the guard: lets a request through with its person, or answers 401, 403, 404 or 429."""

    def __init__(self, app: ASGIApp, *, gate: AccessGate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or refuse it."""
        from starlette.exceptions import HTTPException

        if scope["type"] != "http" or is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            person = self._gate.person(scope)
        except HTTPException as error:
            fix = "`python query.py doctor` says why."
            await problem_response(error.status_code, str(error.detail), fix)(scope, receive, send)
            return
        refused = self._refused(person, scope)
        if refused is not None or person is None:
            assert refused is not None  # noqa: S101
            await refused(scope, receive, send)
            return
        scope.setdefault("state", {})["person"] = person
        if not person.name:
            await self._app(scope, receive, send)
            return
        await self._counted(person, scope, receive, _kept_private(send))

    def _refused(self, person: Person | None, scope: Scope) -> Response | None:
        """Why the request may not go on; None where it may."""
        if person is None:
            fix = "Sign in, or send it as `Authorization: Bearer …`; who runs the server has it."
            response = problem_response(401, "A token is needed.", fix)
            response.headers["WWW-Authenticate"] = 'Bearer realm="ragscience"'
            return response
        if person.name and (wait := self._gate.requests.take(person.name)):
            return too_many("You have sent too many requests.", wait)
        if person.role != "writer" and needs_writer(scope["method"], scope["path"]):
            return problem_response(
                403, f"This needs the role writer, and yours is {person.role}.", "Ask who runs the server for it."
            )
        return None

    async def _counted(self, person: Person, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a person, where what it counts as leaves a place."""
        kind = counts_as(scope["method"], scope["path"])
        counted = self._gate.running.get(kind)
        if counted is None:
            await self._app(scope, receive, send)
            return
        waits = kind == "change" and self._gate.waits(scope, person)
        if waits or not counted.begin(person.name):
            what = "your changes of the library wait" if waits else f"{counted.most} of your {kind}s are under way"
            await too_many(f"{what[:1].upper()}{what[1:]}, as many as may at once.", 2)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            counted.end(person.name)


def address_of(scope: Scope) -> str:
    """The address of a client, by which its failures are counted; of IPv6 the network that it has for itself."""
    host = (scope.get("client") or ("", 0))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else str(address)


def too_many(message: str, wait: int) -> Response:
    """A refusal that says in how many seconds to come again."""
    response = problem_response(429, message, f"Try again in {wait} s.")
    response.headers["Retry-After"] = str(wait)
    return response


def _kept_private(send: Send) -> Send:
    """Replies to a person are kept by no cache on the way, and by the browser only as the server allows each time."""

    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            if not any(key.lower() == b"cache-control" for key, _ in headers):
                headers.append((b"cache-control", b"private, no-cache"))
            message = {**message, "headers": headers}
        await send(message)

    return sent
