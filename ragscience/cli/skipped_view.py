"""What is shown of files that are not in the library: each once with its reason, then how many, and `list --failed`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.cli.cli import as_called
from ragscience.cli.line_wrap import put
from ragscience.cli.screen import print_json
from ragscience.core.serialization import select
from ragscience.engine.library_output import SkippedFileOutput, SkippedFilesOutput
from ragscience.engine.printable import counted, one_line

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.core.errors import FileProblem
    from ragscience.engine.ingest_events import IngestResult
    from ragscience.engine.left_out_files import SkippedFile

__all__ = ["failure_line", "others_line", "show_skipped", "skipped_again"]

_NAMES = 3
"""Names in a line; the others are counted."""


def failure_line(path: Path, problem: FileProblem) -> str:
    """A file that could not be read, and what to do; with its folder where the problem does not name it."""
    return f"not read: {problem if path.name in problem.message else f'{path}: {problem}'}"


def others_line(names: Sequence[str]) -> str:
    """Documents that are no PDFs."""
    shown = ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
    if len(names) == 1:
        return f"1 file is not a PDF and was skipped: {shown}. Print or export it as PDF to add it."
    return f"{len(names):,} files are not PDFs and were skipped: {shown}. Print or export them as PDF to add them."


def skipped_again(result: IngestResult) -> str:
    """How many files are skipped that an earlier run named, in one line; "" for none."""
    parts = []
    if result.still_unreadable:
        parts.append(f"{counted(result.still_unreadable, 'file is', 'files are')} still unreadable")
    if result.still_left_out:
        one, many = ("is", "are") if parts else ("file is", "files are")
        what = counted(result.still_left_out, one, many)
        parts.append(f"{what} still skipped")
    return f"{' and '.join(parts)}: `python ingest.py list --failed`" if parts else ""


def show_skipped(files: Sequence[SkippedFile], papers: Path, console: Console | None) -> None:
    """The files that are not in the library: name, reason and what to do; as JSON on stdout without a console."""
    if console is None:
        rows = [select(SkippedFileOutput, file, remedy=file.fix) for file in files]
        print_json(select(SkippedFilesOutput, files=rows))
        return
    for file in files:
        name, fix = one_line(file.path.removeprefix(f"{papers}/")), one_line(as_called(file.fix))
        message, base = one_line(file.message), one_line(Path(file.path).name)
        if message.startswith(f"{base} "):
            message = f"It{message.removeprefix(base)}"
        if not console.is_terminal:
            console.file.write("\t".join((name, file.reason, message, fix)) + "\n")
            continue
        put(console, name, style="bold")
        for text in filter(None, (message, fix)):
            put(console, text, "    ")
    if not files:
        put(console, "No files were skipped.", style="dim")
