"""The form of the dense index at each library size, and the record of the one on disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_MEMORY = Path("/proc/meminfo")


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
    most_in_memory: int = 307_200_000
    """Floats that the index on disk may lack, 1.2 GB: with more a search does not begin."""
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
