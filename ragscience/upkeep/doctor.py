"""Finds problems of a library and their fixes: a list of checks, each a small function. Writes and repairs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from ragscience.core.tokenizing import counted
from ragscience.upkeep.findings import DoctorFinding, Given, guarded, worst

if TYPE_CHECKING:
    from ragscience.library.store import Home, Store

__all__ = ["OnCheck", "examine"]

OnCheck = Callable[[str, int, int], None]
"""Called before each check with its name, its number from 1, and how many checks there are."""


def examine(
    home: Home,
    given: Given,
    open_library: Callable[[], Store] | None = None,
    *,
    on_check: OnCheck | None = None,
) -> Iterator[DoctorFinding]:
    """Check the disk, the databases, the papers' files and the caches.

    `open_library` opens a library that is not in the home. A check that cannot be made is a finding; nothing about the
    state of the library raises.
    """
    from ragscience.library.store import Library
    from ragscience.upkeep import library_checks as library
    from ragscience.upkeep import machine_checks as machine
    from ragscience.upkeep import paper_checks as papers

    opened = open_library or partial(Library.open, home)
    of_home: list[tuple[str, str, Callable[[], Iterable[DoctorFinding]]]] = [
        ("disk", "disk", lambda: machine.disk(home)),
        ("permissions", "permissions", lambda: machine.permissions(home, given)),
        ("database", "database", lambda: library.database(home, given, opened, is_here=open_library is None)),
    ]
    of_library: list[tuple[str, str, Callable[[Store], Iterable[DoctorFinding]]]] = [
        ("leftovers", "leftovers", lambda _: machine.leftovers(home, given)),
        ("contents", "contents", library.contents),
        ("clock", "clock", lambda store: machine.clock(store, given)),
        ("files", "papers", lambda store: papers.files(home, store, given)),
        ("notes", "papers", papers.notes),
        ("new files", "papers", lambda store: papers.new_files(home, store, given)),
        ("duplicates", "duplicates", papers.versions),
        ("ledger", "ledger", lambda store: library.ledger(home, store)),
        ("indexes", "indexes", library.indexes),
    ]
    names = [*(name for name, *_ in of_home), *(name for name, *_ in of_library), "conversations"]

    def begin(name: str) -> None:
        if on_check is not None:
            on_check(name, names.index(name) + 1, len(names))

    def look_inside() -> Iterator[DoctorFinding]:
        with opened() as store:
            is_empty = not store.about.papers
            held = counted(store.about.papers, "paper"), counted(store.about.chunks, "passage")
            for name, area, check in of_library:
                if (given.fast and name == "contents") or (is_empty and name not in ("leftovers", "contents")):
                    continue
                begin(name)
                found = guarded(area, check, store)
                yield from (one for one in found if not (is_empty and name == "contents" and one.severity == "ok"))
                if name == "leftovers" and not is_empty:
                    yield DoctorFinding("papers", "ok", f"{', '.join(held)}.")
                elif name == "leftovers":
                    put = "Put PDFs into papers/ and run `python ingest.py`."
                    yield DoctorFinding("papers", "warning", "The library is empty.", put)

    found: list[DoctorFinding] = []
    for name, area, check in of_home:
        begin(name)
        found += guarded(area, check)
    yield from found
    if worst([one for one in found if one.area == "database"]) != "error":
        yield from guarded("papers", look_inside)
    begin("conversations")
    yield from guarded("database", library.other_databases, home)
