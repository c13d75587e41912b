"""Near-duplicates of a library: shown, and the older ones taken out on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.duplicates import Duplicate, keep_newest
from ragscience.engine.printable import plain
from ragscience.errors import UsageError
from ragscience.ingestion import FileState
from ragscience.json_output import DuplicateOutput, DuplicatesOutput, print_json, select
from ragscience.store.row_records import short_names

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.store import Library

__all__ = [
    "KEEP_NEWEST",
    "check_way",
    "drop_older",
    "duplicates_view",
    "leave_out",
    "said",
    "show_pairs",
]

KEEP_NEWEST = "keep-newest"


def check_way(way: str | None) -> bool:
    """Whether the older ones are to go. Raises UsageError for a way that there is not."""
    if way not in (None, KEEP_NEWEST):
        raise UsageError(f"There is no --dedupe {way!r}.", f"Write `--dedupe {KEEP_NEWEST}`.")
    return way is not None


def said(pair: Duplicate) -> str:
    """A pair in words, the older one first: why it is the same paper, and what tells which is newer."""
    why = ", ".join(f"{pair.overlap:.0%} of the text" if reason == "text" else reason for reason in pair.reasons)
    return f"{pair.older}: the same paper as {pair.newer} ({why}), which is newer by its {pair.newer_by}"


def show_pairs(pairs: Sequence[Duplicate], removed: Sequence[str], console: Console | None) -> None:
    """The pairs and what was removed of them, as JSON on stdout where there is no console."""
    if console is None:
        rows = [select(DuplicateOutput, pair) for pair in pairs]
        print_json(select(DuplicatesOutput, duplicates=rows, removed=removed))
    elif not removed:
        duplicates_view(pairs, console)


def duplicates_view(pairs: Sequence[Duplicate], console: Console) -> None:
    """A line a pair."""
    for pair in pairs:
        console.print(plain(said(pair)), soft_wrap=True)
    if not pairs:
        console.print("No paper is there twice.", style="dim")


def drop_older(library: Library, pairs: Sequence[Duplicate], tell: Callable[[str], None]) -> list[str]:
    """Take the older one of each pair out of the library and keep its file from coming back; the names that went."""
    papers = {paper.file: paper for paper in library.papers()}

    def set_aside(going: Set[str]) -> None:
        stand_ins = _stand_ins(pairs, going)
        library.set_aside({papers[older].md5: papers[newer] for older, newer in stand_ins.items()})

    # Before, so that a run that is killed in between leaves nothing that the next ingest would undo; and after, when
    # it is known which ones stay.
    set_aside({pair.older for pair in pairs})
    gone = keep_newest(library)
    left = {paper.file for paper in gone}
    set_aside(left)
    stand_ins = _stand_ins(pairs, left)
    for pair in pairs:
        if stand_ins.get(pair.older) == pair.newer:
            tell(f"removed {said(pair)}")
    if gone:
        library.refresh_indexes()
        tell(
            "Files stay where they are. `python ingest.py` leaves these out while the newer ones are in the library;"
            " one that is named (`python ingest.py FILE`) is read again."
        )
    return [paper.file for paper in gone]


def _stand_ins(pairs: Sequence[Duplicate], going: Set[str]) -> dict[str, str]:
    """For each of `going` a newer one that is not going."""
    return {pair.older: pair.newer for pair in pairs if pair.older in going and pair.newer not in going}


def leave_out(
    library: Library, states: Sequence[FileState], named: Sequence[Path], tell: Callable[[str], None]
) -> tuple[FileState, ...]:
    """The files without those that were set aside for a newer version, unless they are named themselves."""
    aside = library.aside()
    left = {state.md5 for state in states if state.md5 in aside and state.path not in named}
    for state in states:
        if state.md5 in left:
            newer, path = aside[state.md5], str(state.path)
            tell(f"{short_names([path, newer.path])[path]} is left out: {newer.file} is the same paper, and newer")
    return tuple(state for state in states if state.md5 not in left)
