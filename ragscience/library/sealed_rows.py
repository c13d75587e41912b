"""What a library says of itself, and the rows of its database, each a blob that begins with a CRC-32.

It is that of the row's key and of all that follows.

A CRC-32 differs for every single flipped bit and for every burst of at most 32 bits; of other damage it misses one in
2**32 (Koopman, 32-bit cyclic redundancy codes for internet applications, 2002). It guards against failing disks, not
against forgery.
"""

import json
import shlex
import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Literal, Self

from ragscience.core.errors import LibraryDamaged
from ragscience.core.records import EmbedderIdentity
from ragscience.core.serialization import from_json
from ragscience.core.tokenizing import TOKENIZER_VERSION, counted

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
class State:
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

    vectors_epoch: int = 0
    """Grows when the vectors of existing passages are replaced."""
    papers_sum: int = 0
    """The sum of the checksums of the rows of `papers`, so that a lost row shows."""
    token_bytes: int = 0
    """Of all token vectors."""
    keywords_sum: int = 0
    """The checksum of the keyword index as it was at the version `keywords_at`."""

    @property
    def dimension(self) -> int:
        """Of the vectors; 0 while no embedder is set."""
        return self.embedder.dimension if self.embedder else 0


@dataclass(frozen=True, slots=True)
class LanceState(State):
    """That of a library in LanceDB."""

    number: int = 0
    """Grows with each commit."""
    commit: str = ""
    """A random id of the commit: whether it was made, when a server's answer is lost."""
    next_paper: int = 1
    tables: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """The name and the version of each table, by what it is for."""

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`. Raises LibraryDamaged."""
        try:
            return from_json(cls, text)
        except ValueError as error:
            raise LibraryDamaged(*LIST_DAMAGED) from error


def read_state(db: sqlite3.Connection) -> State:
    """As of the current transaction. Raises LibraryDamaged."""
    row = db.execute("SELECT row FROM state").fetchone()
    content = opened(("state",), row[0]) if row else None
    if content is None:
        raise LibraryDamaged("The library's database is damaged: its own description was altered.", READ_ALL_AGAIN)
    return from_json(State, content)


def write_state(db: sqlite3.Connection, state: State) -> None:
    """Replace the row of `state`."""
    row = sealed(("state",), json.dumps(asdict(state)).encode())
    db.execute("INSERT OR REPLACE INTO state (one, row) VALUES (1, ?)", (row,))


Kind = Literal["log", "list", "paper", "token", "graph", "source", "note"]
"""Changes in the write-ahead log; a row of the list of papers; a paper with its passages and vectors; token vectors; a
row of the graph; what the source of a file says; which files are left out."""
REBUILD_INDEXES = "`python ingest.py rebuild --indexes` rebuilds it."


class Damage:
    """What was seen; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: dict[Kind, set[int]] = {}

    def note(self, kind: Kind, key: int = 0) -> None:
        """Keep that something is damaged: a paper, or the token vectors of a passage."""
        with self._lock:
            self._seen.setdefault(kind, set()).add(key)

    def forget(self, *kinds: Kind) -> None:
        """It was written again."""
        with self._lock:
            for kind in kinds:
                self._seen.pop(kind, None)

    def seen(self, kind: Kind) -> frozenset[int]:
        """The keys of what is damaged."""
        with self._lock:
            return frozenset(self._seen.get(kind, ()))

    @property
    def loses_passages(self) -> bool:
        """Whether passages are left out that the library has."""
        return bool(self.seen("list") or self.seen("paper"))

    @property
    def is_none(self) -> bool:
        """Whether nothing was seen at all."""
        return not self._seen


_SAID: tuple[tuple[Kind, str, str, str], ...] = (
    ("log", "", "The last changes of an interrupted run are lost, as their log is damaged.",
     "`python ingest.py sync` makes the library what is in papers/."),
    ("list", "paper", "{} of the library's list of papers: damaged, and left out.", READ_ALL_AGAIN),
    ("source", "", "Some fetched metadata are damaged and left out.", "`python ingest.py fetch` fetches them again."),
    ("token", "passage", "The token vectors of {} are lost or damaged: searches take longer and rank worse.",
     "`python ingest.py rebuild --indexes` makes them again."),
    ("note", "", "Some notes of files that are left out are damaged: such a file may be read again.",
     "`python ingest.py remove PAPER` leaves it out again."),
    ("graph", "", "The knowledge graph is damaged in part, and that is left out.",
     "`python ingest.py graph --again` reads it again."),
)  # fmt: skip
"""Of each kind but "paper": what is counted, what is said, and what repairs it."""


def described(damage: Damage, names: Mapping[int, str]) -> list[tuple[str, str]]:
    """(what is damaged, the command that repairs it); `names` are the papers' file names by id."""
    papers = [
        (f"{names[one]} is damaged in the library, and what is damaged is left out.", rebuilds(names[one]))
        for one in sorted(damage.seen("paper") & names.keys())
    ]
    seen = ((len(damage.seen(kind)), what, text, fix) for kind, what, text, fix in _SAID)
    return papers + [(text.format(counted(count, what)), fix) for count, what, text, fix in seen if count]


def rebuilds(file: str) -> str:
    """What repairs a paper, by its name."""
    return f"`python ingest.py rebuild {shlex.quote(file)}` reads it again."


@dataclass(frozen=True, slots=True)
class DenseIndexInfo:
    """The dense index on disk."""

    form: str
    """ "flat" (exact) or "ivf-sq8" (inverted lists of 8-bit vectors)."""
    count: int
    """Number of vectors."""
    nlist: int = 0
    """Inverted lists; 0 for an exact index."""
    trained_on: int = 0
    """Number of vectors when it was trained."""


@dataclass(frozen=True, slots=True)
class DenseSizes:
    """The sizes at which the dense index changes its form; tests use small ones."""

    exact_values: int = 76_800_000
    """Up to this many floats (200,000 vectors of 384) search is exact: 22 ms warm on one core, 300 MB."""
    sample_per_list: int = 48
    """Vectors per list for k-means training; FAISS requires at least 39."""
    filter_exactly: int = 2000
    """A filter that leaves at most this many passages is searched exactly, from the library's own vectors."""
    small: int = 20_000
    """Up to this size the index is written after every change."""
    tail_share: float = 0.05
    tail_most: int = 20_000
    """A larger one is written if more than this share, or this many, of its passages were added or removed."""

    def form(self, count: int, dimension: int) -> str:
        """The form for this many vectors: exact while that is fast."""
        return "flat" if count * dimension <= self.exact_values else "ivf-sq8"

    def may_lag(self, count: int) -> int:
        """How many passages may be added or removed before the index of `count` is rebuilt."""
        return 0 if count <= self.small else int(min(count * self.tail_share, self.tail_most))
