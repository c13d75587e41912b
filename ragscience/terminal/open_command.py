"""`open N`: the PDF behind the N-th source of an answer, at its page, in a viewer of the person's choice."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from rich.text import Text

from ragscience.errors import FileProblem, RagScienceError
from ragscience.records import Answer
from ragscience.store import Home
from ragscience.terminal.ask_command import console
from ragscience.terminal.cli import say
from ragscience.terminal.keeping import kept_answer
from ragscience.terminal.links import link_style
from ragscience.terminal.plain import plain
from ragscience.terminal.source_list import Source, source_numbered

__all__ = ["open_from_history", "open_source", "viewer_command"]

_VIEWERS = (
    "evince -i {page} {file}",
    "okular -p {page} {file}",
    "zathura -P {page} {file}",
    "mupdf {file} {page}",
)
"""Those that are known to take a page, by their manuals; the first that is installed is taken."""


def open_from_history(home: Home, number: int, *, answer_id: str | None, viewer: str) -> int:
    """Open a source of the last answer, or of the one whose id begins with `answer_id`; an exit code.

    Raises NothingFound where nothing was kept, UsageError for a number that the answer does not list.
    """
    open_source(kept_answer(home, answer_id).answer, number, viewer=viewer)
    return 0


def open_source(answer: Answer, number: int, *, viewer: str) -> None:
    """Say where a source is, and open it where there is a screen and a viewer. `viewer`: see `viewer_command`.

    Raises UsageError for a number that the answer does not list, FileProblem where the file is gone, RagScienceError
    where the viewer does not start.
    """
    source = source_numbered(answer, number)
    out = console()
    line = Text(f"[{source.number}] ")
    line.append(f"{plain(source.path or source.file)}, p.{source.page}", link_style(source.path, source.page, out.file))
    out.print(line, soft_wrap=True)
    if not Path(source.path).is_file():
        raise FileProblem(
            f"{source.path or source.file} is no longer there.",
            "`python ingest.py` brings the library in step with the folder.",
            reason="missing",
        )
    command = viewer_command(viewer, source.path, source.page)
    if not command:
        say("No viewer was found, or there is no screen: open the page yourself, or set RAG_PDF_VIEWER.")
        return
    _start(command, source)


def viewer_command(template: str, path: str, page: int) -> list[str]:
    """The command that opens a page, word by word; empty where there is no screen or nothing that could do it.

    `template` is split as a shell does, and {file} and {page} are put into its words: no shell ever reads the file's
    name. An empty one stands for the first known viewer that is installed, else for what the system opens files with.
    """
    if template:
        return _filled(template, path, page)
    if sys.platform == "darwin":
        return ["open", path]
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return []
    for known in _VIEWERS:
        if shutil.which(known.partition(" ")[0]):
            return _filled(known, path, page)
    return ["xdg-open", path] if shutil.which("xdg-open") else []


def _filled(template: str, path: str, page: int) -> list[str]:
    values = {"{file}": path, "{page}": str(page)}
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise RagScienceError(f"RAG_PDF_VIEWER {template!r} cannot be read: {error}.", "Close its quotes.") from error
    filled = []
    for word in words:
        # The page first: a file may be called {page}.
        for name in ("{page}", "{file}"):
            word = word.replace(name, values[name])
        filled.append(word)
    return filled


def _start(command: list[str], source: Source) -> None:
    try:
        subprocess.Popen(  # noqa: S603 - the person's own viewer, without a shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # It stays open when the terminal closes, and Ctrl-C is not for it.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise RagScienceError(
            f"The viewer {command[0]} does not start: {error}.",
            f"Set RAG_PDF_VIEWER to another one, or open page {source.page} yourself.",
        ) from error
