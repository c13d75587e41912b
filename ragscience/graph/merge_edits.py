"""What was merged into one entity, taken apart by a person, and put together again."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.errors import NothingFound
from ragscience.graph.entity_names import folded
from ragscience.graph.graph_cache import load_graph

if TYPE_CHECKING:
    from ragscience.store import Library

__all__ = ["Merge", "list_merges", "merge_again", "names_apart", "undo_merge"]

NEAREST = 3
"""How many names are offered for one that is not there."""


@dataclass(frozen=True, slots=True)
class Merge:
    """An entity that more than one name stands for, case and blanks aside."""

    label: str
    entity_type: str
    names: tuple[str, ...]
    """All of them as they stand in the papers, sorted."""


def list_merges(library: Library) -> list[Merge]:
    """All entities that have more than one name, by label and type."""
    found = [
        Merge(entity.label, entity.entity_type, entity.names)
        for entity in load_graph(library).entities()
        if len({folded(name) for name in entity.names}) > 1
    ]
    return sorted(found, key=lambda merge: (folded(merge.label), merge.label, merge.entity_type))


def names_apart(library: Library) -> list[str]:
    """The names that were taken out of their merges, folded, sorted."""
    return sorted(library.graph.apart())


def undo_merge(library: Library, name: str) -> str:
    """Make this name an entity of its own, in each type that it occurs in; the name as it is compared.

    Doing it twice is harmless. Raises NothingFound where no merged entity has the name.
    """
    wanted = folded(name)
    if wanted not in library.graph.apart():
        known = {folded(each) for merge in list_merges(library) for each in merge.names}
        _require(wanted, known, f"No merged entity has the name {name!r}.", "--merges` lists what was merged.")
        library.graph.set_apart([wanted])
    return wanted


def merge_again(library: Library, name: str) -> str:
    """Let a name that was set apart be merged as before; the name as it is compared.

    Raises NothingFound for a name that was not set apart.
    """
    wanted = folded(name)
    _require(wanted, library.graph.apart(), f"{name!r} was not taken out of a merge.", "--merges` lists the merges.")
    library.graph.set_apart([wanted], merge_again=True)
    return wanted


def _require(wanted: str, known: Iterable[str], message: str, fix: str) -> None:
    names = sorted(known)
    if wanted in names:
        return
    near = difflib.get_close_matches(wanted, names, NEAREST, 0.5)
    offered = f" Near to it: {', '.join(near)}." if near else ""
    raise NothingFound(f"{message}{offered}", f"`python ingest.py graph {fix}")
