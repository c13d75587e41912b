"""Finds problems of a library and their fixes. Writes and repairs nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ragscience.core.counts import counted
from ragscience.library.ingestion import LOCAL, LocalFiles
from ragscience.upkeep.findings import SEVERITIES, Finding, Severity, guarded, worst
from ragscience.upkeep.machine_checks import May

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.store import Home, Store

__all__ = ["SEVERITIES", "Finding", "Given", "OnCheck", "Severity", "examine", "guarded", "worst"]

OnCheck = Callable[[str, int, int], None]
"""Is told what is looked at next, its number from 1, and how many checks there are."""
_CHECKS = (
    "disk", "permissions", "database", "leftovers", "contents", "clock", "files", "notes", "new files", "duplicates",
    "ledger", "indexes", "conversations",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Given:
    """What the checks depend on beside the home."""

    now: datetime
    """With a time zone."""
    ocr_language: str
    may: May = os.access
    where: LocalFiles = LOCAL
    """Where the papers' files are."""
    fast: bool = False
    """The contents of the database are not verified."""


def examine(
    home: Home,
    given: Given,
    open_library: Callable[[], Store] | None = None,
    *,
    on_check: OnCheck | None = None,
) -> Iterator[Finding]:
    """Check the disk, the databases, the papers' files and the caches.

    `open_library` opens a library that is not in the home. A check that cannot be made is a finding; nothing about the
    state of the library raises.
    """
    from ragscience.upkeep import database_checks as database
    from ragscience.upkeep import machine_checks as machine

    def run(name: str, area: str, check: Callable[..., Iterable[Finding]], *arguments: Any) -> Iterator[Finding]:
        if on_check is not None:
            on_check(name, _CHECKS.index(name) + 1, len(_CHECKS))
        yield from guarded(area, check, *arguments)

    yield from run("disk", "disk", machine.disk, home)
    yield from run("permissions", "permissions", machine.permissions, home, given.may)
    if open_library is None:
        from ragscience.library.store import Library

        open_library = partial(Library.open, home)
        found = list(run("database", "database", partial(database.database, fast=given.fast), home))
    else:
        found = list(run("database", "database", database.other_store, open_library))
    yield from found
    if worst(found) != "error":
        yield from guarded("papers", _library_checks, run, home, open_library, given)
    yield from run("conversations", "database", database.other_databases, home)


def _library_checks(
    run: Callable[..., Iterator[Finding]], home: Home, open_library: Callable[[], Store], given: Given
) -> Iterator[Finding]:
    from ragscience.upkeep import database_checks as database
    from ragscience.upkeep import machine_checks as machine
    from ragscience.upkeep import paper_checks as papers

    with open_library() as library:
        known = library.papers()
        yield from run("leftovers", "leftovers", lambda: machine.leftovers(home, database.token_file(home), given.now))
        if not known:
            put = "Put PDFs into papers/ and run `python ingest.py`."
            yield Finding("papers", "warning", "The library is empty.", put)
            if not given.fast:  # the tables of an empty one may be damaged too
                found = run("contents", "contents", database.contents, library)
                yield from (one for one in found if one.severity != "ok")
            return
        held = counted(len(known), "paper", "papers"), counted(library.chunk_count, "passage", "passages")
        yield Finding("papers", "ok", f"{', '.join(held)}.")
        if not given.fast:
            yield from run("contents", "contents", database.contents, library)
        yield from run("clock", "clock", machine.clock, known, given.now)
        yield from run("files", "papers", _files, home, library, known, given)
        yield from run("notes", "papers", papers.notes, library, known, given.ocr_language)
        if given.where is LOCAL:
            yield from run("new files", "papers", papers.new_files, home, library, known)
        yield from run("duplicates", "duplicates", papers.versions, library)
        yield from run("ledger", "ledger", database.ledger, home, known)
        yield from run("indexes", "indexes", database.caches, library)


def _files(home: Home, library: Store, known: Sequence[Paper], given: Given) -> Iterator[Finding]:
    """The files of the papers: those in the bucket, where papers/ is one, and those on this machine."""
    from ragscience.upkeep import paper_checks as papers

    if given.where is LOCAL:
        yield from papers.files(home, known, given.may)
        return
    from ragscience.library.object_storage import BucketFiles
    from ragscience.upkeep.bucket_checks import bucket

    assert isinstance(given.where, BucketFiles)  # noqa: S101 - for the type: there is no other kind
    yield from bucket(home, library, known, given.where)
    here = [paper for paper in known if given.where.shown(paper.path) == paper.path]
    if here:
        yield from papers.files(home, here, given.may)
