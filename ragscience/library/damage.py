"""The damage of a library that this process has seen: rows that are not what was written, and what repairs them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from threading import Lock
from typing import Literal

from ragscience.library.sealed_rows import READ_ALL_AGAIN

__all__ = ["REBUILD_INDEXES", "Damage", "Kind", "described", "rebuilds"]

Kind = Literal["list", "paper", "token", "graph", "source", "note"]
"""A row of the list of papers; a paper with its passages and vectors; token vectors; a row of the graph; what the
source of a file says; which files are left out."""

REBUILD_INDEXES = "`python ingest.py rebuild --indexes` rebuilds it."
_REBUILD_TOKENS = "`python ingest.py rebuild --tokens` makes them again."


class Damage:
    """What was seen; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: dict[Kind, set[int]] = {}

    def note(self, kind: Kind, key: int = 0) -> None:
        """Keep that something is damaged: a paper, or the token vectors of a passage."""
        with self._lock:
            self._seen.setdefault(kind, set()).add(key)

    def forget(self, *kinds: Kind) -> None:
        """It was written again."""
        with self._lock:
            for kind in kinds:
                self._seen.pop(kind, None)

    def seen(self, kind: Kind) -> frozenset[int]:
        """The keys of what is damaged."""
        with self._lock:
            return frozenset(self._seen.get(kind, ()))

    @property
    def loses_passages(self) -> bool:
        """Whether passages are left out that the library has."""
        return bool(self.seen("list") or self.seen("paper"))

    @property
    def is_none(self) -> bool:
        """Whether nothing was seen at all."""
        return not self._seen


def described(damage: Damage, names: Mapping[int, str]) -> list[tuple[str, str]]:
    """(what is damaged, the command that repairs it); `names` are the papers' file names by id."""
    found = [
        (f"{names[one]} is damaged in the library, and what is damaged is left out.", rebuilds(names[one]))
        for one in sorted(damage.seen("paper") & names.keys())
    ]
    if lost := len(damage.seen("list")):
        what = "1 paper is" if lost == 1 else f"{lost} papers are"
        found.append((f"{what} damaged in the library's list of papers, and left out.", READ_ALL_AGAIN))
    if damage.seen("source"):
        found.append(
            ("Some fetched metadata are damaged and left out.", "`python ingest.py fetch` fetches them again.")
        )
    if lost := len(damage.seen("token")):
        what = "1 passage" if lost == 1 else f"{lost} passages"
        text = f"The token vectors of {what} are lost or damaged: searches take longer and rank worse."
        found.append((text, _REBUILD_TOKENS))
    if damage.seen("note"):
        text = "Some notes of files that are left out are damaged: such a file may be read again."
        found.append((text, "`python ingest.py remove PAPER` leaves it out again."))
    if damage.seen("graph"):
        text = "The knowledge graph is damaged in part, and that is left out."
        found.append((text, "`python ingest.py graph --again` reads it again."))
    return found


def rebuilds(file: str) -> str:
    """What repairs a paper, by its name."""
    return f"`python ingest.py rebuild {shlex.quote(file)}` reads it again."
