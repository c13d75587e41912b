"""Checks of the machine: disk, clock, permissions, and files that killed runs left."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.tokenizing import counted
from ragscience.upkeep.findings import DoctorFinding, few, quoted

if TYPE_CHECKING:
    from ragscience.library.store import Home, Store
    from ragscience.upkeep.findings import Given

__all__ = ["clock", "disk", "disk_room", "leftovers", "permissions"]

LOW_DISK_BYTES = 2**30
NO_DISK_BYTES = 100 * 2**20
CLOCK_SLACK_SECONDS = 300
"""A smaller difference between two clocks is normal."""
AT_WORK_SECONDS = 3600
"""An older temporary file is of no running process."""
_FULL = "Make room before the next ingest: `du -sh papers vectorstore` shows the sizes."


def disk(home: Home) -> Iterator[DoctorFinding]:
    """The free space, compared with what the library takes."""
    place = next(folder for folder in (home.root, *home.root.parents) if folder.is_dir())
    used = _size(*(path for path in home.vectorstore.rglob("*") if path.is_file())) if home.vectorstore.is_dir() else 0
    yield disk_room(shutil.disk_usage(place).free, used)


def disk_room(free: int, used: int) -> DoctorFinding:
    """What `free` bytes mean for a library of `used` bytes; a rebuild needs its size once more."""
    if free < NO_DISK_BYTES:
        return DoctorFinding("disk", "error", f"Only {free // 2**20} MiB are left on the disk.", _FULL)
    if free < LOW_DISK_BYTES:
        return DoctorFinding("disk", "warning", f"{free // 2**20} MiB are left on the disk.", _FULL)
    left = f"{free / 2**30:.1f} GiB are left on the disk"
    if free < used:
        message = f"{left}, less than the {used / 2**30:.1f} GiB that the library takes."
        return DoctorFinding("disk", "warning", message, "Make room before `python ingest.py rebuild`.")
    return DoctorFinding("disk", "ok", f"{left}; the library takes {used / 2**20:.0f} MiB.")


def permissions(home: Home, given: Given) -> Iterator[DoctorFinding]:
    """Whether this user may read and write what the library needs."""
    found = []
    folders, files = (home.root, home.vectorstore, home.papers), (home.database, home.ledger, home.history, home.lock)
    for path in filter(Path.exists, (*folders, *files)):
        enter, mode = (os.X_OK, "rx") if path in folders else (0, "r")
        if path in folders and not path.is_dir():
            what, remedy = "is a file, not a folder", f"Move the file away: `mv {quoted(path)} {quoted(path)}.old`."
        elif not given.may(path, os.R_OK | enter):
            what, remedy = "cannot be read", f"`chmod u+{mode} {quoted(path)}`, as the file's owner."
        elif path != home.papers and not given.may(path, os.W_OK):
            what, remedy = "cannot be written", f"`chmod u+w {quoted(path)}`, as the file's owner."
        else:
            continue
        found.append(DoctorFinding("permissions", "error", f"{path} {what}.", remedy))
    yield from found or [DoctorFinding("permissions", "ok", "All folders and files can be read and written.")]


def clock(library: Store, given: Given) -> Iterator[DoctorFinding]:
    """Whether this machine's time can be right, given when papers were read and changed."""
    papers, now = library.papers(), given.now
    newest = max(datetime.fromisoformat(paper.added_at) for paper in papers)
    if (newest - now).total_seconds() > CLOCK_SLACK_SECONDS:
        message = f"The clock says {_minute(now)}, and a paper was added at {_minute(newest)}."
        yield DoctorFinding("clock", "warning", message, "Set the clock: `timedatectl set-ntp true`.")
        return
    found = [
        DoctorFinding(
            "clock",
            "warning",
            f"{paper.file} is from the future: {_minute(datetime.fromtimestamp(paper.modified_ns / 1e9, UTC))}.",
            f"`touch {quoted(paper.path)}`, then `python ingest.py sync`; or set the clock.",
        )
        for paper in papers
        if paper.modified_ns / 1e9 - now.timestamp() > CLOCK_SLACK_SECONDS
    ]
    yield from few(found, "papers are from the future")
    if not found:
        yield DoctorFinding("clock", "ok", f"The clock says {_minute(now)}.")


def leftovers(home: Home, given: Given) -> Iterator[DoctorFinding]:
    """Files that nothing needs: of killed runs, unfinished downloads, and moved token vectors."""

    def is_old(path: Path) -> bool:
        return path.is_file() and given.now.timestamp() - path.stat().st_mtime > AT_WORK_SECONDS

    temporary = [*home.root.glob(f"{home.ledger.name}.*.tmp"), *home.vectorstore.rglob("*.tmp")]
    old = [path for path in temporary if home.parts not in path.parents and is_old(path)]
    parts = sorted(path for path in home.parts.glob("*") if is_old(path))
    found = []
    for what, paths in (
        ("temporary file# of killed runs", old),
        ("unfinished download#", parts),
        ("old file# of token vectors", [*home.tokens.glob("*")]),
    ):
        if paths:
            takes = "takes" if len(paths) == 1 else "take"
            many = counted(len(paths), what.replace("#", ""), what.replace("#", "s"))
            message = f"{many} {takes} {_size(*paths) / 2**20:.1f} MiB."
            found.append(DoctorFinding("leftovers", "info", message, f"`rm {' '.join(map(quoted, sorted(paths)))}`."))
    yield from found or [DoctorFinding("leftovers", "ok", "No leftover files.")]


def _size(*paths: Path) -> int:
    return sum(path.stat().st_size for path in paths if path.exists())


def _minute(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
