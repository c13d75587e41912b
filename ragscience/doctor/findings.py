"""What a look at something gave, and how many alike are told."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from ragscience.errors import RagScienceError
from ragscience.json_output import Output

__all__ = ["SEVERITIES", "Finding", "Severity", "few", "guarded", "worst"]

Severity = Literal["ok", "info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("ok", "info", "warning", "error")
"""From harmless to grave."""
FEW = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    area: str
    """"disk", "database", "papers", …"""
    severity: Severity
    message: str
    remedy: str = ""
    """What to do about it, with the command; empty where nothing is to be done."""


class DoctorOutput(Output):
    """`doctor`."""

    worst: Severity
    findings: Sequence[Finding]


def worst(findings: Sequence[Finding]) -> Severity:
    """The gravest of their severities; "ok" for none."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default="ok")


def few(findings: Iterable[Finding], what: str) -> Iterator[Finding]:
    """The first ten; of further ones how many there are: "12 more papers …"."""
    each = iter(findings)
    last = None
    for last in islice(each, FEW):  # the last one lends its remedy to the rest
        yield last
    left = sum(1 for _ in each)
    if left and last is not None:
        yield Finding(last.area, last.severity, f"{left} more {what}.", last.remedy)


def guarded(area: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What `look` finds; what keeps it from looking is a finding, too."""
    try:
        yield from look()
    except RagScienceError as problem:
        yield Finding(area, "error", problem.message, problem.fix)
    except (OSError, sqlite3.Error, ValueError, KeyError, TypeError) as error:
        remedy = "Look at the disk and at who may read what; `python ingest.py rebuild` makes everything anew."
        yield Finding(area, "error", f"This could not be looked at: {error}.", remedy)
