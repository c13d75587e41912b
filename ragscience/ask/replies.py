"""Cleans a model's reply: removes its reasoning, unwraps unrequested JSON, and drops repetitions."""

from __future__ import annotations

import json
import re

from ragscience.core.prompt_templates import sendable

_OPEN, _CLOSE = ("<think>", "<thinking>"), ("</think>", "</thinking>")
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_CLOSED_ONLY = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_CODE_FENCE = re.compile(r"\A```[\w-]*\n(.*?)\n?```\Z", re.DOTALL)
_ANSWER_KEYS = ("answer", "response", "text", "content", "result", "output")

LOOP_TAIL = 1200
"""Characters at the end of a reply in which a loop is looked for."""
LOOP_LENGTH = 160
"""Characters that a loop must have come to before it counts as one,"""
LOOP_TIMES = 5
"""and how often it must have gone round."""


def without_thoughts(text: str) -> str:
    """`text` without the text between <think> and </think>; a thought may lack either end."""
    return _CLOSED_ONLY.sub("", _THOUGHT.sub("", text))


def worded(text: str) -> str:
    """The answer in what a model said: no thoughts, no code fence around all of it, no JSON object around a text."""
    said = without_thoughts(text).strip()
    fenced = _CODE_FENCE.match(said)
    said = fenced[1].strip() if fenced else said
    if not sendable(said).strip():
        return ""
    if not said.startswith("{"):
        return said
    try:
        value = json.loads(said, strict=False)
    except (ValueError, RecursionError):
        return said
    texts = [value[key] for key in _ANSWER_KEYS if isinstance(value.get(key), str)]
    return texts[0].strip() if texts else said


class ThoughtFilter:
    """Lets a stream through without its thoughts; what may be the beginning of a mark is held back until it is not."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False

    @property
    def is_thinking(self) -> bool:
        """Whether what came last is a thought."""
        return self._thinking

    def feed(self, piece: str) -> str:
        """What may be shown now."""
        self._held += piece
        shown = ""
        while True:
            marks = _CLOSE if self._thinking else _OPEN
            folded = self._held.casefold()
            at, mark = min(((folded.find(mark), mark) for mark in marks if mark in folded), default=(-1, ""))
            if at < 0:
                break
            shown += "" if self._thinking else self._held[:at]
            self._held = self._held[at + len(mark) :]
            self._thinking = not self._thinking
        keep = _begun(self._held, marks)
        ready, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return shown + ("" if self._thinking else ready)

    def rest(self) -> str:
        """What is still held back at the end of the stream."""
        held, self._held = self._held, ""
        return "" if self._thinking else held


def _begun(text: str, marks: tuple[str, ...]) -> int:
    """How many characters at the end of `text` may begin one of the marks."""
    folded = text.casefold()
    longest = max(map(len, marks)) - 1
    return next(
        (n for n in range(min(longest, len(text)), 0, -1) if any(mark.startswith(folded[-n:]) for mark in marks)), 0
    )


def repeated_tail(text: str) -> int:
    """How many characters at the end of `text` are repetitions of what comes before them; 0 where it runs in no loop.

    A loop is a tail of LOOP_LENGTH characters or more that is LOOP_TIMES the same, of the shortest period.
    """
    tail = text[-LOOP_TAIL:]
    for period in range(1, len(tail) // LOOP_TIMES + 1):
        length = period
        while length < len(tail) and tail[-length - 1] == tail[period - length - 1]:
            length += 1
        if length >= max(LOOP_LENGTH, LOOP_TIMES * period):
            return length - period
    return 0
