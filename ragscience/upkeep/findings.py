"""What a check finds, and how many findings of one kind are listed."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from ragscience.core.errors import RagScienceError
from ragscience.library.ingestion import LOCAL, LocalFiles

__all__ = ["SEVERITIES", "DoctorFinding", "Given", "Severity", "few", "guarded", "quoted", "worst"]

Severity = Literal["ok", "info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From harmless to grave."""
FEW = 10


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of one check."""

    area: str
    """"disk", "database", "papers", …"""
    severity: Severity
    message: str
    remedy: str = ""
    """What to do about it, with the command; empty where nothing is to be done."""


def worst(findings: Sequence[DoctorFinding]) -> Severity:
    """The gravest of their severities; "ok" for none."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default="ok")


def few(findings: Iterable[DoctorFinding], what: str) -> Iterator[DoctorFinding]:
    """The first ten, then the number of the others: "12 more papers …"."""
    each = iter(findings)
    last = None
    for last in islice(each, FEW):
        yield last
    left = sum(1 for _ in each)
    if left and last is not None:
        yield DoctorFinding(last.area, last.severity, f"{left} more {what}.", last.remedy)


def guarded(area: str, check: Callable[..., Iterable[DoctorFinding]], *given: Any) -> Iterator[DoctorFinding]:
    """The findings of `check(*given)`; an error that stops it is a finding, too."""
    try:
        yield from check(*given)
    except RagScienceError as problem:
        yield DoctorFinding(area, "error", problem.message, problem.fix)
    except (OSError, sqlite3.Error, ValueError, KeyError, TypeError) as error:
        remedy = "Check the disk and the permissions; `python ingest.py rebuild` rebuilds everything."
        yield DoctorFinding(area, "error", f"This could not be checked: {error}.", remedy)


def quoted(path: Path | str) -> str:
    """A path as a shell takes it."""
    return shlex.quote(str(path))


@dataclass(frozen=True, slots=True)
class Given:
    """What the checks depend on beside the home."""

    now: datetime
    """With a time zone."""
    may: Callable[[Path, int], bool] = os.access
    where: LocalFiles = LOCAL
    """Where the papers' files are."""
    fast: bool = False
    """The contents of the database are not verified."""
