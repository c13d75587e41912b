"""The steps of the agent in words: what it does, what came of it, and what it cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragscience.core.records import Step
from ragscience.engine.printable import counted, plain

__all__ = ["cost_line", "step_lines"]

STEPS = {
    "decompose_query": "Splitting the question",
    "retrieve": "Searching",
    "reason": "Drafting an answer",
    "reflect": "Does the draft answer the question?",
    "generate_answer": "The answer",
}
"""What each step of the loop does."""
_GRADES = ((0.8, "likely"), (0.5, "perhaps"), (0.0, "unlikely"))
_WHY = {
    "support": "not every sentence is supported by its page",
    "coverage": "part of the question is not covered",
    "answerability": "the passages may not answer it",
    "refused": "the passages do not answer it",
}
"""The weakest side of a draft that is not likely an answer."""
_GRADED = re.compile(r"\d\.\d\d \(([^()\n]{1,60})\)(.{0,60})")
"""A step's summary of its grade: "0.40 (support), not better than before"."""
_LONGEST = 160
"""Characters of a sub-query, a note or a missing thing."""
_INDENT = " " * 4


def step_lines(step: Step) -> Iterator[str]:
    """A step of the agent in one line; below it its queries, notes and what is missing, a line each."""
    cost = [
        *_counted(step.searches, "search", "searches"),
        *_counted(step.tool_calls, "tool call", "tool calls"),
        *_counted(step.llm_calls, "model call", "model calls"),
        f"{step.seconds:.1f} s",
    ]
    says = STEPS.get(step.node, step.node)
    again = f" (pass {step.iteration})" if step.iteration > 1 else ""
    mark = "" if says.endswith("?") else ":"
    yield f"{says}{again}{mark} {_result(step)} [{', '.join(cost)}]"
    if step.node == "decompose_query":
        yield from (f"{_INDENT}? {_flat(query)}" for query in step.queries)
    yield from (f"{_INDENT}- {_flat(note)}" for note in step.notes)
    if step.missing:
        yield f"{_INDENT}missing: {'; '.join(map(_flat, step.missing))}"


def _result(step: Step) -> str:
    graded = _GRADED.match(step.summary)
    if graded is None or step.score is None:
        return _flat(step.summary)
    likely = next(word for least, word in _GRADES if step.score >= least)
    why = f": {_WHY.get(graded[1], graded[1])}" if likely != "likely" else ""
    return f"{likely} ({step.score:.2f}){why}{graded[2]}"


def cost_line(trace: Sequence[Step]) -> str:
    """What all steps cost together."""
    parts = [
        *_counted(max((step.iteration for step in trace), default=0), "pass", "passes"),
        *_counted(sum(step.searches for step in trace), "search", "searches"),
        *_counted(sum(step.tool_calls for step in trace), "tool call", "tool calls"),
        *_counted(sum(step.llm_calls for step in trace), "model call", "model calls"),
        *_counted(sum(step.tokens for step in trace), "token", "tokens"),
    ]
    return f"Together: {', '.join(parts)}, {sum(step.seconds for step in trace):.1f} s"


def _counted(number: int, one: str, many: str) -> list[str]:
    return [counted(number, one, many)] if number else []


def _flat(text: str) -> str:
    flat = " ".join(plain(text).split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]} …"
