"""A text with some stretches replaced, and where the other stretches are afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Edit", "Rewritten"]


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


class Rewritten:
    """`text` after `edits`, which are in order and don't overlap, without blanks at either end."""

    def __init__(self, text: str, edits: Sequence[Edit]) -> None:
        self._text = text
        self._edits = tuple(edits)

    @property
    def text(self) -> str:
        """All of it."""
        return self.part(0, len(self._text))

    def part(self, start: int, end: int) -> str:
        """What has become of `text[start:end]`; an edit that reaches over its edge counts where it ends inside."""
        pieces: list[str] = []
        at = start
        for edit in self._edits:
            if start < edit.end <= end:
                pieces += [self._text[at : max(at, edit.start)], edit.new]
                at = edit.end
        return "".join([*pieces, self._text[at:end]]).strip()
