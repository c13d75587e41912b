"""Failures as HTTP: problem+json (RFC 9457) with the message and the way out."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from ragscience.core.errors import (
    Cancelled,
    DiskProblem,
    FileProblem,
    HistoryDamaged,
    LibraryBusy,
    LibraryDamaged,
    LibraryUnavailable,
    ModelProblem,
    NothingFound,
    RagScienceError,
    SourceError,
    UsageError,
)
from ragscience.serving.json_replies import JsonReply

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

__all__ = [
    "PROBLEM",
    "TITLES",
    "add_handlers",
    "every_title",
    "fix_over_http",
    "log_unexpected",
    "openai_error",
    "problem_of",
    "problem_of_error",
    "problem_response",
    "status_of",
    "titles_of",
]

_SAME_HERE = {
    "`python query.py history list`": "GET /api/v1/conversations",
    "`python ingest.py list`": "GET /api/v1/papers",
    "`python ingest.py show PAPER`": "GET /api/v1/papers/MD5/outline",
    "`python ingest.py graph`": "POST /api/v1/graph",
    "`python query.py map OUT.html`": "GET /api/v1/graph",
    'Ask something: python query.py "…"': "Ask something.",
}
"""Commands, and what gives the same over HTTP."""
_COMMAND = re.compile(r"\b(?:ingest|query|config)\.py\b|\bapt-get\b|\bRAG_[A-Z]|--[a-z]")


def fix_over_http(fix: str) -> str:
    """The fix with the address that does what its command does; one that needs a terminal says whose it is."""
    for command, address in _SAME_HERE.items():
        fix = fix.replace(command, address)
    return f"For who runs the server: {fix}" if _COMMAND.search(fix) else fix


PROBLEM = "application/problem+json"
RETRY_S = 5
"""Seconds after which to try again, where the server or the library is busy."""
SEE_SCHEMA = "GET /api/v1/openapi.json describes what can be asked."
_LOG = logging.getLogger("uvicorn.error")
_DETAILS = {404: "There is nothing at this address.", 405: "This address does not take that method."}
"""In place of the framework's words."""
_EXPECTED: tuple[tuple[type[RagScienceError], int, str], ...] = (
    (UsageError, 400, "Wrong request"),
    (NothingFound, 404, "Not found"),
    (FileProblem, 422, "Not acceptable"),
    (LibraryBusy, 503, "Busy"),
    (LibraryUnavailable, 409, "The library cannot be used"),
    (LibraryDamaged, 409, "The library is damaged"),
    (HistoryDamaged, 409, "The history is damaged"),
    (DiskProblem, 507, "The disk cannot be used"),
    (ModelProblem, 502, "Another server failed"),
    (SourceError, 502, "Another server failed"),
    (Cancelled, 503, "Busy"),
    (RagScienceError, 500, "Failed"),
)
"""The status and the title of each expected failure; the first class that fits."""
TITLES = {
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
    507: "The disk cannot be used",
}


def status_of(error: RagScienceError) -> int:
    """The HTTP status of an expected failure; 500 for one without a class of its own."""
    return _expected_as(error)[0]


def titles_of(status: int) -> list[str]:
    """All titles that a problem of that status may have."""
    return list(dict.fromkeys([TITLES[status], *(title for _, code, title in _EXPECTED if code == status)]))


def every_title() -> list[str]:
    """All titles that a problem may have."""
    return list(dict.fromkeys([*TITLES.values(), *(title for *_, title in _EXPECTED)]))


def _expected_as(error: RagScienceError) -> tuple[int, str]:
    if isinstance(error, FileProblem) and error.reason in (
        "network",
        "refused",
    ):  # an object of a bucket that cannot be had
        error = SourceError(error.message, error.fix)
    return next((status, title) for kind, status, title in _EXPECTED if isinstance(error, kind))


def problem_of(status: int, message: str, fix: str = "", *, title: str = "") -> dict[str, object]:
    """The object of a failure, as RFC 9457 has it, with `fix`: what to do about it.

    Without a `title` it is the one that the status has.
    """
    return {
        "type": "about:blank",
        "title": title or TITLES.get(status, "Refused"),
        "status": status,
        "detail": message,
        "fix": fix_over_http(fix),
    }


