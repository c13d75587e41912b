"""What goes to stdout: wrapped between words and paged on a terminal, as it is in a pipe."""

import os
import pydoc
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from ragscience.cli.running import as_called, say
from ragscience.cli.status_line import STATUS
from ragscience.core.paper_records import has_pages
from ragscience.core.serialization import to_json
from ragscience.engine.printable import one_line, plain, write_out

PROSE = 100
"""Columns of a line of prose, however wide the terminal is."""
_LEAST_WIDTH = 20


def console() -> Console:
    """Stdout for people: no markup is read out of texts, and nothing is wrapped or coloured in a pipe."""
    is_watched = sys.stdout.isatty()
    made = Console(highlight=False, markup=False, emoji=False, soft_wrap=not is_watched, force_terminal=is_watched)
    made.width = max(made.width, _LEAST_WIDTH)
    return made


@contextmanager
def paged(*, is_long: bool = True) -> Iterator[Console]:
    """A console whose text goes through the PAGER where a person watches; what fits on the screen is only shown."""
    out = console()
    if not (is_long and out.is_terminal and sys.stdin.isatty()) or out.is_dumb_terminal:
        yield out
        return
    with out.capture() as captured:
        yield out
    STATUS.hide()
    text, pager = captured.get(), shlex.split(os.environ.get("PAGER") or "less", posix=True)
    if text.count("\n") < out.height or not shutil.which(pager[0]):
        sys.stdout.write(text)
        return
    os.environ.setdefault("LESS", "FKRX")  # leave when all fits or at Ctrl-C, show colours, leave the text there
    with suppress(KeyboardInterrupt):  # before the pager is up; later it has the keys
        pydoc.pager(text)


def put(out: Console, text: str | Text, sign: str | Text = "", *, style: str = "", width: int | None = None) -> None:
    """Print `text` after `sign`: on a terminal in lines of at most `width` columns that begin below the sign's end.

    In a pipe only line breaks of the text end a line.
    """
    shown = Text(text, style) if isinstance(text, str) else text.copy()
    before = Text(sign) if isinstance(sign, str) else sign
    if not out.is_terminal:
        shown.rstrip()
        out.print(Text.assemble(before, shown), soft_wrap=True)
        return
    room = max(min(width or out.width, out.width) - before.cell_len, 2)
    for line in shown.wrap(out, room):
        line.rstrip()
        out.print(Text.assemble(before, line), soft_wrap=True)
        before = Text(" " * before.cell_len)


def facts(rows: Iterable[tuple[str, str]], out: Console) -> None:
    """Names and what is said of them, in two columns."""
    named = list(rows)
    width = min(max((cell_len(name) for name, _ in named), default=0), out.width // 3 if out.is_terminal else 99)
    for name, value in named:
        lead = name + " " * (width - cell_len(name) + 2)
        if cell_len(name) > width:
            put(out, name, style="dim")
            lead = " " * (width + 2)
        put(out, flat(value), Text(lead, "dim"))


def print_table(
    names: Sequence[str], rows: Iterable[Sequence[str]], out: Console, *, wraps: Sequence[str], joined: int = 0
) -> None:
    """Print the rows: on a terminal under the names, where the columns of `wraps` are wrapped; else between tabs.

    With `joined` a terminal shows the columns from that one on as one column, a line for each text.
    """
    cells = [[" ".join(one_line(as_called(cell)).split()) for cell in row] for row in rows]
    if joined and out.is_terminal:
        cells = [[*row[:joined], "\n".join(filter(None, row[joined:]))] for row in cells]
        names, wraps = names[: joined + 1], names[joined : joined + 1]
    if not out.is_terminal:
        out.file.write("".join("\t".join(row) + "\n" for row in cells))
        return
    if not cells:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, name in enumerate(names):
        number = all(row[at].replace(".", "", 1).isdecimal() for row in cells if row[at])
        table.add_column(name, no_wrap=name not in wraps, justify="right" if number else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    out.print(table)


def flat(text: str) -> str:
    """The text on one line, safe to show."""
    return " ".join(plain(text).split())


def local_time(moment: str) -> str:
    """An ISO 8601 moment as this machine's clock has it: `2026-01-31 09:05`."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return plain(moment)


def write_now(text: str) -> None:
    """Write to stdout, seen by a pipe at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def print_json(value: object) -> int:
    """One line on stdout in UTF-8, seen by a pipe at once; the exit code of a command that prints it, 0."""
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(encoding="utf-8")
    if isinstance(value, dict) and "warnings" in value:
        value = {**value, "warnings": [as_called(text) for text in value["warnings"]]}
    write_now(to_json(value) + "\n")
    return 0


def hand_over(text: str, target: Path | None) -> None:
    """Write it to the file and say so, or to stdout without one."""
    if target is None:
        sys.stdout.write(text.encode("utf-8", "replace").decode())
        return
    write_out(target, text)
    say(f"Written to {target}.")


class WordStream:
    """Words that come piece by piece, in lines of at most `width` columns: the last word waits until it is whole."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._word = self._blanks = ""
        self._used = 0

    def feed(self, text: str) -> str:
        """What can be shown now."""
        return "".join(map(self._next, text))

    def finish(self) -> str:
        """The word that waited; what comes next begins a line."""
        word, self._used = self._whole_word(), 0
        return word

    def _next(self, character: str) -> str:
        if not character.isspace():
            self._word += character
            return self._whole_word() if cell_len(self._word) >= self._width else ""
        word = self._whole_word()
        if character == "\n":
            self._used, self._blanks = 0, ""
            return word + "\n"
        self._blanks += " "
        return word

    def _whole_word(self) -> str:
        word, size = self._word, cell_len(self._word)
        if not word:
            return ""
        fits = self._used + len(self._blanks) + size <= self._width
        before = self._blanks if fits else "\n" if self._used else ""
        self._used = self._used + len(before) + size if fits else size
        self._word = self._blanks = ""
        return before + word


def sign_of(symbol: str, ascii_sign: str, out: Console) -> str:
    """The symbol, or its replacement where the stream's encoding lacks it."""
    return symbol if can_encode(symbol, out.file) else ascii_sign


def can_encode(text: str, stream: IO[str]) -> bool:
    """Whether the stream's encoding has all characters of `text`."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def link_style(path: str, page: int, out: Console) -> Style:
    """A style that makes text a link to a page of a file of this machine; without colours one that does nothing.

    The path is percent-encoded, so that no name can end the link, or give the terminal a command. `#page` is Adobe's
    "Parameters for Opening PDF Files", which browsers and most viewers know.
    """
    place = Path(path)
    if not (out.is_terminal and out.color_system and not out.no_color) or not place.is_absolute():
        return Style.null()
    at = f"#page={page}" if has_pages(path) else ""
    return Style(link=f"{place.as_uri()}{at}") if os.path.lexists(path) else Style.null()
