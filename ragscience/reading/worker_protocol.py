"""What the pool and its workers say to each other: one JSON object a line, in ASCII, never pickle.

worker  {"ready": true}
pool    {"path": …, "password": …, "ocr": …, "layout": …}
     or {"mark": …, "target": …, "pages": [{"number", "label", "marks": [{"quote", "boxes"}, …]}, …]}
     or {"join": […], "target": …}
worker  {"document": {"text", "title", "warnings", "pages": [[number, start, end, warning, lines, furniture], …],
         "elements": [[start, end, kind, page, level, section, box], …],
         "metadata": {"title", "authors", "year", "venue", "doi", "arxiv_id", "confidence"}}}
     or {"unplaced": …}
     or {"problem": {"message", "fix", "reason"}}
     before any of these, each time that a slow step of it is done: {"still reading": true}

`lines` is one flat list, six numbers a line: start, end, left, top, right, bottom.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragscience.errors import FileProblem
from ragscience.reading.pdf_highlights import Mark, MarkedPage
from ragscience.records import Document, Element, Line, Metadata, Page

__all__ = [
    "READY",
    "STILL_READING",
    "Joining",
    "Marking",
    "Reading",
    "Request",
    "decode_reply",
    "decode_request",
    "encode_reply",
    "encode_request",
]

READY = b'{"ready": true}\n'
STILL_READING = b'{"still reading": true}\n'


@dataclass(frozen=True, slots=True)
class Reading:
    """Asks for a file's document."""

    path: Path
    password: str
    ocr: str = ""
    """The language in which pages without text are read by OCR; empty: they are not."""
    layout: str = "never"
    """When the layout model is asked, too: see `read_pdf`."""


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


Request = Reading | Marking | Joining


def encode_request(request: Request) -> bytes:
    """A line that asks for something. Bytes of a file's name that are no UTF-8 travel as lone surrogates."""
    match request:
        case Reading(path, password, ocr, layout):
            return _line({"path": str(path), "password": password, "ocr": ocr, "layout": layout})
        case Marking(path, target, pages):
            return _line({"mark": str(path), "target": str(target), "pages": [asdict(page) for page in pages]})
        case Joining(paths, target):
            return _line({"join": [str(path) for path in paths], "target": str(target)})


def decode_request(line: bytes) -> Request:
    """What a line asks for."""
    request = json.loads(line)
    if "mark" in request:
        pages = tuple(
            MarkedPage(page["number"], page["label"], tuple(_mark(mark) for mark in page["marks"]))
            for page in request["pages"]
        )
        return Marking(Path(request["mark"]), Path(request["target"]), pages)
    if "join" in request:
        return Joining(tuple(map(Path, request["join"])), Path(request["target"]))
    return Reading(Path(request["path"]), request["password"], request["ocr"], request["layout"])


def _mark(mark: dict[str, Any]) -> Mark:
    return Mark(mark["quote"], tuple((left, top, right, bottom) for left, top, right, bottom in mark["boxes"]))


def encode_reply(reply: Document | int | FileProblem) -> bytes:
    """A line that tells what became of a request: a number is how many quotes had no place."""
    if isinstance(reply, int):
        return _line({"unplaced": reply})
    if isinstance(reply, FileProblem):
        return _line({"problem": {"message": reply.message, "fix": reply.fix, "reason": reply.reason}})
    pages = [
        [page.number, page.start, page.end, page.warning, _flat(page.lines), page.furniture] for page in reply.pages
    ]
    document = {
        "text": reply.text,
        "title": reply.title,
        "warnings": list(reply.warnings),
        "pages": pages,
        "elements": [
            [one.start, one.end, one.kind, one.page, one.level, one.section, one.box] for one in reply.elements
        ],
        "metadata": asdict(reply.metadata),
    }
    return _line({"document": document})


def decode_reply(line: bytes) -> Document | int | FileProblem:
    """What a line tells; a problem is returned, not raised."""
    reply = json.loads(line)
    if "unplaced" in reply:
        return int(reply["unplaced"])
    if "problem" in reply:
        problem = reply["problem"]
        return FileProblem(problem["message"], problem["fix"], reason=problem["reason"])
    document = reply["document"]
    pages = tuple(
        Page(number, start, end, warning, _lines(flat), furniture)
        for number, start, end, warning, flat, furniture in document["pages"]
    )
    elements = tuple(
        Element(start, end, kind, page, level, section, tuple(box) if box else None)
        for start, end, kind, page, level, section, box in document["elements"]
    )
    metadata = document["metadata"]
    return Document(
        document["text"],
        pages,
        document["title"],
        tuple(document["warnings"]),
        elements,
        Metadata(
            **{
                **metadata,
                "authors": tuple(metadata["authors"]),
                "categories": tuple(metadata["categories"]),
            }
        ),
    )


def _flat(lines: tuple[Line, ...]) -> list[float]:
    return [number for line in lines for number in (line.start, line.end, *line.box)]


def _lines(flat: list[float]) -> tuple[Line, ...]:
    numbers = iter(flat)
    columns = zip(numbers, numbers, numbers, numbers, numbers, numbers, strict=True)
    return tuple(Line(int(start), int(end), (x0, y0, x1, y1)) for start, end, x0, y0, x1, y1 in columns)


def _line(value: object) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"
