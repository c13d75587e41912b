"""What a tool call is, which tools there are, and whether a call's arguments fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragscience.errors import UsageError
from ragscience.records import Hit
from ragscience.text.prompt_sanitizer import sendable

__all__ = ["KINDS", "TOOLS", "Parameter", "Tool", "ToolCall", "ToolResult", "checked_arguments", "schemas"]

KINDS = ("text", "abstract", "table", "caption", "equation", "footnote", "reference", "all")
"""Of passages, as `search` takes them."""

LONGEST = 1000
"""Characters of an argument."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that is to be used."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave."""

    text: str
    """For the model; what is of papers is fenced and harmless in it."""
    hits: tuple[Hit, ...] = ()
    """The passages that were found, to cite, the best or first ones; the text may have had no room for all of them."""
    error: bool = False
    """Whether the text says what was wrong with the call."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a tool."""

    description: str
    kind: str = "string"
    """ "string" or "integer"."""
    required: bool = True
    among: tuple[str, ...] = ()
    """What it may be; empty for anything."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, as the model is told of it."""

    description: str
    parameters: Mapping[str, Parameter]


_PAPER = "A paper: its file name, or a part of its name or title."
_SECTION = 'A heading or a part of one, or its number: "Results", "3.2", "abstract".'

TOOLS: Mapping[str, Tool] = {
    "search": Tool(
        "Find the passages of the papers that fit a query best. Words that may stand in the text are better than a"
        " long question.",
        {
            "query": Parameter("What to look for."),
            "paper": Parameter(f"Only in this paper. {_PAPER}", required=False),
            "section": Parameter("Only under headings with this in their name.", required=False),
            "kind": Parameter("Only passages of this kind.", required=False, among=KINDS),
        },
    ),
    "lookup_page": Tool(
        "Read one page of a paper.",
        {"paper": Parameter(_PAPER), "page": Parameter("The page's number, from 1.", "integer")},
    ),
    "read_section": Tool(
        "Read one section of a paper, with its subsections.",
        {"paper": Parameter(_PAPER), "section": Parameter(_SECTION)},
    ),
    "calculate": Tool(
        "Work out an arithmetic expression exactly, such as (28.4 - 26.3) / 26.3 or 15% of 80.",
        {"expression": Parameter("Numbers, + - * / // % **, parentheses, sqrt, min, max, round, abs, log, exp.")},
    ),
    "list_papers": Tool("List the papers: file, title, first author, year, pages.", {}),
    "cite": Tool("Give the BibTeX entry of a paper.", {"paper": Parameter(_PAPER)}),
}


def schemas() -> list[dict[str, Any]]:
    """The tools in the form that `bind_tools` takes: JSON schemas of functions, as of OpenAI and Ollama."""
    return [
        {
            "type": "function",
            "function": {"name": name, "description": tool.description, "parameters": parameters_schema(tool)},
        }
        for name, tool in TOOLS.items()
    ]


def parameters_schema(tool: Tool) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    properties = {
        name: {"type": each.kind, "description": each.description} | ({"enum": list(each.among)} if each.among else {})
        for name, each in tool.parameters.items()
    }
    required = [name for name, each in tool.parameters.items() if each.required]
    return {"type": "object", "properties": properties, "required": required}


def checked_arguments(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the tool takes them, without those that are empty and need not be there.

    A number may come as a text and a text as a number. Raises UsageError for what is missing, unknown or of a wrong
    kind.
    """
    parameters = TOOLS[name].parameters
    unknown = sorted(str(key) for key in arguments if key not in parameters)
    if unknown:
        takes = ", ".join(parameters) or "no arguments"
        raise UsageError(f"{name} has no argument {unknown[0][:80]!r}.", f"It takes {takes}.")
    checked: dict[str, Any] = {}
    for key, parameter in parameters.items():
        value = arguments.get(key)
        if value is None or (isinstance(value, str) and not sendable(value).strip()):
            if parameter.required:
                raise UsageError(f"{name} needs {key}.", parameter.description)
            continue
        checked[key] = _checked(name, key, parameter, value)
    return checked


def _checked(name: str, key: str, parameter: Parameter, value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{key} of {name} is to be a {parameter.kind}, not {_kind_of(value)}.", parameter.description)
    text = " ".join(sendable(str(value)).split())
    if len(text) > LONGEST:
        raise UsageError(f"{key} of {name} has {len(text)} characters.", f"At most {LONGEST}.")
    if parameter.kind == "integer":
        digits = text.removesuffix(".0")
        if not (digits.isascii() and digits.lstrip("-").isdigit() and len(digits) < 10):
            raise UsageError(f"{key} of {name} is to be an integer, not {text[:80]!r}.", parameter.description)
        return int(digits)
    if parameter.among:
        if text.casefold() not in parameter.among:
            raise UsageError(f"There is no {key} {text[:80]!r}.", f"It is one of {', '.join(parameter.among)}.")
        return text.casefold()
    return text


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else "nothing of that kind"
