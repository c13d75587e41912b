"""What goes wrong: in a process, on the disk, with the clock, and in files between two processes."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOM_BYTES = 512 << 20
"""Of the disk of the campaign, while it is not full."""
_OPEN, _READ, _WRITE, _SYNC, _CHANGE = 1, 2, 4, 8, 16
_DAY_S = 86_400
OF_CALLS = ("kill", "torn", "eio", "eio-stays", "enospc", "clock")
"""Faults that need failing_files.c."""
OF_MOUNTS = ("full-disk", "read-only")
"""Faults that need a disk of their own."""
ANYWHERE = ("kill-by-time", "small-files")


@dataclass(frozen=True)
class Fault:
    """What goes wrong while one command runs."""

    kind: str = "none"
    environment: dict[str, str] = field(default_factory=dict)
    kill_after: float | None = None
    file_bytes: int | None = None
    free_bytes: int | None = None

    @property
    def may_fail(self) -> bool:
        """Whether the command may end otherwise than it would."""
        return self.kind not in ("none", "clock")

    def __str__(self) -> str:
        more = [f"{name.removeprefix('SOAK_').lower()}={value}" for name, value in self.environment.items()]
        more += [f"after {self.kill_after:.3f} s"] if self.kill_after is not None else []
        more += [f"{self.file_bytes or self.free_bytes} bytes"] if self.file_bytes or self.free_bytes else []
        return " ".join([self.kind, *(one for one in more if not one.startswith("under"))])


def make_fault(kind: str, dice: random.Random, home: Path) -> Fault:
    """A fault of that kind for a command of `home`."""
    at = str(int(2 ** dice.uniform(0, 9)))
    here = {"SOAK_UNDER": str(home), "SOAK_AT": at}
    if kind in ("kill", "torn"):
        calls = _WRITE | _SYNC | _CHANGE if kind == "kill" else _WRITE
        return Fault(kind, {**here, "SOAK_CALLS": str(calls), "SOAK_HOW": kind})
    if kind in ("eio", "eio-stays"):
        calls = dice.choice([_READ, _WRITE, _SYNC, _WRITE | _SYNC | _CHANGE, _OPEN, _OPEN | _READ])
        stays = {"SOAK_STAYS": "1"} if kind == "eio-stays" else {}
        return Fault(kind, {**here, "SOAK_CALLS": str(calls), "SOAK_HOW": str(errno.EIO), **stays})
    if kind == "enospc":
        return Fault(
            kind, {**here, "SOAK_CALLS": str(_WRITE | _SYNC), "SOAK_HOW": str(errno.ENOSPC), "SOAK_STAYS": "1"}
        )
    if kind == "clock":
        shift = dice.choice([-1, 1]) * dice.choice([_DAY_S // 24, _DAY_S, 400 * _DAY_S, 20_000 * _DAY_S])
        return Fault(kind, {"SOAK_CLOCK": str(shift), "SOAK_CLOCK_AT": str(int(2 ** dice.uniform(0, 8)) - 1)})
    if kind == "kill-by-time":
        return Fault(kind, kill_after=dice.uniform(0, 0.5) ** 1.5)
    if kind == "small-files":
        return Fault(kind, file_bytes=int(2 ** dice.uniform(10, 19)))
    if kind == "full-disk":
        return Fault(kind, free_bytes=int(2 ** dice.uniform(10, 19)))
    return Fault(kind)


@contextmanager
def disk_fault(fault: Fault, disk: Path) -> Iterator[None]:
    """The disk is full, but for some bytes, or cannot be written, for as long as this lasts."""
    if fault.free_bytes is not None:
        disk_of = os.statvfs(disk)
        used = (disk_of.f_blocks - disk_of.f_bfree) * disk_of.f_frsize
        _mount(disk, f"remount,size={used + fault.free_bytes}")
    elif fault.kind == "read-only":
        _mount(disk, "remount,ro")
    try:
        yield
    finally:
        if fault.free_bytes is not None:
            _mount(disk, f"remount,size={ROOM_BYTES}")
        elif fault.kind == "read-only":
            _mount(disk, "remount,rw")


def _mount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", how, str(disk)], check=True)


def mount_disk(disk: Path) -> bool:
    """A small disk in memory at that folder, in this process's own mount namespace; whether that is permitted."""
    disk.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES}", "soak", str(disk)], capture_output=True
        )
        return done.returncode == 0
    return False


# Files between two processes

TRUTH = {"database", "log", "lance"}
"""The kinds of files that are the library itself."""
OWN_TRUTH = "history.sqlite"


def kind_of(path: Path, home: Path) -> str:
    """ "database", "log" (its write-ahead log), "lance", "answers", or "cache"."""
    name = path.name
    if path.is_relative_to(home / "lance"):
        return "lance"
    if name == "library.sqlite":
        return "database"
    if name.startswith("library.sqlite-"):
        return "log"
    if name.startswith(OWN_TRUTH):
        return "answers"
    return "cache"


def files_of(home: Path) -> list[Path]:
    """All files of a home but the papers and locks, in a fixed order."""
    folders = (home / "vectorstore", home / "lance")
    found = [path for one in folders for path in one.rglob("*") if path.is_file() and ".lock" not in path.name]
    return sorted([*found, *home.glob("ingested.json")])


def damage(path: Path, dice: random.Random) -> str:
    """Damage a file at rest, and say how; its times stay, as they do where a disk fails."""
    stat = path.stat()
    how = dice.choice(["flip", "flip", "flip", "truncate", "zero", "empty", "delete", "noise"])
    content = bytearray(path.read_bytes())
    if not content and how != "delete":
        how = "noise"
    if how == "delete":
        path.unlink()
        return f"{path.name} deleted"
    place = dice.randrange(len(content) or 1)
    if how == "flip":
        content[place] ^= 1 << dice.randrange(8)
    elif how == "truncate":
        place = dice.choice([place, place // 4096 * 4096])
        del content[place:]
    elif how == "empty":
        content.clear()
    elif how == "zero":
        place = place // 4096 * 4096
        content[place : place + 4096] = bytes(min(4096, len(content) - place))
    else:
        content[place : place + 64] = dice.randbytes(64)
    # In place: the file keeps its number, as one of a failing disk does.
    with path.open("r+b") as file:
        file.write(content)
        file.truncate(len(content))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return f"{path.name} {how}@{place}"


def copy_home(home: Path, target: Path) -> None:
    """All of a home in another place."""
    shutil.copytree(home, target, symlinks=True)
