"""Files that an ingest leaves out, by MD5: older versions of papers that are kept, and papers that were removed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping

from ragscience.core.records import Paper
from ragscience.library import library_writes as writing
from ragscience.library import row_records as rows
from ragscience.library.library_damage import read_meta
from ragscience.library.transactions import Transactions

__all__ = ["LeftOut", "newer_versions"]

_REMOVED = "removed"
"""The row of `meta` with the path of each removed paper, by MD5, as JSON."""


class LeftOut:
    """The files that a library's ingest leaves out unless they are named."""

    def __init__(self, transactions: Transactions) -> None:
        self._reading = transactions.reading
        self._writing = transactions.writing

    # Older versions

    def set_aside(self, newer: Mapping[str, Paper]) -> None:
        """Suppress files, by MD5: they are not ingested while the library has the paper that is the newer version."""
        with self._writing() as db:
            writing.set_aside(db, {md5: paper.md5 for md5, paper in newer.items()})

    def aside(self) -> dict[str, Paper]:
        """By MD5, the suppressed files: for each the newer version, which is in the library.

        If that one is itself suppressed, the version that replaced it. A file that was added again is not
        suppressed.
        """
        with self._reading() as db:
            noted = rows.set_aside(db) if db else {}
            papers = {paper.md5: paper for paper in rows.papers(db)} if db and noted else {}
        return newer_versions(noted, papers)

    # Removed papers

    def note_removed(self, papers: Collection[Paper]) -> None:
        """Remember that these papers were removed: their files are left out once the library lacks them."""
        with self._writing() as db:
            _write(db, {**_noted(db), **{paper.md5: paper.path for paper in papers}})

    def removed(self) -> dict[str, str]:
        """The path that each removed paper had, by the MD5 of its file; without those that were added again."""
        with self._reading() as db:
            noted = _noted(db) if db else {}
            query = "SELECT 1 FROM papers WHERE md5 = ?"
            return {md5: path for md5, path in noted.items() if db and db.execute(query, (md5,)).fetchone() is None}

    def forget_removed(self, md5s: Collection[str]) -> None:
        """Forget that the papers with these bytes were removed."""
        with self._reading() as db:
            known = db is not None and not _noted(db).keys().isdisjoint(md5s)
        if known:
            with self._writing() as db:
                _write(db, {md5: path for md5, path in _noted(db).items() if md5 not in md5s})


def newer_versions(noted: Mapping[str, str], papers: Mapping[str, Paper]) -> dict[str, Paper]:
    """Of each suppressed file, by MD5, the newest of its versions that is among `papers`, which are by MD5."""
    found = {}
    for md5 in noted.keys() - papers.keys():
        newer, seen = noted[md5], {md5}
        while newer not in papers and newer in noted and newer not in seen:
            seen.add(newer)
            newer = noted[newer]
        if newer in papers:
            found[md5] = papers[newer]
    return found


def _noted(db: sqlite3.Connection) -> dict[str, str]:
    return dict(json.loads(read_meta(db).get(_REMOVED, "{}")))


def _write(db: sqlite3.Connection, noted: Mapping[str, str]) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_REMOVED, json.dumps(noted)))
