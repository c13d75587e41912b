"""Checks of the library's own files: databases, ledger and indexes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from ragscience.core.tokenizing import counted
from ragscience.library.sealed_rows import READ_ALL_AGAIN
from ragscience.upkeep.findings import DoctorFinding, Severity, few, quoted

if TYPE_CHECKING:
    from ragscience.library.store import Home, Store
    from ragscience.upkeep.findings import Given

__all__ = ["contents", "database", "indexes", "ledger", "other_databases"]


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
    kinds: tuple[tuple[Path, str, Severity], ...] = (
        (home.history, "Your conversations are", "error"),
        *((path, f"The conversations of {path.stem} are", "error") for path in sorted(home.people.glob("*.sqlite"))),
        (home.agent, "Interrupted runs of the agent are", "warning"),
    )
    for path, what, severity in kinds:
        verdict = _verdict(path, "quick") if path.is_file() else "ok"
        if verdict != "ok":
            remedy = f"`mv {quoted(path)} {quoted(path)}.damaged`; a new one is created."
            yield DoctorFinding("database", severity, f"{what} damaged: {verdict}.", remedy)


def _verdict(path: Path, check: str) -> str:
    """What SQLite's `check` ("quick" or "integrity") says of a database, "ok" for nothing; makes no files beside it."""
    log = path.with_name(f"{path.name}-wal")
    options = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    uri = f"file:{quote(str(path.absolute()).encode(errors='surrogateescape'))}?{options}"
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
    true = {paper.md5: paper.path for paper in library.papers()}
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
        remedy = "`python ingest.py rebuild --tokens` makes them, as far as 2 GiB hold them."
        message = f"{missing} passages have no token vectors, so questions take longer."
        yield DoctorFinding("indexes", "warning", message, remedy)
