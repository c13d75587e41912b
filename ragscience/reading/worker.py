"""`python -m ragscience.reading.worker MEMORY_BYTES ALARM_SECONDS`: reads PDFs requested on stdin, one at a time.

It is a process of its own because a PDF can crash its reader, hang it or use up the memory. It ends when stdin ends.
Requests and replies are lines of JSON in ASCII, never pickle:

asked    ["read", PATH, PASSWORD, OCR], ["count", PATH], ["mark", PATH, TARGET, PAGES], ["join", TARGET, PATH, …] or
         ["draw", PATH, PAGE, WIDTH, TARGET]
answers  {"ready": true} at the start; {"page": [NUMBER, PAGES, IS_SLOW]} after each page that is read;
         {"done": VALUE} with what the function gives, or {"problem": {"message", "fix", "reason"}}
"""

import faulthandler
import json
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

from ragscience.core.errors import FileProblem, ModelProblem
from ragscience.core.paper_records import has_pages
from ragscience.core.serialization import from_json, to_json
from ragscience.core.system import limit_memory
from ragscience.reading.other_formats import read_other
from ragscience.reading.paper_metadata import dated
from ragscience.reading.pdf_file import MarkedPage, count_pages, draw_page, join_pages, load_pymupdf, mark_pages
from ragscience.reading.pdf_reader import OnPage, read_pdf
from ragscience.reading.text_cleaning import printable_name


def perform(request: list[Any], on_page: OnPage = lambda *_: None) -> object:
    """What was requested. Raises FileProblem. `on_page` is told of each page that is read."""
    match request:
        case "read", path, password, ocr:
            is_pdf = has_pages(path)
            return dated(read_pdf(Path(path), password, ocr, on_page) if is_pdf else read_other(Path(path), on_page))
        case "count", path:
            return count_pages(Path(path))
        case "mark", path, target, pages:
            return mark_pages(Path(path), Path(target), [from_json(MarkedPage, page) for page in pages])
        case "join", target, *paths:
            return join_pages([Path(path) for path in paths], Path(target))
        case _:
            _, path, page, width, target = request
            return draw_page(Path(path), page, width, Path(target))


def _reply(request: list[Any], on_page: OnPage) -> dict[str, object]:
    try:
        return {"done": perform(request, on_page)}
    except FileProblem as error:
        problem = error
    except ModelProblem as error:
        problem = FileProblem(error.message, error.fix, reason="no-model")
    except MemoryError:
        message = f"{printable_name(Path(request[1]))} needs more memory than the limit for reading."
        problem = FileProblem(message, "Skip it, or save it again with another program.", reason="too-large")
    return {"problem": {"message": problem.message, "fix": problem.fix, "reason": problem.reason}}


def serve(requests: BinaryIO, replies: BinaryIO, alarm_seconds: float) -> None:
    """Write a reply for each request, until one of the streams is closed.

    Without the pool nothing else ends a hanging read: an alarm ends the process, for which it needs nothing of Python.
    """

    def write(reply: dict[str, object]) -> None:
        replies.write(to_json(reply, ascii_only=True, allow_nan=True).encode("ascii") + b"\n")
        replies.flush()

    def on_page(number: int, pages: int, is_slow: bool) -> None:
        write({"page": [number, pages, is_slow]})
        if is_slow:
            faulthandler.dump_traceback_later(alarm_seconds, exit=True)

    try:
        write({"ready": True})
        for line in requests:
            faulthandler.dump_traceback_later(alarm_seconds, exit=True)
            reply = _reply(json.loads(line), on_page)
            faulthandler.cancel_dump_traceback_later()
            write(reply)
    except BrokenPipeError:
        return


def main(arguments: list[str]) -> int:
    """Answer stdin's requests on stdout, which nothing else may write to. The exit code is 0."""
    memory_bytes, alarm_seconds = int(arguments[0]), float(arguments[1])
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    load_pymupdf()
    limit_memory(lambda _: memory_bytes)  # where the system has no limit, that on the time still holds
    serve(sys.stdin.buffer, replies, alarm_seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
