"""The form of the dense index at each library size, and the record of the one on disk."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DenseIndexInfo", "DenseSizes", "available_memory", "code_parts", "factory"]

_MEMORY = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class DenseIndexInfo:
    """The dense index on disk."""

    form: str
    """ "flat" (exact), "ivf-sq8" (inverted lists of 8-bit vectors) or "ivf-pq" (of product-quantized ones)."""
    count: int
    """Number of vectors."""
    recall_at_20: float | None
    """Recall at 20 measured at training, 0 to 1; None for an exact index."""
    nlist: int = 0
    """Inverted lists; 0 for an exact index."""
    nprobe: int = 0
    """Lists that a search without a filter probes."""
    trained_on: int = 0
    """Number of vectors when it was trained and its recall was measured."""


@dataclass(frozen=True, slots=True)
class DenseSizes:
    """The sizes at which the dense index changes its form; tests use small ones."""

    exact_values: int = 76_800_000
    """Up to this many floats (200,000 vectors of 384) search is exact: 22 ms warm on one core, 300 MB."""
    recall: float = 0.98
    """Searches probe lists until recall at 20 reaches this: 0.97, plus a margin for other questions."""
    questions: int = 200
    """Number of questions for measuring recall."""
    sample_per_list: int = 48
    """Vectors per list for k-means training; FAISS requires at least 39."""
    filter_exactly: int = 2000
    """A filter that leaves at most this many passages is searched exactly, from the library's own vectors."""
    small: int = 20_000
    """Up to this size the index is written after every change."""
    tail_share: float = 0.05
    tail_most: int = 20_000
    """A larger one is written if more than this share, or this many, of its passages were added or removed."""
    memory_bytes: int | None = None
    """Memory limit of an index in bytes; None for what is available at the time."""

    def memory(self) -> int | None:
        """The memory limit in bytes; None if unknown."""
        return available_memory() if self.memory_bytes is None else self.memory_bytes

    def form(self, count: int, dimension: int) -> str:
        """The form for this many vectors: exact while fast, then 8-bit lists, or PQ codes if memory is short."""
        if count * dimension <= self.exact_values:
            return "flat"
        memory = self.memory()
        return "ivf-sq8" if memory is None or count * (dimension + 8) <= memory // 2 else "ivf-pq"

    def may_lag(self, count: int) -> int:
        """How many passages may be added or removed before the index of `count` is rebuilt."""
        return 0 if count <= self.small else int(min(count * self.tail_share, self.tail_most))


def factory(form: str, count: int, dimension: int) -> str:
    """FAISS's factory string of an approximate form: about 2 √count lists, a power of two; about 2 bits per float."""
    lists = 2 ** round(math.log2(2 * math.sqrt(count)))
    if form == "ivf-sq8":
        return f"IVF{lists},SQ8"
    return f"IVF{lists},PQ{code_parts(dimension)}x8"


def code_parts(dimension: int) -> int:
    """Into how many parts a vector is cut for product codes: of about four values each, and all of the same length."""
    return next(parts for parts in range(max(dimension // 4, 1), 0, -1) if dimension % parts == 0)


def available_memory(told_by: Path = _MEMORY) -> int | None:
    """Bytes available to a process without swapping, else the total memory; None if unknown."""
    try:
        for line in told_by.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
