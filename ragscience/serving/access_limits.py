"""Limits of each person: requests in a minute, answers at once; and of failed sign-ins of an address."""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable

__all__ = ["Buckets", "Running"]

MOST_KEYS = 10_000
"""Buckets that are remembered; the one used longest ago goes first."""


class Buckets:
    """A token bucket for each key: `most` at once, refilled evenly with as many each `seconds`."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._each = seconds / most
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def wait(self, key: str) -> int:
        """Seconds until the key may take one, rounded up; 0: at once."""
        over = self._full_at.get(key, 0.0) - self._clock() - (self._most - 1) * self._each
        return max(0, math.ceil(over - 1e-9))

    def take(self, key: str) -> int:
        """Take one: 0; or where none is left, the seconds to wait, and nothing is taken."""
        if wait := self.wait(key):
            return wait
        self._full_at[key] = max(self._full_at.pop(key, 0.0), self._clock()) + self._each
        if len(self._full_at) > MOST_KEYS:
            self._full_at.popitem(last=False)
        return 0


class Running:
    """How many of a kind each person has under way."""

    def __init__(self, most: int) -> None:
        self.most = most
        """Of each person."""
        self._running: Counter[str] = Counter()

    def begin(self, name: str) -> bool:
        """Whether one more may begin; it then counts until `end`."""
        if self._running[name] >= self.most:
            return False
        self._running[name] += 1
        return True

    def end(self, name: str) -> None:
        """One has ended."""
        self._running[name] -= 1
        if not self._running[name]:
            del self._running[name]
