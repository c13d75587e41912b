"""Checks, in a separate process, whether a downloaded file can be opened as a PDF.

`python -m ragscience.sources.pdf_check FILE` opens it with PyMuPDF and counts its pages; one word on stdout says
what is wrong. A file that makes PyMuPDF crash, hang or eat the memory costs that process and nothing else.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ragscience.core.errors import FileProblem
from ragscience.core.program import PACKAGE_ROOT

__all__ = ["in_words", "reason_of", "why_unreadable"]

_SECONDS = 60
_MEMORY_BYTES = 4 << 30
_WORDS = {
    "encrypted": "is encrypted and needs a password",
    "no-pages": "has no pages",
    "not-a-pdf": "is not a PDF inside",
    "timeout": f"takes longer than {_SECONDS} s to open",
    "crashed": "makes the PDF reader crash",
}


def why_unreadable(path: Path) -> str:
    """What is wrong with a PDF, as the end of a sentence ("is damaged"); empty where it opens and has a page."""
    root = str(PACKAGE_ROOT)
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, our own module
            [sys.executable, "-P", "-m", "ragscience.sources.pdf_check", str(path.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))},
        )
    except subprocess.TimeoutExpired:
        return _WORDS["timeout"]
    if done.returncode:
        return _WORDS["crashed"]
    return in_words(done.stdout.decode("ascii", "replace").strip())


def in_words(reason: str) -> str:
    """A reason as the end of a sentence; empty for an empty one."""
    return _WORDS.get(reason, "is damaged") if reason else ""


def reason_of(path: Path) -> str:
    """The reason of the FileProblem that opening the file gives, or empty; in this process."""
    from ragscience.reading.pdf_reader import damage_in, opened

    try:
        with opened(path, "") as source, damage_in(path):
            return "" if int(source.page_count) > 0 else "no-pages"
    except FileProblem as problem:
        return problem.reason


def main() -> int:
    """Say on stdout what is wrong with the file that the command line names. The exit code is 0."""
    from ragscience.reading.layout_model import block_layout_model

    block_layout_model()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    # macOS refuses a limit below what is mapped already; the time limit still holds there.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, hard))
    sys.stdout.write(reason_of(Path(sys.argv[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
