"""A process that opens PDFs and is kept for the next one."""

from __future__ import annotations

from ragscience.reading.reader_process import ReaderProcess

__all__ = ["KeptReader"]


class KeptReader:
    """A worker process that is there when it is needed: a new one after a file has cost the last one.

    For one thread at a time.
    """

    def __init__(self, timeout_seconds: float, memory_bytes: int) -> None:
        self._limits = timeout_seconds, memory_bytes
        self._reader: ReaderProcess | None = None

    def reader(self) -> ReaderProcess:
        """One that is alive. Raises RagScienceError where none comes up."""
        if self._reader is None or not self._reader.is_alive:
            self.close()
            self._reader = ReaderProcess(*self._limits)
        return self._reader

    def close(self) -> None:
        """End it, until it is needed again."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