class ProblemReply(JsonReply):
    """A failure; for OpenAI's clients with an `error` as they read it."""

    media_type = PROBLEM
    value: dict[str, object]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        if scope["path"].startswith("/v1/"):
            self.value = self.value | {"error": openai_error(self.value)}
        await super().__call__(scope, receive, send)


def problem_response(
    status: int, message: str, fix: str = "", headers: Mapping[str, str] | None = None
) -> ProblemReply:
    """A reply for a failure."""
    return _reply(problem_of(status, message, fix), headers)


def _reply(problem: dict[str, object], headers: Mapping[str, str] | None = None) -> ProblemReply:
    status = int(str(problem["status"]))
    later = {"Retry-After": str(RETRY_S)} if status in (429, 503) else {}
    return ProblemReply(problem, status, later | dict(headers or {}))


def problem_of_error(error: BaseException) -> dict[str, object]:
    """The object of a failure within an answer that has begun; what was not expected is logged."""
    if isinstance(error, RagScienceError):
        status, title = _expected_as(error)
        return problem_of(status, error.message, error.fix, title=title)
    log_unexpected(error)
    return problem_of(500, *_unexpected(error))


def log_unexpected(error: BaseException) -> None:
    """Write to the server's log where an error came from."""
    _LOG.error("Unexpected error", exc_info=error)


def _without_messages(record: logging.LogRecord) -> bool:
    """Leave of an error in the log its kind and its frames: its message may have words of a question."""
    error = record.exc_info[1] if record.exc_info else None
    parts: list[str] = []
    while error is not None:
        parts.append("".join(traceback.format_tb(error.__traceback__)) + type(error).__name__)
        error = error.__cause__ or error.__context__
    if parts:
        record.exc_info, record.exc_text = None, "\nfrom\n".join(parts)
    return True


def add_handlers(app: FastAPI) -> None:
    """Let every failure of the app leave as a problem; what was not expected is logged and says nothing of itself."""
    app.add_exception_handler(RagScienceError, _expected)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _failed)  # and it is raised again for uvicorn, which logs it
    _LOG.addFilter(_without_messages)


async def _expected(_: Request, error: Exception) -> Response:
    assert isinstance(error, RagScienceError)  # noqa: S101
    return _reply(problem_of_error(error))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    headers = dict(error.headers or {})
    fix = SEE_SCHEMA if error.status_code < 500 else "`python query.py doctor` says why."
    if error.status_code == 405:
        methods = _methods_at(request) or {headers.get("Allow", "GET")}
        headers["Allow"] = ", ".join(sorted(methods))
        fix = f"It takes {headers['Allow']}."
    return problem_response(error.status_code, _DETAILS.get(error.status_code, str(error.detail)), fix, headers)


def _methods_at(request: Request) -> set[str]:
    """The methods that all routes of an address take together; none for one that is not in the document."""
    paths = request.app.openapi()["paths"]
    at = (methods for path, methods in paths.items() if compile_path(path)[0].match(request.url.path))
    return {method.upper() for methods in at for method in methods}


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    found = error.errors()
    first = found[0] if found else {}
    where = ".".join(str(part) for part in first.get("loc", ())[1:])[:200]
    return problem_response(422, f"{where or 'The request'}: {first.get('msg', 'is not valid')}.", SEE_SCHEMA)


async def _failed(_: Request, error: Exception) -> Response:
    # uvicorn, which gets the error again, closes the connection.
    return problem_response(500, *_unexpected(error), {"Connection": "close"})


def _unexpected(error: BaseException) -> tuple[str, str]:
    return f"Unexpected error (please report it): {type(error).__name__}.", "The server's log has the rest."


def openai_error(problem: Any) -> dict[str, object]:
    """The failure as OpenAI's API has it."""
    status = int(problem["status"])
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"message": f"{problem['detail']} {problem['fix']}".strip(), "type": kind, "param": None, "code": None}
