"""The page for a browser: `/` and its files at `/page/…`, those that lie in page/ and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from ragscience.core.errors import NothingFound

__all__ = ["page_routes"]

FOLDER = Path(__file__).parent / "page"
TYPES = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".mjs": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".woff2": "font/woff2",
        ".ttf": "font/ttf",
        ".pfb": "application/octet-stream",
        ".bcmap": "application/octet-stream",
        ".icc": "application/octet-stream",
        ".wasm": "application/wasm",
    }
)
"""Types of content by suffix; a file with another one is not served. The system's own table may be wrong or empty."""


_FILES = {
    path.relative_to(FOLDER).as_posix(): path
    for path in FOLDER.rglob("*")
    if path.suffix in TYPES and path.is_file() and not path.is_symlink()
}

page_routes = APIRouter(include_in_schema=False)


@page_routes.api_route("/", methods=["GET", "HEAD"], response_class=Response)
def page_itself(request: Request) -> Response:
    """The page."""
    return page_file("index.html", request)


@page_routes.api_route("/page/{name:path}", methods=["GET", "HEAD"], response_class=Response)
def page_file(name: str, request: Request) -> Response:
    """A file of the page; not again where the browser has it. Raises NothingFound."""
    path = _FILES.get(name)
    if path is None:
        raise NothingFound("The page has no such file.", "Open / in a browser.")
    file = FileResponse(
        path, media_type=TYPES[path.suffix], stat_result=path.stat(), headers={"Cache-Control": "no-cache"}
    )
    if request.headers.get("if-none-match") == file.headers["etag"]:
        return Response(status_code=304, headers={key: file.headers[key] for key in ("etag", "cache-control")})
    return file
