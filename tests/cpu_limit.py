"""Fails what hangs: a limit of CPU time far above what a call needs, so that a busy machine changes nothing."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cpu_limit(seconds: float, what: str) -> Iterator[None]:
    """Raises AssertionError where the block takes more CPU time; `re` is stopped in the middle of a search."""

    def stop(*_: object) -> None:
        raise AssertionError(f"more than {seconds:g} s of CPU time: {what}")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
