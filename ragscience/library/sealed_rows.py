"""Rows of the library's database, each a blob that begins with a CRC-32 of its key and of all that follows.

A CRC-32 differs for every single flipped bit and for every burst of at most 32 bits; of other damage it misses one in
2**32 (Koopman, 32-bit cyclic redundancy codes for internet applications, 2002). It guards against failing disks, not
against forgery.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from dataclasses import asdict, dataclass
from typing import Any

from ragscience.core.errors import LibraryDamaged
from ragscience.core.records import EmbedderIdentity
from ragscience.core.tokenizing import TOKENIZER_VERSION

__all__ = [
    "CHECKSUM_BYTES",
    "LIST_DAMAGED",
    "READ_ALL_AGAIN",
    "CommonState",
    "State",
    "checksum_of",
    "opened",
    "read_state",
    "sealed",
    "write_state",
]

READ_ALL_AGAIN = "`python ingest.py rebuild` reads your papers again; the damaged database is kept next to the new one."
LIST_DAMAGED = ("The library's list of papers is damaged: some of it is lost or altered.", READ_ALL_AGAIN)
CHECKSUM_BYTES = 4


def sealed(key: tuple[object, ...], content: bytes) -> bytes:
    """The content as it is kept under a key, which may hold integers, text and bytes."""
    return _checksum(key, content).to_bytes(CHECKSUM_BYTES, "little") + content


def opened(key: tuple[object, ...], row: object) -> bytes | None:
    """The content that was kept under the key; None where the row is not what was written."""
    if not isinstance(row, bytes) or len(row) < CHECKSUM_BYTES:  # of a damaged page SQLite reads any type
        return None
    content = row[CHECKSUM_BYTES:]
    return content if _checksum(key, content) == checksum_of(row) else None


def checksum_of(row: bytes) -> int:
    """The checksum that a sealed row begins with, 0 to 2**32 - 1."""
    return int.from_bytes(row[:CHECKSUM_BYTES], "little")


def _checksum(key: tuple[object, ...], content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(repr(key).encode("utf-8", "backslashreplace")))


@dataclass(frozen=True, slots=True)
class CommonState:
    """What a library says of itself, wherever it is kept."""

    library_id: str
    """A random id from the library's creation: another library's indexes never match."""
    version: int = 0
    """Grows with each change of papers or vectors."""
    graph_version: int = 0
    next_chunk: int = 1
    papers: int = 0
    chunks: int = 0
    terms: int = 0
    """How many terms the passages have together, repeated as they are."""
    embedder: EmbedderIdentity | None = None
    chunker: str | None = None
    tokenizer: str = TOKENIZER_VERSION
    keywords_at: int = -1
    """The version at which the keyword index was brought up to date last."""
    mean_idf: float = 0.0
    """The mean inverse document frequency of the terms then."""

    @property
    def dimension(self) -> int:
        """Of the vectors; 0 while no embedder is set."""
        return self.embedder.dimension if self.embedder else 0


@dataclass(frozen=True, slots=True)
class State(CommonState):
    """That of a library in SQLite: the one row of its table `state`."""

    vectors_epoch: int = 0
    """Grows when the vectors of existing passages are replaced."""
    papers_sum: int = 0
    """The sum of the checksums of the rows of `papers`, so that a lost row shows."""
    token_bytes: int = 0
    """Of all token vectors."""
    keywords_sum: int = 0
    """The checksum of the keyword index as it was at the version `keywords_at`."""


def read_state(db: sqlite3.Connection) -> State:
    """As of the current transaction. Raises LibraryDamaged."""
    row = db.execute("SELECT row FROM state").fetchone()
    content = opened(("state",), row[0]) if row else None
    if content is None:
        raise LibraryDamaged("The library's database is damaged: its own description was altered.", READ_ALL_AGAIN)
    fields: dict[str, Any] = json.loads(content)
    embedder = fields.pop("embedder")
    return State(**fields, embedder=EmbedderIdentity(**embedder) if embedder else None)


def write_state(db: sqlite3.Connection, state: State) -> None:
    """Replace the row of `state`."""
    row = sealed(("state",), json.dumps(asdict(state)).encode())
    db.execute("INSERT OR REPLACE INTO state (one, row) VALUES (1, ?)", (row,))
