"""Replies in JSON, without folders of the machine; failures as problem+json (RFC 9457) with the way out."""

import logging
import os
import re
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragscience.core import errors
from ragscience.core.serialization import to_json

_MESSAGES = frozenset(
    ("detail", "embedder", "error", "fix", "llm", "message", "notes", "remedy", "reranker", "warning", "warnings")
)
"""Keys of what the program says, and of models, which may be folders; the words of papers and answers stay."""
_FOLDERS = re.compile(r"(?<![\w/.:~])(?!/(?:api|v1)/)/(?:[^\s/'\"`]{1,255}+/){1,60}+(?=[^\s/])")
"""The folders of a full path, but for those of this server's routes."""


class JsonReply(Response):
    """A record as JSON, as `--json` prints it, but for the folders in it."""

    media_type = "application/json"

    def __init__(self, value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(None, status, headers)
        self.value = value

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; what is sent depends on the home that is served."""
        home = scope["app"].state.shared.engine.home.root
        self.body = to_json(without_folders(self.value, home)).encode()
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def without_folders(value: Any, home: Path, key: str = "") -> Any:
    """The record as plain JSON values: `path` within papers/, else the file's name alone, and no folder in messages.

    `key` is the name that the value has in the record around it.
    """
    if value is None or isinstance(value, int | float):  # most values: the numbers of boxes
        return value
    if isinstance(value, str):
        if key == "path":
            return _within_papers(value, home)
        return words_without_folders(value, home) if key in _MESSAGES else value
    if hasattr(value, "__dataclass_fields__"):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {name: without_folders(each, home, str(name)) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        every = sorted(value) if isinstance(value, set | frozenset) else value
        return [without_folders(each, home, key) for each in every]
    return _within_papers(os.fspath(value), home) if isinstance(value, os.PathLike) else value


def words_without_folders(text: str, home: Path) -> str:
    """A message with the home's files by their path within it, and others by their names."""
    for folder in (*_roots(home), os.path.expanduser("~")):  # noqa: PTH111
        if folder != os.sep:
            text = text.replace(f"{folder}{os.sep}", "").replace(folder, "the home")
    return _FOLDERS.sub("", text)


def _within_papers(path: str, home: Path) -> str:
    for root in _roots(home):
        papers = os.path.join(root, "papers", "")  # noqa: PTH118  # with a separator at its end
        if path.startswith(papers):
            return path[len(papers) :]
    return os.path.basename(path)  # noqa: PTH119


def _roots(home: Path) -> tuple[str, ...]:
    return os.path.abspath(home), os.path.realpath(home)  # noqa: PTH100  # as paths are kept, and as they are read


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
_STATUS: tuple[tuple[type[errors.RagScienceError], int], ...] = (
    (errors.UsageError, 400),
    (errors.NothingFound, 404),
    (errors.FileProblem, 422),
    (errors.LibraryBusy, 503),
    (errors.LibraryUnavailable, 409),
    (errors.LibraryDamaged, 409),
    (errors.HistoryDamaged, 409),
    (errors.DiskProblem, 507),
    (errors.ModelProblem, 502),
    (errors.SourceError, 502),
    (errors.Cancelled, 503),
)
"""Of each expected failure; the first class that fits."""
_FIELDS = ("type", "title", "status", "detail", "fix")
PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {PROBLEM: {"schema": {"type": "object", "required": list(_FIELDS)}}},
    }
    for status in (400, 401, 403, 404, 409, 413, 421, 422, 429, 500, 502, 503, 507)
}
"""What the OpenAPI document says of failures (RFC 9457): `detail` has what happened, `fix` what to do about it."""


def status_of(error: errors.RagScienceError) -> int:
    """The HTTP status of an expected failure; 500 for one without a class of its own."""
    if isinstance(error, errors.FileProblem) and error.reason == "network":  # of a bucket
        return 502
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem_of(status: int, message: str, fix: str = "") -> dict[str, object]:
    """The object of a failure, as RFC 9457 has it, with `fix`: what to do about it."""
    told = {"status": status, "detail": message, "fix": fix_over_http(fix)}
    return {"type": "about:blank", "title": HTTPStatus(status).phrase} | told


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
    if isinstance(error, errors.RagScienceError):
        return problem_of(status_of(error), error.message, error.fix)
    _LOG.error("Unexpected error", exc_info=error)
    return problem_of(500, *_unexpected(error))


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
    app.add_exception_handler(errors.RagScienceError, _expected)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _failed)  # and it is raised again for uvicorn, which logs it
    _LOG.addFilter(_without_messages)


async def _expected(_: Request, error: Exception) -> Response:
    return _reply(problem_of_error(error))


async def _refused(_: Request, error: Any) -> Response:
    headers = dict(error.headers or {})
    fix = SEE_SCHEMA if error.status_code < 500 else "`python query.py doctor` says why."
    if error.status_code == 405:
        fix = f"It takes {headers.get('Allow', 'GET')}."
    return problem_response(error.status_code, _DETAILS.get(error.status_code, str(error.detail)), fix, headers)


async def _invalid(_: Request, error: Any) -> Response:
    first: dict[str, Any] = next(iter(error.errors()), {})
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
