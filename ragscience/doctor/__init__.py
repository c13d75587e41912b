"""Finds problems of a library and their fixes. Writes and repairs nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ragscience.doctor.findings import SEVERITIES, Finding, Severity, guarded, worst
from ragscience.doctor.machine_checks import May
from ragscience.text.counts import counted

if TYPE_CHECKING:
    from ragscience.store import Home, Store

__all__ = ["SEVERITIES", "Finding", "OnCheck", "Severity", "examine", "guarded", "worst"]

OnCheck = Callable[[str, int, int], None]
"""Is told what is looked at next, its number from 1, and how many checks there are."""
_CHECKS = (
    "disk", "permissions", "database", "leftovers", "contents", "clock", "files", "notes", "new files", "duplicates",
    "ledger", "indexes", "conversations",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Given:
    """What is checked."""

    home: Home
    open_library: Callable[[], Store]
    fast: bool
    """Without a look at the contents."""


def examine(
    home: Home,
    open_library: Callable[[], Store] | None = None,
    *,
    now: datetime,
    ocr_language: str,
    may: May = os.access,
    fast: bool = False,
    on_check: OnCheck | None = None,
) -> Iterator[Finding]:
    """Check the disk, the databases, the papers' files and the caches. `now` has a time zone.

    `open_library` opens a library that is not in the home. With `fast` the contents of the database are not verified. A
    check that cannot be made is a finding; nothing about the state of the library raises.
    """
    from ragscience.doctor import database_checks as database
    from ragscience.doctor import machine_checks as machine

    def run(name: str, area: str, check: Callable[..., Iterable[Finding]], *given: Any) -> Iterator[Finding]:
        if on_check is not None:
            on_check(name, _CHECKS.index(name) + 1, len(_CHECKS))
        yield from guarded(area, check, *given)

    yield from run("disk", "disk", machine.disk, home)
    yield from run("permissions", "permissions", machine.permissions, home, may)
    if open_library is None:
        from ragscience.store import Library

        open_library = partial(Library.open, home)
        found = list(run("database", "database", partial(database.database, fast=fast), home))
    else:
        found = list(run("database", "database", database.other_store, open_library))
    yield from found
    if worst(found) != "error":
        yield from guarded("papers", _library_checks, run, _Given(home, open_library, fast), now, ocr_language, may)
    yield from run("conversations", "database", database.other_databases, home)


def _library_checks(
    run: Callable[..., Iterator[Finding]], given: _Given, now: datetime, ocr_language: str, may: May
) -> Iterator[Finding]:
    from ragscience.doctor import database_checks as database
    from ragscience.doctor import machine_checks as machine
    from ragscience.doctor import paper_checks as papers

    home = given.home
    with given.open_library() as library:
        known = library.papers()
        yield from run("leftovers", "leftovers", lambda: machine.leftovers(home, database.token_file(home), now))
        if not known:
            put = "Put PDFs into papers/ and run `python ingest.py`."
            yield Finding("papers", "warning", "The library is empty.", put)
            return
        held = counted(len(known), "paper", "papers"), counted(library.chunk_count, "passage", "passages")
        yield Finding("papers", "ok", f"{', '.join(held)}.")
        if not given.fast:
            yield from run("contents", "contents", database.contents, library)
        yield from run("clock", "clock", machine.clock, known, now)
        yield from run("files", "papers", papers.files, home, known, may)
        yield from run("notes", "papers", papers.notes, library, known, ocr_language)
        yield from run("new files", "papers", papers.new_files, home, library, known)
        yield from run("duplicates", "duplicates", papers.versions, library)
        yield from run("ledger", "ledger", database.ledger, home, known)
        yield from run("indexes", "indexes", database.caches, library)
