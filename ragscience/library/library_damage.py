"""The damage of a library that a process has seen: rows that are not what was written, and what repairs them."""

from __future__ import annotations

import json
import shlex
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Literal

from ragscience.core.errors import LibraryDamaged
from ragscience.library.row_checksums import META_KEY, meta_checksum

if TYPE_CHECKING:
    from ragscience.core.records import Paper

__all__ = [
    "LIST_DAMAGED",
    "READ_ALL_AGAIN",
    "REBUILD_INDEXES",
    "REBUILD_TOKENS",
    "Damage",
    "Database",
    "Kind",
    "are_whole_numbers",
    "described",
    "is_damaged",
    "lost_passages",
    "note",
    "note_passages",
    "paper_sums",
    "read_meta",
    "rebuilds",
]

Kind = Literal["passage", "page", "vector", "part", "paper", "source", "token", "graph"]
"""Of a paper: a passage, a page, the vector of a passage, its elements or sketch ("part"), or its own row ("paper").
Of none: what its source says, token vectors, a row of the graph."""

READ_ALL_AGAIN = "`python ingest.py rebuild` reads your papers again; the damaged database is kept next to the new one."
LIST_DAMAGED = ("The library's list of papers is damaged: some of it is lost or altered.", READ_ALL_AGAIN)
REBUILD_INDEXES = "`python ingest.py rebuild --indexes` rebuilds it."
_OF_A_PAPER: tuple[Kind, ...] = ("passage", "vector", "page", "part")
REBUILD_TOKENS = "`python ingest.py rebuild --tokens` makes them again."
_SLOWER = ": searches take longer and rank worse."


