"""What the pool and its workers say to each other: one JSON object a line, in ASCII, never pickle.

worker  {"ready": true}
pool    {"path": …, "password": …}
worker  {"document": {"text", "title", "warnings", "pages": [[number, start, end, warning], …]}}
     or {"problem": {"message", "fix", "reason"}}
"""

from __future__ import annotations

import json
from pathlib import Path

from ragscience.errors import FileProblem
from ragscience.records import Document, Page

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
    pages = [[page.number, page.start, page.end, page.warning] for page in reply.pages]
    return _line(
        {"document": {"text": reply.text, "title": reply.title, "warnings": list(reply.warnings), "pages": pages}}
    )


def decode_reply(line: bytes) -> Document | FileProblem:
    """What a line tells of a file; the problem is returned, not raised."""
    reply = json.loads(line)
    if "problem" in reply:
        problem = reply["problem"]
        return FileProblem(problem["message"], problem["fix"], reason=problem["reason"])
    document = reply["document"]
    pages = tuple(Page(*page) for page in document["pages"])
    return Document(document["text"], pages, document["title"], tuple(document["warnings"]))


def _line(value: object) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"
