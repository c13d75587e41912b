"""Failures as HTTP: problem+json (RFC 9457) with the message and the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.errors import (
    Cancelled,
    FileProblem,
    LibraryBusy,
    LibraryUnavailable,
    ModelProblem,
    NothingFound,
    RagScienceError,
    SourceError,
    UsageError,
)
from ragscience.serialization import to_json

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.responses import Response

__all__ = ["PROBLEM", "add_handlers", "problem_of", "problem_response"]

PROBLEM = "application/problem+json"
_STATUS: tuple[tuple[type[RagScienceError], int], ...] = (
    (UsageError, 400),
    (NothingFound, 404),
    (FileProblem, 422),
    (LibraryBusy, 503),
    (LibraryUnavailable, 409),
    (ModelProblem, 502),
    (SourceError, 502),
    (Cancelled, 499),
)
_TITLES = {
    400: "Wrong request",
    401: "Not signed in",
    403: "Refused",
    404: "Not found",
    405: "Wrong method",
    409: "The library cannot be used",
    413: "Too large",
    415: "Wrong type of content",
    421: "Unknown host",
    422: "Not acceptable",
    429: "Too many requests",
    499: "Cancelled",
    500: "Unexpected error",
    502: "Another server failed",
    503: "Busy",
}


def status_of(error: RagScienceError) -> int:
    """The HTTP status of an expected failure; 500 for one without a class of its own."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem_of(status: int, message: str, fix: str = "") -> dict[str, object]:
    """The object of a failure, as RFC 9457 has it, with `fix`: what to do about it."""
    return {
        "type": "about:blank",
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "detail": message,
        "fix": fix,
    }


def problem_response(status: int, message: str, fix: str = "") -> Response:
    """A reply for a failure."""
    from starlette.responses import Response

    headers = {"Retry-After": "5"} if status in (429, 503) else None
    return Response(to_json(problem_of(status, message, fix)), status, headers, media_type=PROBLEM)


def add_handlers(app: FastAPI) -> None:
    """Let every failure of the app leave as a problem; what was not expected is logged and says nothing of itself."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import Request

    async def expected(_: Request, error: Exception) -> Response:
        assert isinstance(error, RagScienceError)  # noqa: S101
        return problem_response(status_of(error), error.message, error.fix)

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        return problem_response(error.status_code, str(error.detail))

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        found = error.errors()
        first = found[0] if found else {}
        where = ".".join(str(part) for part in first.get("loc", ())[1:])
        return problem_response(422, f"{where or 'The request'}: {first.get('msg', 'is not valid')}.", "See /docs.")

    async def unexpected(_: Request, error: Exception) -> Response:
        return problem_response(
            500, f"Unexpected error (please report it): {type(error).__name__}.", "The server's log has the rest."
        )

    app.add_exception_handler(RagScienceError, expected)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, unexpected)
