"""When the versions of a table in LanceDB were made; those that a disk damaged are forgotten.

Upkeep reads the description of each version, of those that nobody needs any more, too, and ends at the first one that
is damaged.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

__all__ = ["versions_of"]

_LAST = 2**64 - 1
"""Less the number of a version, it is the name of its description, so that the newest one is listed first."""
_LANCE_ERRORS = (RuntimeError, OSError, ValueError)


def versions_of(uri: str, table: Any) -> dict[int, float]:
    """When each version of a table was made, in seconds since 1970.

    Older versions on a disk whose descriptions cannot be understood, and which nobody can open therefore, are deleted.
    """
    try:
        return _listed(table)
    except _LANCE_ERRORS:
        if not uri.startswith("lance://"):
            raise
        _forget_damaged(Path(uri.removeprefix("lance://")) / f"{table.name}.lance" / "_versions", table)
        return _listed(table)


def _listed(table: Any) -> dict[int, float]:
    return {one["version"]: one["timestamp"].timestamp() for one in table.list_versions()}


def _forget_damaged(folder: Path, table: Any) -> None:
    """Raises OSError where the disk does not give a description at all: it may be whole."""
    newest = table.version
    for path in sorted(folder.glob("*.manifest")):
        if not path.stem.isdecimal() or (version := _LAST - int(path.stem)) >= newest:
            continue
        path.read_bytes()
        try:
            table.checkout(version)
        except _LANCE_ERRORS:
            with contextlib.suppress(FileNotFoundError):  # of a writer that tidied meanwhile
                path.unlink()
    table.checkout_latest()
