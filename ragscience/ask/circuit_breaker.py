"""When the LLM is not asked at all: after it has failed several times in a row, for a while."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Circuit"]


class Circuit:
    """Counts failures in a row. After `failures` of them it is open, and the model is not called for `pause_seconds`.

    Then one question is let through: it closes the circuit if the model answers, and opens it for as long again if
    not. `clock` gives seconds that never go back. One object lasts for a run.
    """

    def __init__(self, *, failures: int, pause_seconds: float, clock: Callable[[], float]) -> None:
        self._limit = failures
        self._pause = pause_seconds
        self._clock = clock
        self._failed = 0
        self._open_until = 0.0
        self._why = ""

    def allows(self) -> bool:
        """Whether the model may be asked now."""
        return self._failed < self._limit or self._clock() >= self._open_until

    @property
    def warning(self) -> str:
        """Why it is not asked: the same line for every question until then."""
        return f"The LLM failed {self._limit} times in a row, so it is left alone for a while: {self._why}"

    def succeeded(self) -> None:
        """The model answered."""
        self._failed = 0

    def failed(self, why: str) -> None:
        """The model failed, and how."""
        self._failed += 1
        self._why = why
        self._open_until = self._clock() + self._pause
