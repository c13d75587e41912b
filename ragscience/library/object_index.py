"""The objects of a bucket as they were last listed, with the MD5s that are known: vectorstore/objects.json.

It is a cache: where it is lost, objects whose ETag is not their MD5 are downloaded once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, replace

from ragscience.library.atomic_files import disk_errors, read_checked_json, write_checked_json
from ragscience.library.bucket import StoredObject
from ragscience.library.store import Home

__all__ = ["ObjectIndex", "last_address"]

_SAVED_EVERY = 50, 0.05
"""MD5s that a killed run loses at most: so many, or this part of all, whichever is more."""


class ObjectIndex:
    """What is known of the objects of one address."""

    def __init__(self, home: Home, address: str) -> None:
        self._home = home
        self._address = address
        known_address, objects = _read(home)
        self._objects = objects if known_address == address else {}
        self._unsaved = 0

    def __contains__(self, name: str) -> bool:
        return name in self._objects

    def names(self) -> list[str]:
        """Of all objects that were there when they were last listed."""
        return list(self._objects)

    def md5(self, found: StoredObject) -> str:
        """The MD5 of its bytes, if they were read since its ETag or size changed; else empty."""
        known = self._objects.get(found.name)
        return known.md5 if known is not None and found.is_as(known) else ""

    def put(self, found: StoredObject, md5: str) -> None:
        """Note the MD5 of an object."""
        if self._objects.get(found.name) != (noted := replace(found, md5=md5)):
            self._objects[found.name] = noted
            self._unsaved += 1
        least, part = _SAVED_EVERY
        if self._unsaved >= max(least, part * len(self._objects)):
            self.save()

    def list_again(self, objects: Iterable[StoredObject]) -> None:
        """Replace the list of objects by a new, complete one."""
        listed = {each.name: replace(each, md5=self.md5(each)) for each in objects}
        self._unsaved += listed != self._objects
        self._objects = listed

    def save(self) -> None:
        """Write what is new. Raises RagScienceError."""
        if not self._unsaved:
            return
        target = self._home.objects
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            rows = [astuple(each) for each in self._objects.values()]
            write_checked_json(target, {"address": self._address, "objects": rows})
        self._unsaved = 0


def last_address(home: Home) -> str:
    """Where the papers of this home were last read from; empty: from its folder papers/ alone."""
    return _read(home)[0]


def _read(home: Home) -> tuple[str, dict[str, StoredObject]]:
    try:
        content = read_checked_json(home.objects)
        return content["address"], {row[0]: StoredObject(*row) for row in content["objects"]}
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}
