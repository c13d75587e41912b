"""Zotero's data folder: where it is, and a copy of its database as it was at one moment. Nothing there is written."""

import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragscience.core.errors import NothingFound, RagScienceError

DATABASE = "zotero.sqlite"
_TRIES, _PAUSE = 40, 0.1
"""How often a database that changes while it is copied is copied again, and the seconds between."""
_BESIDE = ("", "-journal", "-wal")
"""Files of an SQLite database that hold what is committed, by what follows its name."""


def data_folder(given: Path | None = None) -> Path:
    """The folder with Zotero's database: as given, as a profile names it, or `~/Zotero`. Raises NothingFound."""
    folders = [given] if given is not None else [*named_by_profiles("dataDir"), Path.home() / "Zotero"]
    for folder in folders:
        if (folder / DATABASE).is_file():
            return folder
    looked = ", ".join(map(str, folders))
    raise NothingFound(f"There is no {DATABASE} in {looked}.", "Give Zotero's data folder: --data DIR.")


def named_by_profiles(preference: str) -> Iterator[Path]:
    """The folders that Zotero's profiles on this machine name in a preference."""
    home, roaming = Path.home(), os.environ.get("APPDATA", "")
    places = {
        "darwin": home / "Library/Application Support/Zotero/Profiles",
        "win32": Path(roaming) / "Zotero/Zotero/Profiles",
    }
    usual = places.get(sys.platform, home / ".zotero/zotero")
    for profile in sorted(usual.glob("*/prefs.js")):
        with suppress(OSError):
            for line in profile.read_text("utf-8", "replace").splitlines():
                with suppress(ValueError):  # another line, or one that is cut
                    name, value = json.loads(f"[{line.strip().removeprefix('user_pref(').removesuffix(');')}]")
                    if name == f"extensions.zotero.{preference}" and isinstance(value, str) and value:
                        yield Path(value)


@contextmanager
def copied(database: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the database at one moment. SQLite itself would wait for Zotero's lock, and write beside it."""
    with tempfile.TemporaryDirectory(prefix="ragscience-") as folder:
        copy = Path(folder) / DATABASE
        for _ in range(_TRIES):
            before = _state(database)
            with _readable(database):
                for suffix in _BESIDE:
                    Path(f"{copy}{suffix}").unlink(missing_ok=True)
                    with suppress(FileNotFoundError):
                        shutil.copyfile(f"{database}{suffix}", f"{copy}{suffix}")
            if _state(database) == before:
                break
            time.sleep(_PAUSE)
        else:
            raise RagScienceError(f"{database} changes while it is read.", "Run the command again in a moment.")
        db = sqlite3.connect(copy)
        try:
            with _readable(database):
                (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
                if found != "ok":
                    raise sqlite3.DatabaseError(found)
                yield db
        finally:
            db.close()


def _state(database: Path) -> list[object]:
    """What tells that a database was written: size and time of its files, and SQLite's own count in its header."""
    found: list[object] = []
    for suffix in _BESIDE:
        try:
            stat = Path(f"{database}{suffix}").stat()
            found.append((stat.st_size, stat.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    with _readable(database), database.open("rb") as file:
        return [*found, file.read(100)]


@contextmanager
def _readable(database: Path) -> Iterator[None]:
    """SQLite's errors and the disk's as one line. Raises RagScienceError."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"damaged, or only half copied ({error})"
        raise RagScienceError(
            f"Zotero's database cannot be read: {reason}.", f"Check {database}, or give another folder: --data DIR."
        ) from error
