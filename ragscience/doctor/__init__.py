"""What is wrong with a library, or will be, and what to do about it. Nothing is written or repaired."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from ragscience.doctor.findings import SEVERITIES, Finding, Severity, guarded, worst
from ragscience.doctor.machine_checks import May

if TYPE_CHECKING:
    from ragscience.store import Home, Library

__all__ = ["SEVERITIES", "Finding", "Severity", "examine", "worst"]


def examine(home: Home, *, now: datetime, ocr_language: str, may: May = os.access) -> Iterator[Finding]:
    """Look at the disk, the databases, the papers' files and the caches, as far as they can be looked at.

    `now` has a time zone. Raises nothing that has to do with the state of what is looked at.
    """
    from ragscience.doctor import database_checks as database
    from ragscience.doctor import machine_checks as machine
    from ragscience.store import Library

    yield from guarded("disk", lambda: machine.disk(home))
    yield from guarded("permissions", lambda: machine.permissions(home, may))
    looked = list(guarded("database", lambda: database.database(home)))
    yield from looked
    if worst(looked) != "error":
        yield from guarded("papers", lambda: _of_library(home, now, ocr_language, may, Library))
    yield from guarded("database", lambda: database.other_databases(home))


def _of_library(
    home: Home, now: datetime, ocr_language: str, may: May, library_type: type[Library]
) -> Iterator[Finding]:
    from ragscience.doctor import database_checks as database
    from ragscience.doctor import machine_checks as machine
    from ragscience.doctor import paper_checks as papers

    with library_type.open(home) as library:
        known = library.papers()
        yield from guarded("leftovers", lambda: machine.leftovers(home, database.token_file(home), now))
        if not known:
            put = "Put PDFs into papers/ and run `python ingest.py`."
            yield Finding("papers", "warning", "The library is empty.", put)
            return
        yield Finding("papers", "ok", f"{len(known)} papers, {library.chunk_count} passages.")
        yield from guarded("clock", lambda: machine.clock(known, now))
        yield from guarded("papers", lambda: papers.files(known, may))
        yield from guarded("papers", lambda: papers.notes(library, known, ocr_language))
        yield from guarded("papers", lambda: papers.strangers(home, library, known))
        yield from guarded("duplicates", lambda: papers.twice(library))
        yield from guarded("ledger", lambda: database.ledger(home, known))
        yield from guarded("indexes", lambda: database.caches(library))
