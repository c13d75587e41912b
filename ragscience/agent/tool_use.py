"""The tools within the loop: chosen by the model where it can call tools, else by what the question names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.agent.agent_context import ToolNote, ToolsUsed, ToolUse
from ragscience.agent.tool_calling import ask_for_tools
from ragscience.agent.tools import Toolbox, ToolCall, ToolResult, planned_calls
from ragscience.records import Hit, Paper
from ragscience.text.prompt_sanitizer import sanitize

if TYPE_CHECKING:
    from ragscience.models.ollama_llm import OllamaLLM

__all__ = ["tool_use"]

_LONGEST_ARGUMENT = 80
"""Characters of an argument, as a call is shown."""


def tool_use(
    toolbox: Toolbox,
    *,
    papers: Sequence[Paper],
    llm: OllamaLLM | None,
    allowed: Callable[[Hit], bool],
) -> ToolUse:
    """What the loop calls for tools; passages that are not `allowed` are not given, nor is what was said of them.

    The model is asked where it can call tools; where it cannot, or the loop does not let it, `planned_calls` says what
    the question plainly asks for, beyond searches that are made anyway.
    """

    def use(question: str, missing: Sequence[str], *, by_llm: bool, most_calls: int, seconds: float) -> ToolsUsed:
        costs: list[Mapping[str, int]] = []
        done: Sequence[tuple[ToolCall, ToolResult]]
        if by_llm and llm is not None and llm.calls_tools:
            wanted = [f"Question: {sanitize(question)}"]
            wanted += ["Not found yet:", *(f"- {sanitize(each)}" for each in missing)] if missing else []
            messages = [("user", "\n".join(wanted))]
            done = ask_for_tools(llm, messages, toolbox, most_calls=most_calls, seconds=seconds, on_reply=costs.append)
        else:
            calls = [call for call in planned_calls(question, papers) if not _is_sub_query(call)][:most_calls]
            done = [(call, toolbox.call(call.name, call.arguments)) for call in calls]
        notes = tuple(_note(call, result, allowed) for call, result in done)
        return ToolsUsed(
            notes,
            llm_calls=len(costs),
            prompt_tokens=sum(each.get("prompt", 0) for each in costs),
            answer_tokens=sum(each.get("answer", 0) for each in costs),
        )

    return use


def _is_sub_query(call: ToolCall) -> bool:
    """A search within a paper that the question names: the loop's own sub-queries look there already."""
    return call.name == "search" and not {"section", "kind"} & call.arguments.keys()


def _note(call: ToolCall, result: ToolResult, allowed: Callable[[Hit], bool]) -> ToolNote:
    arguments = ", ".join(f"{name}={_shown(value)}" for name, value in call.arguments.items())
    hits = tuple(hit for hit in result.hits if allowed(hit))
    if len(hits) < len(result.hits):
        hits = tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1))
        said = "Passages outside of the filters were left out."
        return ToolNote(f"{call.name}({arguments})", said, hits, error=not hits)
    return ToolNote(f"{call.name}({arguments})", result.text, hits, result.error)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_ARGUMENT else f"{text[:_LONGEST_ARGUMENT]}…"
