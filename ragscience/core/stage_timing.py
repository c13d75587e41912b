"""How long the stages of a search or an answer take: each is timed once, here, for all that tells of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ragscience.core.records import Stage

__all__ = ["Timings", "timed"]


class Timings(dict[str, float]):
    """Milliseconds by name ("dense_ms"), a stage that ran twice summed up; `stages` tells when each run began."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: list[Stage] = []
        """In the order in which they ended."""

    def add(self, name: str, ms: float, started: float) -> None:
        """Take in a stage that took `ms` and began at `started`, in seconds since 1970."""
        self[name] = round(self.get(name, 0.0) + ms, 3)
        self.stages.append(Stage(name.removesuffix("_ms"), started, ms))


@contextmanager
def timed(timings: Timings, name: str) -> Iterator[None]:
    """Note under `name` how many milliseconds the block took, also where it raises."""
    began, started = time.time(), time.perf_counter()
    try:
        yield
    finally:
        timings.add(name, round((time.perf_counter() - started) * 1000, 3), began)
