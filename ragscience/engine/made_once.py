"""What is made once, however many threads ask for it, with the warnings of its making."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

__all__ = ["MadeOnce", "Warn"]

T = TypeVar("T")
Warn = Callable[[str], None]


@dataclass(slots=True)
class _Entry:
    """A thing that is made once, with the warnings of its making, which belong to every question that uses it."""

    lock: Lock = field(default_factory=Lock)
    made: list[Any] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class MadeOnce:
    """Things by what decides them; safe for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[Hashable, _Entry] = {}

    def get(self, key: Hashable, make: Callable[[Warn], T], warn: Warn) -> T:
        """What `make` gives, made by the first caller; what it warns of is repeated to each. A failure is not kept."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
        with entry.lock:
            if not entry.made:
                entry.warnings.clear()
                entry.made.append(make(entry.warnings.append))
        for text in entry.warnings:
            warn(text)
        made: T = entry.made[0]
        return made

    def keep(self, key: Hashable, made: object) -> None:
        """Give what was made for another key for this one, too, unless it has its own."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
        with entry.lock:
            if not entry.made:
                entry.made.append(made)

    def forget(self, key: Hashable) -> None:
        """Make it anew when it is next asked for."""
        with self._lock:
            self._entries.pop(key, None)
