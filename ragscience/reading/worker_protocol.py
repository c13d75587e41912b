"""The lines between the worker pool and its workers: one JSON object each, in ASCII, never pickle.

worker  {"ready": true}
pool    {"PaperReading": …}, {"Counting": …}, {"Marking": …}, {"Joining": …} or {"Drawing": …}: a class, its fields
worker  {"document": …} with the fields of Document, {"number": NUMBER} of pages or of quotes without a place,
     {"shape": …} with the fields of PageShape, or {"problem": {"message", "fix", "reason"}}
     before any of these, after each page: {"page": [NUMBER, PAGES]}, {"slow page": [NUMBER, PAGES]} of a slow step
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ragscience.core.errors import FileProblem
from ragscience.core.records import Document, PageShape
from ragscience.core.serialization import from_json, to_json
from ragscience.reading.pdf_highlights import MarkedPage

READY = b'{"ready": true}\n'
_PAGE, _SLOW_PAGE = b'{"page": ', b'{"slow page": '


@dataclass(frozen=True, slots=True)
class PaperReading:
    """Asks for the document of a file."""

    path: Path
    password: str
    ocr: str = ""
    """The language in which pages without text are read by OCR; empty: they are not."""


@dataclass(frozen=True, slots=True)
class Counting:
    """Asks for the number of pages of a file."""

    path: Path


@dataclass(frozen=True, slots=True)
class Marking:
    """Asks for marked copies of a file's pages in a new file: see `mark_pages`."""

    path: Path
    target: Path
    pages: tuple[MarkedPage, ...]


@dataclass(frozen=True, slots=True)
class Joining:
    """Asks for the pages of files in one new file: see `join_pages`."""

    paths: tuple[Path, ...]
    target: Path


@dataclass(frozen=True, slots=True)
class Drawing:
    """Asks for the shape of a page, and for its picture in a new file: see `draw_page`."""

    path: Path
    page: int
    width: int
    target: Path


Request = PaperReading | Counting | Marking | Joining | Drawing
Reply = Document | int | PageShape


def encode_request(request: Request) -> bytes:
    """The request as a line. Bytes of a file's name that are not UTF-8 travel as lone surrogates."""
    return _line(type(request).__name__, request)


def decode_request(line: bytes) -> Request:
    """The request that a line has."""
    ((kind, fields),) = json.loads(line).items()
    if kind == "PaperReading":  # by hand: pydantic's import would be felt at every worker's start
        return PaperReading(**{**fields, "path": Path(fields["path"])})
    if kind == "Counting":
        return Counting(Path(fields["path"]))
    if kind == "Drawing":
        return Drawing(Path(fields["path"]), fields["page"], fields["width"], Path(fields["target"]))
    return from_json(Marking, fields) if kind == "Marking" else from_json(Joining, fields)


def encode_page(number: int, pages: int, *, is_slow: bool) -> bytes:
    """A page is done, as a line: `number` of so many, counted from 1."""
    return (_SLOW_PAGE if is_slow else _PAGE) + f"[{number}, {pages}]}}\n".encode()


def decode_page(line: bytes) -> tuple[int, int, bool] | None:
    """Number, pages and whether it was slow, if the line is about a page."""
    if not line.startswith((_PAGE, _SLOW_PAGE)):
        return None
    ((kind, (number, pages)),) = json.loads(line).items()
    return number, pages, kind == "slow page"


def encode_reply(reply: Reply | FileProblem) -> bytes:
    """The result of a request as a line; a number is of pages, or of quotes that had no place."""
    if isinstance(reply, FileProblem):
        return _line("problem", {"message": reply.message, "fix": reply.fix, "reason": reply.reason})
    if isinstance(reply, PageShape):
        return _line("shape", reply)
    return _line("number" if isinstance(reply, int) else "document", reply)


def decode_reply(line: bytes) -> Reply | FileProblem:
    """The result that a line has; a problem is returned, not raised."""
    ((kind, value),) = json.loads(line).items()
    if kind == "problem":
        return FileProblem(value["message"], value["fix"], reason=value["reason"])
    if kind == "shape":
        return from_json(PageShape, value)
    return int(value) if kind == "number" else from_json(Document, value)


def _line(kind: str, value: object) -> bytes:
    return to_json({kind: value}, ascii_only=True, allow_nan=True).encode("ascii") + b"\n"
