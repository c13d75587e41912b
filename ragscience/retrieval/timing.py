"""How long the stages of a search take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["timed"]


@contextmanager
def timed(timings: dict[str, float], name: str) -> Iterator[None]:
    """Note under `name` how many milliseconds the block took, also where it raises."""
    started = time.perf_counter()
    try:
        yield
    finally:
        timings[name] = round((time.perf_counter() - started) * 1000, 3)
