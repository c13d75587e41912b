"""The agent at work, as a person follows it: a line a step, with what was asked, found, graded and still missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from ragscience.records import Step
from ragscience.terminal.cli import say
from ragscience.terminal.plain import counted, plain

__all__ = ["cost_line", "say_step", "step_lines", "trace_view"]

_LONGEST = 160
"""Characters of a sub-query, a note or a missing thing."""
_INDENT = " " * 4


def say_step(step: Step) -> None:
    """A step on stderr, when it is done."""
    for line in step_lines(step):
        say(line)


def trace_view(trace: Sequence[Step], console: Console) -> None:
    """The whole way of an answer, and what it cost; nothing without a trace."""
    if not trace:
        return
    for step in trace:
        for line in step_lines(step):
            console.print(Text(line), soft_wrap=True)
    console.print(Text(cost_line(trace), "dim"), soft_wrap=True)


def step_lines(step: Step) -> Iterator[str]:
    """The step in one line, and what it asked, was told and misses in a line each."""
    cost = [
        *_counted(step.searches, "search", "searches"),
        *_counted(step.tool_calls, "tool call", "tool calls"),
        *_counted(step.llm_calls, "LLM call", "LLM calls"),
        f"{step.seconds:.1f} s",
    ]
    who = " by the LLM" if step.by == "llm" else ""
    yield f"[{step.iteration}] {step.node}: {_flat(step.said)}{who} ({', '.join(cost)})"
    if step.node == "decompose_query":
        yield from (f"{_INDENT}? {_flat(query)}" for query in step.queries)
    yield from (f"{_INDENT}- {_flat(note)}" for note in step.notes)
    if step.missing:
        yield f"{_INDENT}missing: {'; '.join(map(_flat, step.missing))}"


def cost_line(trace: Sequence[Step]) -> str:
    """What all steps cost together."""
    parts = [
        *_counted(max((step.iteration for step in trace), default=0), "pass", "passes"),
        *_counted(sum(step.searches for step in trace), "search", "searches"),
        *_counted(sum(step.tool_calls for step in trace), "tool call", "tool calls"),
        *_counted(sum(step.llm_calls for step in trace), "LLM call", "LLM calls"),
        *_counted(sum(step.tokens for step in trace), "token", "tokens"),
    ]
    return f"agent: {', '.join(parts)}, {sum(step.seconds for step in trace):.1f} s"


def _counted(number: int, one: str, many: str) -> list[str]:
    return [counted(number, one, many)] if number else []


def _flat(text: str) -> str:
    flat = " ".join(plain(text).split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]} …"
