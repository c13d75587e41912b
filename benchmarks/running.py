"""Processes and functions, timed by turns."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.report import REPOSITORY

T = TypeVar("T")

__all__ = ["Options", "Run", "by_turns", "clock", "door", "medians", "module", "run_process"]


@dataclass(frozen=True)
class Run:
    """One process from start to end."""

    seconds: float
    peak_mb: float
    stdout: str
    stderr: str
    cpu_seconds: float = 0.0
    """Processor time of the process and of those that it waited for."""


def run_process(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Run:
    """Run the command in the repository's folder; raises RuntimeError with its last words where it fails.

    Nothing leaves the machine. The peak is the resident memory, in megabytes, that the kernel accounts to the process
    itself (wait4).
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            cwd=REPOSITORY,
            env={**os.environ, "RAG_OFFLINE": "true", **(environment or {})},
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        stdout, stderr = out.read(), err.read()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:6])} ended with {process.returncode}: {stderr[-2000:]}")
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return Run(seconds, usage.ru_maxrss / scale, stdout, stderr, usage.ru_utime + usage.ru_stime)


def door(name: str, home: Path, *arguments: str) -> list[str]:
    """The command for `ingest.py` or `query.py` over a home of its own."""
    return [sys.executable, str(REPOSITORY / f"{name}.py"), *arguments, "--home", str(home)]


def module(name: str, *arguments: str) -> list[str]:
    """The command for one of this package's modules."""
    return [sys.executable, "-m", f"benchmarks.{name}", *arguments]


def by_turns(sides: Mapping[str, Callable[[], T]], rounds: int, *, warm: bool = True) -> dict[str, list[T]]:
    """Each side's results when they run A B C, B C A, C A B, …, `rounds` times each.

    So none is always the one that follows another. `warm` runs each once before, uncounted.
    """
    results: dict[str, list[T]] = {name: [] for name in sides}
    order = list(sides)
    for turn in range(0 if warm else 1, rounds + 1):
        for name in order:
            result = sides[name]()
            if turn:
                results[name].append(result)
        order = [*order[1:], order[0]]
    return results


def medians(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each."""
    return {name: statistics.median(each) for name, each in values.items()}


def clock(call: Callable[[], object]) -> Callable[[], float]:
    """A function that calls `call` once and gives the seconds that it took."""

    def timed() -> float:
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    return timed


@dataclass(frozen=True)
class Options:
    """What was asked of the runner."""

    rounds: int
    """How often each side runs, after one run that does not count."""
    full: bool
    """With the sizes that take long: a million chunks."""
    answers: Path | None = None
    """Where answers of a language model are kept between runs; None: in the cache."""
    ways: tuple[str, ...] = ()
    """Of answering; empty: all."""
    minutes: float = 0
    """After which no new answer begins; 0: no limit."""
