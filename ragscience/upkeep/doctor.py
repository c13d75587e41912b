"""Finds problems of a library and their fixes: a list of checks, each a small function. Writes and repairs nothing."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.tokenizing import counted
from ragscience.library.paper_rows import path_within
from ragscience.library.sealed_rows import READ_ALL_AGAIN
from ragscience.upkeep.machine_checks import DoctorFinding, Given, few, guarded, quoted, worst

if TYPE_CHECKING:
    from ragscience.library.store import Home, Store
    from ragscience.upkeep.machine_checks import Given


def database(home: Home, given: Given, open_library: Callable[[], Store], *, is_here: bool) -> Iterator[DoctorFinding]:
    """Whether the database can be opened and is consistent; one in the home is read as a whole, about 2 s for each GB.

    Raises RagScienceError, sqlite3.Error.
    """
    with open_library() as library, library.snapshot():
        papers = library.papers()
        counts = len(papers), sum(paper.chunks for paper in papers)
        held = library.about.papers, library.about.chunks
    # The full check holds the database's own indexes against their tables, too.
    check = "quick" if given.fast else "integrity"
    verdict = _verdict(home.database, check) if is_here and home.database.exists() else "ok"
    if verdict != "ok":
        yield DoctorFinding("database", "error", f"The database is damaged: {verdict}.", READ_ALL_AGAIN)
    elif counts != held:
        message = f"The library's tables do not agree: they hold {counts[0]} papers with {counts[1]} passages."
        yield DoctorFinding("database", "error", message, READ_ALL_AGAIN)
    else:
        yield DoctorFinding("database", "ok", "The database is intact.")


def contents(library: Store) -> Iterator[DoctorFinding]:
    """Whether every page, passage, vector and token vector is what was written; reads all of them."""
    damaged = library.verify()
    yield from few((DoctorFinding("contents", "error", *one) for one in damaged), "papers are damaged")
    if not damaged:
        yield DoctorFinding("contents", "ok", "Every page, passage and vector is what was written.")


def other_databases(home: Home) -> Iterator[DoctorFinding]:
    """Whether conversations and the small caches that are databases are intact."""
    kinds = (
        (home.history, "Your conversations are"),
        *((path, f"The conversations of {path.stem} are") for path in sorted(home.people.glob("*.sqlite"))),
    )
    for path, what in kinds:
        verdict = _verdict(path, "quick") if path.is_file() else "ok"
        if verdict != "ok":
            remedy = f"`mv {quoted(path)} {quoted(path)}.damaged`; a new one is created."
            yield DoctorFinding("database", "error", f"{what} damaged: {verdict}.", remedy)


def _verdict(path: Path, check: str) -> str:
    """What SQLite's `check` ("quick" or "integrity") says of a database, "ok" for nothing; makes no files beside it."""
    log = path.with_name(f"{path.name}-wal")
    options = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{options}"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return " ".join(str(connection.execute(f"PRAGMA {check}_check(1)").fetchone()[0]).split())
    except sqlite3.Error as error:
        return str(error)


