"""Large made-up libraries, written straight into the store's tables: what would take hours to embed takes minutes.

Texts are words whose frequencies fall as 1 / (rank + 10), as those of text without stop words do; vectors are unit
vectors in clusters within topics. The same numbers give the same library. Only papers, passages and vectors are
written; the indexes are left to `Library.refresh_indexes`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ragscience.records import EmbedderIdentity
from ragscience.store import Home, Library, text_hash
from ragscience.store.row_checksums import row_checksum, seal_all

__all__ = ["LargeLibrary"]

_BATCH = 4000
_CHUNKS_A_PAPER = 40
_CHUNKS_A_CLUSTER = 250
_CLUSTERS_A_TOPIC = 10


@dataclass(frozen=True)
class LargeLibrary:
    """What a large library is made of."""

    chunks: int
    dimension: int = 384
    words_a_chunk: int = 130
    vocabulary: int = 100_000
    seed: int = 0

    @property
    def identity(self) -> EmbedderIdentity:
        """What its vectors claim to be made by."""
        return EmbedderIdentity("embedded", "synthetic", f"{self.seed:016x}", self.dimension)

    @cached_property
    def words(self) -> NDArray[np.object_]:
        """The vocabulary, most frequent word first; all letters, no two alike."""
        syllables = [first + vowel for first in "bdfgklmnprtvz" for vowel in "aiou"]
        order = np.random.default_rng(self.seed).permutation(self.vocabulary)
        return np.array([_spelled(int(number), syllables) for number in order], dtype=object)

    @cached_property
    def _odds(self) -> NDArray[np.float64]:
        """Cumulated, shape (vocabulary,)."""
        weights = 1 / (np.arange(1, self.vocabulary + 1) + 10)
        return np.asarray(np.cumsum(weights / weights.sum()))

    @cached_property
    def _centres(self) -> NDArray[np.float32]:
        """Of the clusters, shape (clusters, dimension)."""
        rng = np.random.default_rng(self.seed + 1)
        clusters = max(self.chunks // _CHUNKS_A_CLUSTER, 8)
        topics = _near(rng, np.zeros((max(clusters // _CLUSTERS_A_TOPIC, 2), self.dimension), np.float32), 1.0)
        return _near(rng, topics[rng.integers(0, len(topics), clusters)], 0.8)

    def batches(self) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        """(texts, unit vectors of shape (n, dimension), float32) of all passages, a few thousand at a time."""
        for number, first in enumerate(range(0, self.chunks, _BATCH)):
            size = min(_BATCH, self.chunks - first)
            rng = np.random.default_rng([self.seed, number])
            ranks = np.searchsorted(self._odds, rng.random((size, self.words_a_chunk)))
            vectors = _near(rng, self._centres[rng.integers(0, len(self._centres), size)], 0.8)
            yield [" ".join(row) for row in self.words[ranks].tolist()], vectors

    def questions(self, count: int, seed: int) -> list[tuple[str, NDArray[np.float32]]]:
        """(2 to 6 words of middling frequency, a unit vector that is near some passages, shape (dimension,))."""
        rng = np.random.default_rng([self.seed, 7, seed])
        centres = self._centres[rng.integers(0, len(self._centres), count)]
        vectors = _near(rng, _near(rng, centres, 0.8), 1.0)
        texts = []
        while len(texts) < count:
            ranks = np.searchsorted(self._odds, rng.random(int(rng.integers(2, 7))))
            if ranks.min() >= min(100, self.vocabulary // 10):
                texts.append(" ".join(self.words[ranks].tolist()))
        return list(zip(texts, vectors, strict=True))

    def write(self, home: Home) -> None:
        """Make the library in an empty home."""
        with Library.open_for_writing(home) as library:
            library.set_identity(self.identity, "synthetic/1")
        with closing(sqlite3.connect(home.database, isolation_level=None)) as db:
            db.create_function("row_checksum", -1, row_checksum)
            db.execute("PRAGMA synchronous = OFF")
            db.execute("PRAGMA cache_size = -200000")
            first = 1
            for texts, vectors in self.batches():
                db.execute("BEGIN")
                _insert(db, first, texts, vectors)
                db.execute("COMMIT")
                first += len(texts)
            db.execute("UPDATE meta SET value = ? WHERE key = 'next_chunk'", (str(first),))
            db.execute("UPDATE meta SET value = '2' WHERE key = 'generation'")
            seal_all(db)


def _spelled(number: int, syllables: list[str]) -> str:
    spelled = ""
    while number or not spelled:
        number, digit = divmod(number, len(syllables))
        spelled += syllables[digit]
    return f"{spelled}x"  # an ending that no stemmer cuts off


def _near(rng: np.random.Generator, rows: NDArray[np.float32], distance: float) -> NDArray[np.float32]:
    """Unit rows at random directions from `rows`, `distance` away before they are scaled to length 1."""
    noise = rng.standard_normal(rows.shape, np.float32) * np.float32(distance / np.sqrt(rows.shape[1]))
    moved = rows + noise
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)


def _insert(db: sqlite3.Connection, first: int, texts: list[str], vectors: NDArray[np.float32]) -> None:
    papers = range(first - 1, first - 1 + len(texts), _CHUNKS_A_PAPER)
    db.executemany(
        "INSERT INTO papers (paper_id, path, name, md5, size_bytes, modified_ns, title, added_at, warnings, pages,"
        " first_chunk, chunks) VALUES (?, ?, ?, ?, 1, 1, ?, '2026-01-01T00:00:00+00:00', '[]', 1, ?, ?)",
        (
            (
                start // _CHUNKS_A_PAPER + 1,
                b"/papers/%07d.pdf" % start,
                b"%07d.pdf" % start,
                f"{start:032x}",
                f"Paper {start}",
                start + 1,
                min(_CHUNKS_A_PAPER, first - 1 + len(texts) - start),
            )
            for start in papers
        ),
    )
    db.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, 0, ?, 1, 1, '', 'text', '[[0,1]]', '', 0)",
        (
            (
                first + row,
                (first + row - 1) // _CHUNKS_A_PAPER + 1,
                (first + row - 1) % _CHUNKS_A_PAPER,
                text,
                len(text),
            )
            for row, text in enumerate(texts)
        ),
    )
    db.executemany(
        "INSERT INTO vectors VALUES (?, ?, ?, 0)",
        ((first + row, text_hash(text), vectors[row].tobytes()) for row, text in enumerate(texts)),
    )


if __name__ == "__main__":
    import sys
    from pathlib import Path

    LargeLibrary(int(sys.argv[2])).write(Home(Path(sys.argv[1])))
