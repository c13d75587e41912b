"""Who has signed in with a browser: a random id in a cookie stands for a token until it expires."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from ragscience.engine.access_tokens import hash_of

__all__ = ["Sessions"]

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
