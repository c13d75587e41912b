"""Checks of the machine: disk, clock, permissions, and files that killed runs left."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.counts import counted
from ragscience.library.token_vectors import token_files
from ragscience.upkeep.findings import Finding, few, quoted

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.store import Home

__all__ = ["May", "clock", "disk", "disk_room", "leftovers", "permissions"]

May = Callable[[Path, int], bool]
"""As `os.access`."""

LOW_DISK_BYTES = 2**30
NO_DISK_BYTES = 100 * 2**20
CLOCK_SLACK_SECONDS = 300
"""A smaller difference between two clocks is normal."""
AT_WORK_SECONDS = 3600
"""An older temporary file is of no running process."""
_FULL = "Make room before the next ingest: `du -sh papers vectorstore` shows the sizes."


def disk(home: Home) -> Iterator[Finding]:
    """The free space, compared with what the library takes."""
    place = next(folder for folder in (home.root, *home.root.parents) if folder.is_dir())
    used = sum(_size(Path(folder) / name) for folder, _, names in os.walk(home.vectorstore) for name in names)
    yield disk_room(shutil.disk_usage(place).free, used)


def disk_room(free: int, used: int) -> Finding:
    """What `free` bytes mean for a library of `used` bytes; a rebuild needs its size once more."""
    if free < NO_DISK_BYTES:
        return Finding("disk", "error", f"Only {free // 2**20} MiB are left on the disk.", _FULL)
    if free < LOW_DISK_BYTES:
        return Finding("disk", "warning", f"{free // 2**20} MiB are left on the disk.", _FULL)
    left = f"{free / 2**30:.1f} GiB are left on the disk"
    if free < used:
        message = f"{left}, less than the {used / 2**30:.1f} GiB that the library takes."
        return Finding("disk", "warning", message, "Make room before `python ingest.py rebuild`.")
    return Finding("disk", "ok", f"{left}; the library takes {used / 2**20:.0f} MiB.")


def permissions(home: Home, may: May) -> Iterator[Finding]:
    """Whether this user may read and write what the library needs."""
    found = []
    for folder, is_ours in ((home.root, True), (home.vectorstore, True), (home.papers, False)):
        if not folder.exists():
            continue
        if not folder.is_dir():
            remedy = f"Move the file away: `mv {quoted(folder)} {quoted(folder)}.old`."
            found.append(Finding("permissions", "error", f"{folder} is a file, not a folder.", remedy))
        elif not may(folder, os.R_OK | os.X_OK):
            found.append(_forbidden(folder, "read", "u+rx"))
        elif is_ours and not may(folder, os.W_OK):
            found.append(_forbidden(folder, "written", "u+w"))
    for path in (home.database, home.ledger, home.history, home.lock):
        if path.exists() and not may(path, os.R_OK):
            found.append(_forbidden(path, "read", "u+r"))
        elif path.exists() and not may(path, os.W_OK):
            found.append(_forbidden(path, "written", "u+w"))
    yield from found or [Finding("permissions", "ok", "All folders and files can be read and written.")]


def _forbidden(path: Path, what: str, mode: str) -> Finding:
    return Finding(
        "permissions", "error", f"{path} cannot be {what}.", f"`chmod {mode} {quoted(path)}`, as the file's owner."
    )


def clock(papers: Sequence[Paper], now: datetime) -> Iterator[Finding]:
    """Whether this machine's time can be right, given when papers were read and changed."""
    slack = CLOCK_SLACK_SECONDS
    newest = max((datetime.fromisoformat(paper.added_at) for paper in papers), default=None)
    remedy = "Set the clock: `timedatectl set-ntp true`."
    if newest is not None and (newest - now).total_seconds() > slack:
        message = f"The clock says {_minute(now)}, and a paper was added at {_minute(newest)}."
        yield Finding("clock", "warning", message, remedy)
        return
    found = [
        Finding(
            "clock",
            "warning",
            f"{paper.file} is from the future: {_minute(datetime.fromtimestamp(paper.modified_ns / 1e9, UTC))}.",
            f"`touch {quoted(paper.path)}`, then `python ingest.py sync`; or set the clock.",
        )
        for paper in papers
        if paper.modified_ns / 1e9 - now.timestamp() > slack
    ]
    yield from few(found, "papers are from the future")
    if not found:
        yield Finding("clock", "ok", f"The clock says {_minute(now)}.")


def leftovers(home: Home, token_file: str | None, now: datetime) -> Iterator[Finding]:
    """Files that nothing needs: of killed runs, unfinished downloads, and moved token vectors."""
    temporary = [*home.root.glob(f"{home.ledger.name}.*.tmp"), *home.vectorstore.rglob("*.tmp")]
    old = [path for path in temporary if home.parts not in path.parents and _age(path, now) > AT_WORK_SECONDS]
    parts = [path for path in _files(home.parts) if _age(path, now) > AT_WORK_SECONDS]
    tokens = [path for path in token_files(home.tokens) if path.name != token_file]
    resume = f"The same `python ingest.py fetch` resumes them; or `rm -r {quoted(home.parts)}`."
    found = False
    again = "`python ingest.py rebuild --indexes` removes them."
    for one, many, paths, remedy in (
        ("temporary file of killed runs", "temporary files of killed runs", old, f"`rm {' '.join(map(quoted, old))}`."),
        ("unfinished download", "unfinished downloads", parts, resume),
        ("unused file of token vectors", "unused files of token vectors", tokens, again),
    ):
        if paths:
            found = True
            size = sum(_size(path) for path in paths) / 2**20
            take = "takes" if len(paths) == 1 else "take"
            yield Finding("leftovers", "info", f"{counted(len(paths), one, many)} {take} {size:.1f} MiB.", remedy)
    if not found:
        yield Finding("leftovers", "ok", "No leftover files.")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_file()) if folder.is_dir() else []


def _age(path: Path, now: datetime) -> float:
    try:
        return now.timestamp() - path.stat().st_mtime
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _minute(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
