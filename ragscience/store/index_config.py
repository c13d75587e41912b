"""Which form the dense index takes at which size, and what is told about the one on disk."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DenseIndexInfo", "DenseSizes", "available_memory"]

_MEMORY = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class DenseIndexInfo:
    """The dense index on disk."""

    form: str
    """ "flat" (exact), "ivf-sq8" (inverted lists of 8-bit vectors) or "ivf-pq" (of product-quantized ones)."""
    count: int
    """Vectors in it."""
    recall_at_20: float | None
    """Share of the 20 truly nearest passages that were found when it was trained, 0 to 1; None for an exact one."""
    nlist: int = 0
    """Inverted lists; 0 for an exact index."""
    nprobe: int = 0
    """Lists that a search without a filter reads."""
    trained_on: int = 0
    """Vectors that it had when it was trained and its recall was measured."""


@dataclass(frozen=True, slots=True)
class DenseSizes:
    """The sizes at which the dense index changes its ways; tests pass small ones."""

    straight: int = 4_000
    """Up to so many passages a question goes straight to the database's vectors: sooner done than FAISS is loaded."""
    exact_values: int = 76_800_000
    """Up to so many floats (200,000 vectors of 384) search is exact: 22 ms warm on one core, 300 MB."""
    recall: float = 0.98
    """Searches read lists until this share of the 20 nearest is found: 0.97, and a margin for other questions."""
    questions: int = 200
    """How many questions recall is measured with."""
    sample_per_list: int = 48
    """Vectors a list that k-means is trained on; FAISS wants 39 at least."""
    filter_exactly: int = 2000
    """A filter that leaves no more than this many passages is searched exactly, from the library's own vectors."""
    small: int = 20_000
    """A library up to this size has its index written whenever it changed."""
    tail_share: float = 0.05
    tail_most: int = 20_000
    """A larger one when more than this share, or this many, of its passages have come or gone."""
    memory_bytes: int | None = None
    """What an index may take; None for what the machine has to give at the time."""

    def memory(self) -> int | None:
        """Bytes that may be taken; None where nothing tells."""
        return available_memory() if self.memory_bytes is None else self.memory_bytes

    def form(self, count: int, dimension: int) -> str:
        """The form for so many vectors: exact while that is quick, then lists of bytes, of codes if memory is short."""
        if count * dimension <= self.exact_values:
            return "flat"
        memory = self.memory()
        return "ivf-sq8" if memory is None or count * (dimension + 8) <= memory // 2 else "ivf-pq"

    def may_lag(self, count: int) -> int:
        """How many passages may have come or gone before the index of `count` is written anew."""
        return 0 if count <= self.small else int(min(count * self.tail_share, self.tail_most))


def factory(form: str, count: int, dimension: int) -> str:
    """FAISS's name for an approximate form: about 2 √count lists, a power of two; codes of about 2 bits a float."""
    lists = 2 ** round(math.log2(2 * math.sqrt(count)))
    if form == "ivf-sq8":
        return f"IVF{lists},SQ8"
    parts = next(parts for parts in range(max(dimension // 4, 1), 0, -1) if dimension % parts == 0)
    return f"IVF{lists},PQ{parts}x8"


def available_memory(told_by: Path = _MEMORY) -> int | None:
    """Bytes that this machine could give a process without swapping, else all that it has; None where nothing says."""
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
