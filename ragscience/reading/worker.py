"""`python -m ragscience.reading.worker MEMORY_BYTES ALARM_SECONDS`: reads PDFs requested on stdin, one at a time.

It is a process of its own because a PDF can crash its reader, hang it or use up the memory. It ends when stdin ends.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Callable
from typing import BinaryIO

from ragscience.core.errors import FileProblem, ModelProblem
from ragscience.core.system import limit_memory
from ragscience.reading.pdf_highlights import draw_page, join_pages, mark_pages
from ragscience.reading.pdf_reader import OnPage, count_pages, read_pdf
from ragscience.reading.pymupdf_errors import load_pymupdf
from ragscience.reading.text_cleaning import printable_name
from ragscience.reading.worker_protocol import (
    READY,
    Counting,
    Drawing,
    Joining,
    Marking,
    PaperReading,
    Reply,
    Request,
    decode_request,
    encode_page,
    encode_reply,
)


def serve(requests: BinaryIO, replies: BinaryIO, perform: Callable[[Request], Reply]) -> None:
    """Write a reply for each request, until one of the streams is closed."""
    try:
        replies.write(READY)
        replies.flush()
        for line in requests:
            replies.write(_reply(decode_request(line), perform))
            replies.flush()
    except BrokenPipeError:
        return


def perform(request: Request, on_page: OnPage = lambda *_: None) -> Reply:
    """What was requested. Raises FileProblem. `on_page` is told of each page that is read."""
    match request:
        case PaperReading(path, password, ocr):
            return read_pdf(path, password, ocr, on_page)
        case Counting(path):
            return count_pages(path)
        case Marking(path, target, pages):
            return mark_pages(path, target, pages)
        case Joining(paths, target):
            join_pages(paths, target)
            return 0
        case Drawing(path, page, width, target):
            return draw_page(path, page, width, target)


def _reply(request: Request, perform: Callable[[Request], Reply]) -> bytes:
    try:
        return encode_reply(perform(request))
    except FileProblem as problem:
        return encode_reply(problem)
    except ModelProblem as problem:
        return encode_reply(FileProblem(problem.message, problem.fix, reason="no-model"))
    except MemoryError:
        name = printable_name(request.target if isinstance(request, Joining) else request.path)
        message = f"{name} needs more memory than the limit for reading."
        return encode_reply(FileProblem(message, "Skip it, or save it again with another program.", reason="too-large"))


def main(arguments: list[str]) -> int:
    """Answer stdin's requests on stdout, which nothing else may write to. The exit code is 0."""
    memory_bytes, alarm_seconds = int(arguments[0]), float(arguments[1])
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    load_pymupdf()
    limit_memory(lambda _: memory_bytes)  # where the system has no limit, that on the time still holds

    def timed(request: Request) -> Reply:
        # Without the pool nothing else ends a hanging read. This alarm's thread needs nothing of Python.
        def set_alarm() -> None:
            faulthandler.dump_traceback_later(alarm_seconds, exit=True)

        set_alarm()

        def on_page(number: int, pages: int, is_slow: bool) -> None:
            replies.write(encode_page(number, pages, is_slow=is_slow))
            replies.flush()
            if is_slow:
                set_alarm()

        try:
            return perform(request, on_page)
        finally:
            faulthandler.cancel_dump_traceback_later()

    serve(sys.stdin.buffer, replies, timed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
