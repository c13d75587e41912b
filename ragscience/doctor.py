"""What is wrong with a library, or will be, and what to do about it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragscience.duplicates import duplicates

if TYPE_CHECKING:
    from ragscience.store import Home, Library

__all__ = ["Finding", "examine"]

LOW_DISK_BYTES = 500 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    severity: Literal["ok", "warning", "error"]
    message: str
    remedy: str = ""


def examine(home: Home, library: Library) -> Iterator[Finding]:
    """Look at the disk, the database, its papers' files and the caches; nothing is written or repaired."""
    yield from _disk(home)
    if not library.paper_count:
        yield Finding("warning", "The library is empty.", "Put PDFs into papers/ and run `python ingest.py`.")
        return
    yield from _database(home)
    yield from _files(library)
    yield from _twice(library)
    yield from _caches(library)


def _disk(home: Home) -> Iterator[Finding]:
    free = shutil.disk_usage(home.root).free
    if free < LOW_DISK_BYTES:
        yield Finding("warning", f"{free // 2**20} MiB are left on the disk.", "Make room before the next ingest.")
    else:
        yield Finding("ok", f"{free / 2**30:.1f} GiB are left on the disk.")


def _database(home: Home) -> Iterator[Finding]:
    uri = f"file:{home.database}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        (orphans,) = connection.execute(
            "SELECT COUNT(*) FROM chunks WHERE paper_id NOT IN (SELECT paper_id FROM papers)"
        ).fetchone()
    if verdict != "ok":
        remedy = "Move vectorstore/ away and run `python ingest.py`: the papers are read again."
        yield Finding("error", f"The database is damaged: {verdict}.", remedy)
    elif orphans:
        yield Finding("error", f"{orphans} passages belong to no paper.", "Run `python ingest.py rebuild`.")
    else:
        yield Finding("ok", "The database is whole.")


def _files(library: Library) -> Iterator[Finding]:
    papers = library.papers()
    for paper in papers:
        if not Path(paper.path).exists():
            yield Finding(
                "warning",
                f"{paper.file} is in the library, but its file is gone.",
                "`python ingest.py sync` removes it.",
            )
        for warning in paper.warnings:
            yield Finding("warning", f"{paper.file}: {warning}", f"`python ingest.py show {paper.file}` tells more.")
    yield Finding("ok", f"{len(papers)} papers, {library.chunk_count} passages.")
    if library.embedder:
        yield Finding("ok", f"Vectors by {library.embedder.provider} {library.embedder.model}.")


def _twice(library: Library) -> Iterator[Finding]:
    for pair in duplicates(library):
        yield Finding(
            "warning",
            f"{pair.older} is the same paper as {pair.newer}, which is newer.",
            "`python ingest.py duplicates --dedupe keep-newest` keeps the newer one alone.",
        )


def _caches(library: Library) -> Iterator[Finding]:
    stale = library.stale_indexes()
    for name in stale:
        yield Finding(
            "warning", f"The {name} index is behind the library.", "`python ingest.py rebuild --indexes` makes it anew."
        )
    if not stale:
        yield Finding("ok", "The search indexes are up to date.")
    info = library.dense_index_info()
    if info is not None:
        how = "exact" if info.recall_at_20 is None else f"{info.form}, recall@20 {info.recall_at_20:.3f}"
        yield Finding("ok", f"The dense index holds {info.count} vectors ({how}).")
    missing, size = library.passages_without_tokens(), library.token_bytes()
    if not missing:
        yield Finding("ok", f"Token vectors of every passage, {size / 2**20:.0f} MiB.")
    elif size:
        remedy = "Raise RAG_TOKEN_CACHE_MB and run `python ingest.py rebuild --embeddings`."
        yield Finding("warning", f"{missing} passages have no token vectors, so questions take longer.", remedy)
