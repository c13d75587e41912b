"""Signing in with a token, and out: `/api/v1/session`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragscience.engine.access_tokens import Person
from ragscience.serving.access import SESSION_SECONDS, AccessGate
from ragscience.serving.json_replies import json_reply
from ragscience.serving.problem_responses import problem_response
from ragscience.serving.server_state import state_of

__all__ = ["session_routes"]

session_routes = APIRouter(tags=["session"])


class TokenBody(BaseModel):
    """The token of `query.py serve token add`."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    token: Annotated[str, Field(min_length=1, max_length=200)]


@session_routes.get("/session", response_class=Response)
async def session(request: Request) -> Response:
    """Who has signed in; open to everybody."""
    gate = state_of(request).gate
    return json_reply(_session(gate.person(request.scope), gate))


@session_routes.post("/session", response_class=Response)
async def sign_in(body: TokenBody, request: Request) -> Response:
    """Exchange a token for the cookie of a session."""
    gate = state_of(request).gate
    if not gate.is_closed():
        return problem_response(409, "This server asks for no token.", "Go on without one.")
    token = gate.verify(body.token)
    if token is None:
        return problem_response(401, "This token is not known.", "Copy it whole, or ask who runs the server for one.")
    gate.sessions.end(gate.session_id(request.scope))
    response = json_reply(_session(Person(token.name, token.role), gate))
    name, is_secure = gate.cookie_of(request.scope)
    value = gate.sessions.begin(token.sha256)
    response.set_cookie(name, value, int(SESSION_SECONDS), secure=is_secure, httponly=True, samesite="strict")
    return response


@session_routes.delete("/session", status_code=204, response_class=Response)
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
    return {
        "name": person.name if person else None,
        "role": person.role if person else None,
        "sign_in": gate.is_closed(),
    }
