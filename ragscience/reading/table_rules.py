"""The horizontal rules of a page, each whole even where it is drawn cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.core.records import Box

__all__ = ["SAME", "Level", "levels_of"]

SAME = 3.0
"""Points between the ends of two rules of one table, at most."""
_NARROWEST = 40.0
"""Points: shorter rules are parts of figures and formulas."""
_AT_ONE_HEIGHT = 1.5


@dataclass(frozen=True, slots=True, order=True)
class Level:
    """A horizontal rule."""

    y: float
    x0: float
    x1: float

    def is_like(self, other: Level) -> bool:
        """Whether two rules begin and end below each other."""
        return abs(self.x0 - other.x0) <= SAME and abs(self.x1 - other.x1) <= SAME

    def covers(self, x0: float, x1: float) -> bool:
        """Whether a rule is above or below most of what is between x0 and x1."""
        return min(self.x1, x1) - max(self.x0, x0) > 0.5 * (x1 - x0)


def levels_of(rules: Sequence[Box], narrowest: float = _NARROWEST) -> list[Level]:
    """The horizontal ones of the boxes of rules from top to bottom, those at one height joined where they touch."""
    flat = sorted(((y0 + y1) / 2, x0, x1) for x0, y0, x1, y1 in rules if x1 - x0 > y1 - y0)
    lines: list[list[tuple[float, float, float]]] = []
    for rule in flat:
        if lines and rule[0] - lines[-1][0][0] < _AT_ONE_HEIGHT:
            lines[-1].append(rule)
        else:
            lines.append([rule])
    found = []
    for line in lines:
        parts: list[Level] = []
        for y, x0, x1 in sorted(line, key=lambda rule: rule[1]):
            if parts and x0 <= parts[-1].x1 + SAME:
                parts[-1] = Level(parts[-1].y, parts[-1].x0, max(parts[-1].x1, x1))
            else:
                parts.append(Level(y, x0, x1))
        found += [part for part in parts if part.x1 - part.x0 > narrowest]
    return found
