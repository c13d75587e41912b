"""Limits of requests: pauses between two of them, Retry-After, and a deadline for each file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from ragscience.core.errors import SourceError

__all__ = ["BACKOFF_S", "LONGEST_WAIT_S", "Deadline", "NetworkRules", "Pace", "seconds_to_wait"]

BACKOFF_S = (5.0, 10.0, 15.0)
"""Before the second, third and fourth try; there is no fifth."""
LONGEST_WAIT_S = 120.0
"""A server that asks for a longer pause ends the run; the message names the time to come back at."""
_MOST_DIGITS = 9
"""More seconds than that, 30 years, are as good as never."""


@dataclass(frozen=True)
class NetworkRules:
    """Which requests are allowed, how large, how long and how often."""

    allow_http: bool
    """Whether http:// is allowed; else https:// alone."""
    allow_loopback: bool
    """Whether this machine is allowed, at any port; no other private address ever is."""
    max_bytes: int
    """Of the largest PDF."""
    max_redirects: int
    timeout_s: float
    """Seconds until a connection is made, and between two pieces of a response."""
    total_s: float
    """Seconds for one file with all its redirects and further tries, without the pauses in between."""
    pause_s: float
    """Seconds between the beginnings of two requests to one host."""
    user_agent: str
    """Names the project and its version."""


class Deadline:
    """When a file must be complete; `clock` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._end = clock() + seconds

    def extend(self, seconds: float) -> None:
        """Leave out time that was spent waiting on purpose."""
        self._end += seconds

    def sooner(self, timeout: float | None, host: str) -> float:
        """The timeout, or the seconds that are left where those are fewer. Raises as `left` does."""
        left = self.left(host)
        return left if timeout is None else min(timeout, left)

    def left(self, host: str) -> float:
        """Seconds until then, above 0. Raises SourceError with reason "time" if none are left."""
        left = self._end - self._clock()
        if left > 0:
            return left
        raise SourceError(
            f"{host} took longer than the {self._seconds:g} s that one file may take.",
            "Run the same command again: the download resumes if the server allows it. Or raise RAG_SOURCES_TOTAL_S.",
            reason="time",
        )


class Pace:
    """Keeps the beginnings of two requests to one host `pause_s` seconds apart."""

    def __init__(self, pause_s: float, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._pause_s = pause_s
        self._clock = clock
        self._sleep = sleep
        self._last: dict[str, float] = {}

    def wait(self, host: str) -> float:
        """Sleep until a request to `host` is due, and count it as sent; the seconds slept."""
        now = self._clock()
        due = self._last[host] + self._pause_s if host in self._last else now
        if due > now:
            self._sleep(due - now)
        self._last[host] = max(due, now)
        return max(0.0, due - now)


def seconds_to_wait(retry_after: str, date: str, now: float) -> float:
    """The seconds of a Retry-After header (RFC 9110, section 10.2.3); 0 where it is missing, past or invalid.

    It is a number of seconds or an HTTP date. A date is compared with the server's own `Date` header, as its clock may
    be wrong, or where that is missing with `now`, in seconds since 1970. The result may be infinite.
    """
    text = retry_after.strip()
    if re.fullmatch("[0-9]+", text):
        return float(text) if len(text.lstrip("0")) <= _MOST_DIGITS else float("inf")
    then = _timestamp(text)
    if then is None:
        return 0.0
    since = _timestamp(date)
    return max(0.0, then - (now if since is None else since))


def _timestamp(http_date: str) -> float | None:
    try:
        date = parsedate_to_datetime(http_date)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        # The parser of the standard library has raised each of these for one nonsense or another.
        return None
