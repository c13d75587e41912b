"""A library in LanceDB that is damaged as a whole: how that is told, which papers it had, and how it begins anew."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from ragscience.core.errors import DiskProblem, LibraryDamaged, LibraryUnavailable, RagScienceError
from ragscience.library.changes import Change
from ragscience.library.damaged_database import DamagedDatabase
from ragscience.library.home import Home
from ragscience.library.lance_library import LanceLibrary
from ragscience.library.lance_tables import ROLES
from ragscience.library.lance_verification import verify
from ragscience.library.transactions import listed_files

__all__ = ["begin_anew_if_damaged"]


def begin_anew_if_damaged(home: Home, uri: str) -> tuple[DamagedDatabase, str] | None:
    """Where papers are lost or tables cannot be read, begin with empty ones; None for a library without such damage.

    Gives the damage, and where what is left was moved: a folder whose own description is damaged. Otherwise the old
    tables stay for an hour, for those who read them, and what was removed is remembered. Raises LibraryBusy,
    LibraryUnavailable for a newer format and where a server does not answer or refuses, DiskProblem where the disk
    fails, RagScienceError where a place in object storage lacks its description.
    """
    known: list[str] = []
    # What is not found a second time was the disk's failure to read.
    why = _damage_of(home, uri, known) and _damage_of(home, uri, known)
    if why is None:
        return None
    damage = DamagedDatabase(why.message, tuple(Path(path) for path in dict.fromkeys((*listed_files(home), *known))))
    try:
        with LanceLibrary.open(home, uri, writing=True, keeps_ledger=False) as library, library._writing() as change:
            _begin_anew(change)
    except (LibraryUnavailable, DiskProblem):
        raise
    except RagScienceError:
        folder = Path(uri.removeprefix("lance://"))
        if not uri.startswith("lance://"):
            raise
        number = 1
        while (target := folder.with_name(f"{folder.name}.damaged-{number}")).exists():
            number += 1
        folder.rename(target)
        return damage, target.name
    return damage, ""


def _damage_of(home: Home, uri: str, known: list[str]) -> RagScienceError | None:
    """What is wrong with the library as a whole, after all of it was read; the papers' paths go to `known`."""
    try:
        with LanceLibrary.open(home, uri) as library, library._reading() as at:
            if at is None:
                return None
            known += [paper.path for paper in library.papers()]
            verify(at)
            is_lost = any(kind == "paper" for kind, _ in at.damaged)
            return LibraryDamaged("The entry of a paper is damaged in the library.") if is_lost else None
    except (LibraryUnavailable, DiskProblem):
        raise
    except RagScienceError as error:
        return error


def _begin_anew(change: Change) -> None:
    """Take an empty table for each that there is; what belongs to no paper is kept in the state."""
    state = change.state
    for role in (*ROLES, *(["vectors"] if "vectors" in state.tables else [])):
        change.new_table(role, f"{role}_{uuid4().hex}", state.dimension)
    change.note(papers=0, chunks=0, token_bytes=0, aside={})
    change.bump("generation", "vectors_epoch", "graph_generation")
    change.forget_papers()