class Damage:
    """The damage that was seen in one generation of a library; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._generation: str | None = None
        self._seen: dict[tuple[Kind, int | None], set[int]] = {}

    def note(self, db: sqlite3.Connection, kind: Kind, paper_id: int | None, keys: Iterable[int]) -> None:
        """Keep that these rows of a paper, if that is known, are damaged."""
        generation = _generation(db)
        with self._lock:
            if generation != self._generation:
                self._generation, self._seen = generation, {}
            self._seen.setdefault((kind, paper_id), set()).update(keys)

    def seen(self, db: sqlite3.Connection) -> dict[tuple[Kind, int | None], frozenset[int]]:
        """The keys of the damaged rows of this generation, by kind and paper."""
        with self._lock:
            if not self._seen or _generation(db) != self._generation:
                return {}
            return {key: frozenset(rows) for key, rows in self._seen.items()}

    @property
    def is_none(self) -> bool:
        """Whether nothing was seen at all."""
        return not self._seen


class Database(sqlite3.Connection):
    """A connection that knows where to note the damage that is seen through it."""

    damage: Damage | None = None
    root = ""
    """The full path of the home: papers within it are kept by their relative paths (library/paper_paths.py)."""
    is_changing = False
    """Whether a change is under way, during which `meta` has no checksum yet."""
    listed: tuple[int, list[Paper]] | None = None
    """All papers, with the number that SQLite gives to the state of the database that they were read from."""
    counted: tuple[int, tuple[int, int]] | None = None
    """How many papers and passages there are, with that number."""


def note(db: sqlite3.Connection, kind: Kind, paper_id: int | None, keys: Iterable[int]) -> None:
    """Note damaged rows with the library that the connection belongs to."""
    if isinstance(db, Database) and db.damage is not None:
        db.damage.note(db, kind, paper_id, keys)


def is_damaged(db: sqlite3.Connection) -> bool:
    """Whether passages or vectors of this generation were seen to be damaged."""
    damage = db.damage if isinstance(db, Database) else None
    return damage is not None and any(kind in ("passage", "vector", "paper") for kind, _ in damage.seen(db))


def note_passages(db: sqlite3.Connection, kind: Kind, ids: Sequence[int]) -> None:
    """Note damaged rows of passages, each with its paper."""
    for paper_id, rows in _by_paper(db, ids).items():
        note(db, kind, paper_id, rows)


def lost_passages(db: sqlite3.Connection, ids: Iterable[int]) -> list[int]:
    """Those of the passages `ids`, none of which has a row, that a paper of the library claims."""
    found = _by_paper(db, list(ids))
    return [chunk_id for paper_id, rows in found.items() if paper_id is not None for chunk_id in rows]


def _by_paper(db: sqlite3.Connection, ids: Sequence[int]) -> dict[int | None, list[int]]:
    claims = "SELECT first_chunk, chunks, paper_id FROM papers ORDER BY first_chunk"
    ranges = [row for row in db.execute(claims) if are_whole_numbers(row)]
    starts = [first for first, _, _ in ranges]
    found: dict[int | None, list[int]] = {}
    for chunk_id in ids:
        place = bisect_right(starts, chunk_id) - 1
        first, count, paper_id = ranges[place] if place >= 0 else (0, 0, None)
        found.setdefault(paper_id if first <= chunk_id < first + count else None, []).append(chunk_id)
    return found


def are_whole_numbers(row: Sequence[object]) -> bool:
    """Whether SQLite read only integers; of a damaged page it reads NULL, text or bytes for a column of them."""
    return all(isinstance(value, int) for value in row)


def described(seen: dict[tuple[Kind, int | None], frozenset[int]], names: dict[int, str]) -> Iterator[tuple[str, str]]:
    """(what is damaged, the command that repairs it) of each damaged paper, and of what belongs to none.

    `names` are the papers' file names by id; a paper without one has a damaged row itself.
    """
    papers = {paper_id or 0 for kind, paper_id in seen if kind in _OF_A_PAPER}
    for paper_id in sorted(papers & names.keys()):
        counts = [(len(seen.get((kind, paper_id), ())), kind) for kind in _OF_A_PAPER]
        parts = ["its structure" if kind == "part" else _counted(count, kind) for count, kind in counts if count]
        yield (
            f"{names[paper_id]} is damaged in the library ({', '.join(parts)}), and that is left out.",
            rebuilds(names[paper_id]),
        )
    entries = sum(len(rows) for (kind, _), rows in seen.items() if kind == "paper")
    if entries or any(paper_id not in names for paper_id in papers):
        what = "The entry of a paper is" if entries <= 1 else f"The entries of {entries} papers are"
        yield f"{what} damaged in the library and left out.", READ_ALL_AGAIN
    for kind, source_of in seen:
        if kind == "source":
            name = f" of {names[source_of]}" if source_of in names else ""
            yield (
                f"The fetched metadata{name} are damaged and left out.",
                "`python ingest.py fetch` fetches them again.",
            )
    tokens = sum(len(rows) for (kind, _), rows in seen.items() if kind == "token")
    if tokens:
        yield f"The token vectors of {_counted(tokens, 'passage')} are lost or damaged{_SLOWER}", REBUILD_TOKENS
    graph = sum(len(rows) for (kind, _), rows in seen.items() if kind == "graph")
    if graph:
        yield (
            f"The knowledge graph is damaged in {_counted(graph, 'row')}, and that is left out.",
            "`python ingest.py graph --again` reads it again.",
        )


def rebuilds(file: str) -> str:
    """What repairs a paper, by its name."""
    return f"`python ingest.py rebuild {shlex.quote(file)}` reads it again."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _generation(db: sqlite3.Connection) -> str:
    row = db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    return str(row[0]) if row else ""


def read_meta(db: sqlite3.Connection) -> dict[str, str]:
    """All rows of `meta`. Raises LibraryDamaged unless they are what was written; not asked during a change."""
    meta = dict(db.execute("SELECT key, value FROM meta"))
    if isinstance(db, Database) and db.is_changing:
        return meta
    are_texts = all(isinstance(text, str) for row in meta.items() for text in row)
    if not are_texts or meta.get(META_KEY) != meta_checksum(meta):
        raise LibraryDamaged("The library's database is damaged: its own description was altered.", READ_ALL_AGAIN)
    return meta


def paper_sums(meta: dict[str, str]) -> list[int]:
    """The number of papers, and the sums of first_chunk, chunks, references_mark and filters_mark over them."""
    return [int(number) for number in json.loads(meta["papers"])]
