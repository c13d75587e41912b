"""`open`: the page behind a source of an answer, in a PDF viewer; `bib`: papers for a list of references."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from ragscience.cli.cli import say
from ragscience.cli.line_wrap import put
from ragscience.cli.links import link_style
from ragscience.cli.pager import paged
from ragscience.cli.screen import console, hand_over
from ragscience.core.errors import FileProblem, RagScienceError, UsageError
from ragscience.core.records import Answer
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import one_line
from ragscience.engine.source_list import Source, source_now

__all__ = ["LAST", "cited_text", "open_source", "show_bib", "viewer_command"]

LAST = "last"
"""The id of the last answer, on the command line."""
LINK_SECONDS = 900
"""How long a link to a paper in a bucket can be used."""

_VIEWERS = (
    "evince -i {page} {file}",
    "okular -p {page} {file}",
    "zathura -P {page} {file}",
    "mupdf {file} {page}",
)
"""Those that are known to take a page, by their manuals; the first that is installed is taken."""


def open_source(engine: Engine, answer: Answer, number: int, *, link: bool = False) -> None:
    """Say where a source is, and open it where there is a screen and a viewer; with `link` print a link to it alone.

    Raises UsageError for a number that the answer does not list, FileProblem where the file is gone, RagScienceError
    where the viewer does not start.
    """
    source = source_now(answer, number, engine.library)
    out = console()
    shown = engine.files.shown(source.path)
    is_here = shown == source.path
    if link:
        _print_link(engine, source)
        return
    where = f"{one_line(shown or source.file)}, p.{source.page}"
    style = link_style(source.path, source.page, out.file) if is_here else ""
    put(out, Text(where, style), f"[{source.number}] ")
    if is_here:
        _require(Path(source.path), source)
    command = viewer_command(engine.settings.pdf_viewer, source.path, source.page)
    if not command:
        say("No PDF viewer or no display was found: open the page yourself, or set RAG_PDF_VIEWER.")
        return
    with engine.papers.opened(Path(source.path)) as file:
        _require(file, source)
        _start(viewer_command(engine.settings.pdf_viewer, str(file), source.page), source)


def _require(file: Path, source: Source) -> None:
    """Raise FileProblem where the file of the source is not there."""
    if not file.is_file():
        fix = "Restore the file, or run `python ingest.py sync` to remove it from the library."
        raise FileProblem(f"{source.path or source.file} no longer exists.", fix, reason="missing")


def _print_link(engine: Engine, source: Source) -> None:
    """Print a link to a page of a paper in a bucket. Raises UsageError for a file of this machine."""
    link = engine.files.link(Path(source.path), LINK_SECONDS)
    if not link:
        raise UsageError(f"{source.file} is a file of this machine; --link is for papers in a bucket.", "Leave it out.")
    hand_over(f"{link}#page={source.page}\n", None)  # in one piece, however narrow the terminal is
    say(f"Whoever has this link can read {source.file} for {LINK_SECONDS // 60} minutes.")


def viewer_command(template: str, path: str, page: int) -> list[str]:
    """The command that opens a page, word by word; empty where there is no screen or nothing that could do it.

    `template` is split as a shell does, and {file} and {page} are put into its words: no shell ever reads the file's
    name. An empty template means the first known viewer that is installed, else the system's default program.
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
            f"The viewer {command[0]} could not be started: {error}.",
            f"Set RAG_PDF_VIEWER to another one, or open page {source.page} yourself.",
        ) from error


def show_bib(engine: Engine, papers: Sequence[str], *, cited: str | None, csl: bool, target: Path | None) -> int:
    """Write the named papers, those that the answer `cited` cites, or all as BibTeX or CSL-JSON; an exit code.

    `cited` is the beginning of an answer's id, or LAST. Raises UsageError for both at once, RagScienceError for a
    paper, NothingFound for an answer that is not there.
    """
    if papers and cited is not None:
        raise UsageError("Papers and --cited exclude each other.", "Give one of them.")
    if cited is not None:
        answer = engine.history.answer("" if cited == LAST else cited).answer
        text = cited_text(engine, [answer], csl=csl)
    else:
        found = engine.papers.bibliography(papers)
        if not found.entries:
            say("The library has no papers.")
        text = found.as_text(csl=csl)
    if target is not None:
        hand_over(text, target)
        return 0
    with paged() as out:
        out.file.write(text.encode("utf-8", "replace").decode())
    return 0


def cited_text(engine: Engine, answers: Sequence[Answer], *, csl: bool) -> str:
    """The papers that the answers cite, each once; says so where they cite none."""
    found = engine.papers.bibliography(cited_by=answers)
    if not found.entries:
        say("The answer cites no paper.")
    return found.as_text(csl=csl)
