"""Finds problems of a library and their fixes. Writes and repairs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from ragscience.doctor.findings import SEVERITIES, Finding, Severity, guarded, worst
from ragscience.doctor.machine_checks import May

if TYPE_CHECKING:
    from ragscience.store import Home

__all__ = ["SEVERITIES", "Finding", "Severity", "examine", "guarded", "worst"]


def examine(
    home: Home, *, now: datetime, ocr_language: str, may: May = os.access, fast: bool = False
) -> Iterator[Finding]:
    """Check the disk, the databases, the papers' files and the caches. `now` has a time zone.

    With `fast` the contents of the database are not verified. A check
    that cannot be made is a finding; nothing about the state of the library raises.
    """
    from ragscience.doctor import database_checks as database
    from ragscience.doctor import machine_checks as machine

    yield from guarded("disk", machine.disk, home)
    yield from guarded("permissions", machine.permissions, home, may)
    found = list(guarded("database", partial(database.database, fast=fast), home))
    yield from found
    if worst(found) != "error":
        yield from guarded("papers", _library_checks, home, now, ocr_language, may, fast)
    yield from guarded("database", database.other_databases, home)


def _library_checks(home: Home, now: datetime, ocr_language: str, may: May, fast: bool) -> Iterator[Finding]:
    from ragscience.doctor import database_checks as database
    from ragscience.doctor import machine_checks as machine
    from ragscience.doctor import paper_checks as papers
    from ragscience.store import Library

    with Library.open(home) as library:
        known = library.papers()
        yield from guarded("leftovers", lambda: machine.leftovers(home, database.token_file(home), now))
        if not known:
            put = "Put PDFs into papers/ and run `python ingest.py`."
            yield Finding("papers", "warning", "The library is empty.", put)
            return
        yield Finding("papers", "ok", f"{len(known)} papers, {library.chunk_count} passages.")
        if not fast:
            yield from guarded("contents", database.contents, library)
        yield from guarded("clock", machine.clock, known, now)
        yield from guarded("papers", papers.files, home, known, may)
        yield from guarded("papers", papers.notes, library, known, ocr_language)
        yield from guarded("papers", papers.new_files, home, library, known)
        yield from guarded("duplicates", papers.versions, library)
        yield from guarded("ledger", database.ledger, home, known)
        yield from guarded("indexes", database.caches, library)
