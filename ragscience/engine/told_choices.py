"""Which choices of models a person has been told of: each is said once for a library, and again when it changes."""

from __future__ import annotations

import json
from pathlib import Path

from ragscience.core.errors import RagScienceError
from ragscience.library.atomic_files import write_atomically

__all__ = ["ToldChoices"]


class ToldChoices:
    """The last choice that was said of each part, in a small file that may be deleted at any time.

    Where the file cannot be read, nothing has been said; where it cannot be written, a choice is said again each time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_new(self, part: str, text: str) -> bool:
        """Whether the choice of this part ("llm", "reranker") is another one than the last; from now on it is that."""
        said = self._read()
        if said.get(part, "") == text:
            return False
        try:
            if self._path.parent.is_dir():
                write_atomically(self._path, json.dumps(said | {part: text}, indent=1).encode())
        except (OSError, RagScienceError):
            pass
        return bool(text)

    def _read(self) -> dict[str, str]:
        try:
            said = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return said if isinstance(said, dict) else {}