def ledger(home: Home, library: Store) -> Iterator[DoctorFinding]:
    """Whether ingested.json matches the database."""
    remedy = "`python ingest.py` rebuilds it from the database."
    try:
        listed = {md5: entry["path"] for md5, entry in json.loads(home.ledger.read_bytes())["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        yield DoctorFinding("ledger", "warning", f"ingested.json cannot be read: {error}.", remedy)
        return
    # The ledger has names that are not text by their escapes, so these are compared by MD5 only.
    root = str(home.root.absolute())
    true = {paper.md5: os.fsdecode(path_within(root, paper.path)) for paper in library.papers()}
    wrong = {md5 for md5 in listed.keys() & true.keys() if true[md5].isprintable() and listed[md5] != true[md5]}
    if differing := len((listed.keys() ^ true.keys()) | wrong):
        message = f"ingested.json differs from the library in {counted(differing, 'paper', 'papers')}."
        yield DoctorFinding("ledger", "warning", message, remedy)
    else:
        yield DoctorFinding("ledger", "ok", "ingested.json matches the library.")


def indexes(library: Store) -> Iterator[DoctorFinding]:
    """Whether the indexes are of the database's generation."""
    from ragscience.library.store import Library

    if isinstance(library, Library):
        if library.dense.is_stale():
            remedy = "`python ingest.py rebuild --indexes` rebuilds it."
            yield DoctorFinding("indexes", "warning", "The dense index is behind the library.", remedy)
        elif (info := library.dense.info()) is not None:
            how = "exact" if info.form == "flat" else info.form
            yield DoctorFinding("indexes", "ok", f"The dense index holds {info.count} vectors ({how}).")
    missing, size = library.tokens.not_kept(), library.tokens.size_bytes()
    if not missing:
        yield DoctorFinding("indexes", "ok", f"Token vectors of every passage, {size / 2**20:.0f} MiB.")
    elif size:
        remedy = "`python ingest.py rebuild --indexes` makes them, as far as 2 GiB hold them."
        message = f"{missing} passages have no token vectors, so questions take longer."
        yield DoctorFinding("indexes", "warning", message, remedy)


OnCheck = Callable[[str, int, int], None]
"""Called before each check with its name, its number from 1, and how many checks there are."""


def examine(
    home: Home,
    given: Given,
    open_library: Callable[[], Store] | None = None,
    *,
    on_check: OnCheck | None = None,
) -> Iterator[DoctorFinding]:
    """Check the disk, the databases, the papers' files and the caches.

    `open_library` opens a library that is not in the home. A check that cannot be made is a finding; nothing about the
    state of the library raises.
    """
    from ragscience.library.store import Library
    from ragscience.upkeep import machine_checks as machine
    from ragscience.upkeep import paper_checks as papers

    opened = open_library or partial(Library.open, home)
    of_home: list[tuple[str, str, Callable[[], Iterable[DoctorFinding]]]] = [
        ("disk", "disk", lambda: machine.disk(home)),
        ("memory", "memory", machine.memory),
        ("permissions", "permissions", lambda: machine.permissions(home, given)),
        ("database", "database", lambda: database(home, given, opened, is_here=open_library is None)),
    ]
    of_library: list[tuple[str, str, Callable[[Store], Iterable[DoctorFinding]]]] = [
        ("leftovers", "leftovers", lambda _: machine.leftovers(home, given)),
        ("contents", "contents", contents),
        ("clock", "clock", lambda store: machine.clock(store, given)),
        ("files", "papers", lambda store: papers.files(home, store, given)),
        ("notes", "papers", papers.notes),
        ("new files", "papers", lambda store: papers.new_files(home, store, given)),
        ("duplicates", "duplicates", papers.versions),
        ("ledger", "ledger", lambda store: ledger(home, store)),
        ("indexes", "indexes", indexes),
    ]
    names = [*(name for name, *_ in of_home), *(name for name, *_ in of_library), "conversations"]

    def begin(name: str) -> None:
        if on_check is not None:
            on_check(name, names.index(name) + 1, len(names))

    def look_inside() -> Iterator[DoctorFinding]:
        with opened() as store:
            is_empty = not store.about.papers
            held = counted(store.about.papers, "paper"), counted(store.about.chunks, "passage")
            for name, area, check in of_library:
                if (given.fast and name == "contents") or (is_empty and name not in ("leftovers", "contents")):
                    continue
                begin(name)
                found = guarded(area, check, store)
                yield from (one for one in found if not (is_empty and name == "contents" and one.severity == "ok"))
                if name == "leftovers" and not is_empty:
                    yield DoctorFinding("papers", "ok", f"{', '.join(held)}.")
                elif name == "leftovers":
                    put = "Put PDFs into papers/ and run `python ingest.py`."
                    yield DoctorFinding("papers", "warning", "The library is empty.", put)

    found: list[DoctorFinding] = []
    for name, area, check in of_home:
        begin(name)
        found += guarded(area, check)
    yield from found
    if worst([one for one in found if one.area == "database"]) != "error":
        yield from guarded("papers", look_inside)
    begin("conversations")
    yield from guarded("database", other_databases, home)
