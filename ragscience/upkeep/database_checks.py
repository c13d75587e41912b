"""Checks of the library's own files: databases, ledger and caches."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from ragscience.core.counts import counted
from ragscience.library.library_damage import READ_ALL_AGAIN, REBUILD_INDEXES, read_meta
from ragscience.library.library_schema import connect_for_reading
from ragscience.library.row_records import chunk_ids
from ragscience.library.transactions import require_not_lost
from ragscience.upkeep.findings import Finding, Severity, few, quoted

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.store import Home, Store

__all__ = ["caches", "contents", "database", "ledger", "other_databases", "other_store", "token_file"]

_WITHOUT = "SELECT COUNT(*) FROM {0} WHERE {2} NOT IN (SELECT {2} FROM {1})"
_STRAYS = (
    ("passages belong to no paper", _WITHOUT.format("chunks", "papers", "paper_id")),
    ("pages belong to no paper", _WITHOUT.format("pages", "papers", "paper_id")),
    ("vectors belong to no passage", _WITHOUT.format("vectors", "chunks", "chunk_id")),
    ("passages have no vector", _WITHOUT.format("chunks", "vectors", "chunk_id")),
)
_STRAYS_OF_GRAPH = _WITHOUT.format("graph_passages", "chunks", "chunk_id")


def database(home: Home, *, fast: bool) -> Iterator[Finding]:
    """Whether the library's database is consistent; reads all of it, about two seconds for each GB, half with `fast`.

    Raises RagScienceError, sqlite3.Error.
    """
    connection = connect_for_reading(home.database)
    if connection is None:
        require_not_lost(home)
        return
    with closing(connection):
        # The full check holds the database's own indexes against their tables, too.
        (verdict,) = connection.execute(f"PRAGMA {'quick' if fast else 'integrity'}_check(1)").fetchone()
        if verdict != "ok":
            is_index = not fast and connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
            what, remedy = (
                ("An index of the database", REBUILD_INDEXES) if is_index else ("The database", READ_ALL_AGAIN)
            )
            yield Finding("database", "error", f"{what} is damaged: {' '.join(verdict.split())}.", remedy)
            return
        read_meta(connection)
        chunk_ids(connection)
        strays = [(connection.execute(query).fetchone()[0], what) for what, query in _STRAYS]
        found = [Finding("database", "error", f"{count} {what}.", READ_ALL_AGAIN) for count, what in strays if count]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        lost = connection.execute(_STRAYS_OF_GRAPH).fetchone()[0] if "graph_passages" in tables else 0
        if lost:
            message = f"{lost} rows of the knowledge graph belong to no passage."
            found.append(Finding("database", "warning", message, "`python ingest.py graph --again` reads them again."))
        yield from found or [Finding("database", "ok", "The database is intact.")]


def other_store(open_library: Callable[[], Store]) -> Iterator[Finding]:
    """Whether a library outside the home can be read, and its tables belong together. Raises RagScienceError."""
    with open_library() as library, library.snapshot():
        papers = library.papers()
        counts = len(papers), sum(paper.chunks for paper in papers)
        if counts != (library.paper_count, library.chunk_count):
            message = f"The library's tables do not agree: they hold {counts[0]} papers with {counts[1]} passages."
            yield Finding("database", "error", message, READ_ALL_AGAIN)
        else:
            yield Finding("database", "ok", f"The library can be read (generation {library.generation}).")


def contents(library: Store) -> Iterator[Finding]:
    """Whether every page, passage, vector and token vector is what was written; reads all of them."""
    damaged = library.verify()
    yield from few((Finding("contents", "error", *one) for one in damaged), "papers are damaged")
    if not damaged:
        yield Finding("contents", "ok", "Every page, passage and vector is what was written.")


def token_file(home: Home) -> str | None:
    """The name of the library's file of token vectors. Raises RagScienceError, sqlite3.Error."""
    connection = connect_for_reading(home.database)
    if connection is None:
        return None
    with closing(connection):
        row = connection.execute("SELECT value FROM meta WHERE key = 'tokens_file'").fetchone()
    return str(row[0]) if row else None


def other_databases(home: Home) -> Iterator[Finding]:
    """Whether conversations and the small caches that are databases are intact."""
    kinds: tuple[tuple[Path, str, Severity], ...] = (
        (home.history, "Your conversations are", "error"),
        *((path, f"The conversations of {path.stem} are", "error") for path in sorted(home.people.glob("*.sqlite"))),
        (home.agent, "Interrupted runs of the agent are", "warning"),
        (home.vectorstore / "llm_scores.sqlite", "Cached scores are", "warning"),
    )
    for path, what, severity in kinds:
        if not path.is_file():
            continue
        try:
            with closing(_opened(path)) as connection:
                (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error as error:
            verdict = str(error)
        if verdict != "ok":
            remedy = f"`mv {quoted(path)} {quoted(path)}.damaged`; a new one is created."
            yield Finding("database", severity, f"{what} damaged: {' '.join(verdict.split())}.", remedy)


def _opened(path: Path) -> sqlite3.Connection:
    """A read-only connection that makes no files next to the database where no log is pending."""
    log = path.with_name(f"{path.name}-wal")
    options = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return sqlite3.connect(f"file:{quote(str(path.absolute()).encode(errors='surrogateescape'))}?{options}", uri=True)


def ledger(home: Home, papers: Sequence[Paper]) -> Iterator[Finding]:
    """Whether ingested.json matches the database."""
    remedy = "`python ingest.py` rebuilds it from the database."
    try:
        files = json.loads(home.ledger.read_bytes())["files"]
        listed = {md5: entry["path"] for md5, entry in files.items()}
    except FileNotFoundError:
        yield Finding("ledger", "warning", "There is no ingested.json.", remedy)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        yield Finding("ledger", "warning", f"ingested.json cannot be read: {error}.", remedy)
    else:
        # The ledger has names that are not text by their escapes, so these are compared by MD5 only.
        true = {paper.md5: paper.path for paper in papers}
        wrong = {md5 for md5 in listed.keys() & true.keys() if true[md5].isprintable() and listed[md5] != true[md5]}
        differing = len((listed.keys() ^ true.keys()) | wrong)
        if differing:
            message = f"ingested.json differs from the library in {counted(differing, 'paper', 'papers')}."
            yield Finding("ledger", "warning", message, remedy)
        else:
            yield Finding("ledger", "ok", "ingested.json matches the library.")


def caches(library: Store) -> Iterator[Finding]:
    """Whether the caches are of the database's generation."""
    stale = library.stale_indexes()
    for name in stale:
        remedy = "`python ingest.py rebuild --indexes` rebuilds it."
        yield Finding("indexes", "warning", f"The {name} index is behind the library.", remedy)
    if not stale:
        yield Finding("indexes", "ok", "The search indexes are up to date.")
    info = library.dense_index_info()
    if info is not None:
        how = "exact" if info.recall_at_20 is None else f"{info.form}, recall@20 {info.recall_at_20:.3f}"
        yield Finding("indexes", "ok", f"The dense index holds {info.count} vectors ({how}).")
    missing, size = library.passages_not_kept(), library.token_bytes()
    if not missing:
        yield Finding("indexes", "ok", f"Token vectors of every passage, {size / 2**20:.0f} MiB.")
    elif size:
        remedy = "Raise RAG_TOKEN_CACHE_MB and run `python ingest.py rebuild --tokens`."
        message = f"{missing} passages have no token vectors, so questions take longer."
        yield Finding("indexes", "warning", message, remedy)
