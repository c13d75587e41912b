"""What one person has at once: requests in a minute, answers and changes under way, sessions; and failed sign-ins."""

from __future__ import annotations

import math
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from ragscience.engine.access_tokens import hash_of

__all__ = ["Buckets", "Running", "Sessions"]

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


MOST_SESSIONS = 10_000
"""Sessions that are remembered; the oldest go first."""


class Sessions:
    """In memory alone, and there by the hash of the id: they end with the server."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        """How long each lasts."""
        self._clock = clock
        self._kept: OrderedDict[str, tuple[str, float]] = OrderedDict()
        """(hash of the token, when it ends) by the hash of the id."""

    def begin(self, token_sha256: str) -> str:
        """The id of a new session for the token with that hash."""
        session_id = secrets.token_hex(32)
        self._kept[hash_of(session_id)] = token_sha256, self._clock() + self.seconds
        while len(self._kept) > MOST_SESSIONS:
            self._kept.popitem(last=False)
        return session_id

    def token_of(self, session_id: str) -> str | None:
        """The hash of the token that the session stands for; None for one that is not there or has expired."""
        sha256, ends_at = self._kept.get(hash_of(session_id), ("", 0.0))
        if sha256 and self._clock() >= ends_at:
            self.end(session_id)
            return None
        return sha256 or None

    def end(self, session_id: str) -> None:
        """Forget it; one that is not there is none."""
        self._kept.pop(hash_of(session_id), None)
