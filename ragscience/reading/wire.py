"""What the pool and its workers say to each other: one JSON object a line, in ASCII, never pickle.

worker  {"ready": true}
pool    {"path": …, "password": …}
worker  {"document": {"text", "title", "warnings", "pages": [[number, start, end, warning, lines, furniture], …],
         "elements": [[start, end, kind, page, level, section, box], …]}}
     or {"problem": {"message", "fix", "reason"}}

`lines` is one flat list, six numbers a line: start, end, left, top, right, bottom.
"""

from __future__ import annotations

import json
from pathlib import Path

from ragscience.errors import FileProblem
from ragscience.records import Document, Element, Line, Page

__all__ = ["READY", "decode_reply", "decode_request", "encode_reply", "encode_request"]

READY = b'{"ready": true}\n'


def encode_request(path: Path, password: str) -> bytes:
    """A line that asks for a file. Bytes of its name that are no UTF-8 travel as lone surrogates."""
    return _line({"path": str(path), "password": password})


def decode_request(line: bytes) -> tuple[Path, str]:
    """The file that a line asks for, and its password."""
    request = json.loads(line)
    return Path(request["path"]), request["password"]


def encode_reply(reply: Document | FileProblem) -> bytes:
    """A line that tells what became of a file."""
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
    }
    return _line({"document": document})


def decode_reply(line: bytes) -> Document | FileProblem:
    """What a line tells of a file; the problem is returned, not raised."""
    reply = json.loads(line)
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
    return Document(document["text"], pages, document["title"], tuple(document["warnings"]), elements)


def _flat(lines: tuple[Line, ...]) -> list[float]:
    return [number for line in lines for number in (line.start, line.end, *line.box)]


def _lines(flat: list[float]) -> tuple[Line, ...]:
    numbers = iter(flat)
    columns = zip(numbers, numbers, numbers, numbers, numbers, numbers, strict=True)
    return tuple(Line(int(start), int(end), (x0, y0, x1, y1)) for start, end, x0, y0, x1, y1 in columns)


def _line(value: object) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"
