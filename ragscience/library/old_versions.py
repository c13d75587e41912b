"""When the versions of a table in LanceDB were made; those that a disk damaged are forgotten.

Upkeep reads the description of each version, of those that nobody needs any more, too, and ends at the first one that
is damaged.
"""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import Any

from ragscience.core.errors import DiskProblem, LibraryUnavailable, RagScienceError
from ragscience.library.lance_tables import lance_errors

__all__ = ["versions_of"]

_LAST = 2**64 - 1
"""Less the number of a version, it is the name of its description, so that the newest one is listed first."""


def versions_of(uri: str, table: Any) -> dict[int, float]:
    """When each version of a table was made, in seconds since 1970.

    Older versions on a disk whose descriptions cannot be understood, and which nobody can open therefore, are deleted.
    """
    try:
        with lance_errors(uri):
            return _listed(table)
    except (LibraryUnavailable, DiskProblem):
        raise
    except RagScienceError:
        if not uri.startswith("lance://"):
            raise
        _forget_damaged(uri, table)
        return _listed(table)


def _listed(table: Any) -> dict[int, float]:
    return {one["version"]: one["timestamp"].timestamp() for one in table.list_versions()}


def _forget_damaged(uri: str, table: Any) -> None:
    """Raises OSError, DiskProblem where the disk does not give a description at all: it may be whole."""
    folder = Path(uri.removeprefix("lance://")) / f"{table.name}.lance" / "_versions"
    newest = table.version
    for path in sorted(folder.glob("*.manifest")):
        if not path.stem.isdecimal() or (version := _LAST - int(path.stem)) >= newest:
            continue
        content = path.read_bytes()
        try:
            with lance_errors(uri):
                table.checkout(version)  # which may not look at the length
            is_damaged = not _is_as_long_as_it_says(content)
        except (LibraryUnavailable, DiskProblem):
            raise
        except RagScienceError:
            is_damaged = True
        if is_damaged:
            with contextlib.suppress(FileNotFoundError):  # of a writer that tidied meanwhile
                path.unlink()
    table.checkout_latest()


def _is_as_long_as_it_says(description: bytes) -> bool:
    """Whether the last message of a description ends where the file's last 16 bytes begin.

    These are the message's place (8 bytes), the format's version and "LANC"; the message begins with its length in 4
    (lance-table, src/io/manifest.rs).
    """
    end = len(description) - 16
    if end < 0:
        return False
    (start,) = struct.unpack_from("<Q", description, end)
    return start + 4 <= end and struct.unpack_from("<I", description, start) == (end - start - 4,)
