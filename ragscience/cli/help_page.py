"""The help of a command: how it is called, what it does, its options in groups, and two examples.

It is as wide as the terminal, and no line is broken inside a word or an option's name.
"""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ragscience.cli.cli import as_called
from ragscience.cli.command_guide import examples_of, sections_of, usage_of
from ragscience.cli.run_options import RUN

__all__ = ["argument_name", "help_page", "meaning", "option_name", "summary"]

NARROW, LEFT_COLUMN = 50, 30
"""Columns that a page has at least, and those that names of options may take."""
FEW_OPTIONS = 8
"""Options up to which a command has no groups of them."""
METAVARS = {"int": "N", "float": "SECONDS", "Path": "FILE"}


def help_page(ctx: Any) -> str:
    """The help of the command of a Typer context, ending in a line break."""
    width = max(shutil.get_terminal_size().columns, NARROW)
    return "\n".join(line.rstrip() for line in _lines(ctx, width)) + "\n"


def summary(command: Any) -> str:
    """The first sentence of a command's help."""
    return re.split(r"(?<=[.])\s", paragraph(command.help), maxsplit=1)[0]


def paragraph(text: str | None) -> str:
    """A docstring as one paragraph."""
    return " ".join(inspect.cleandoc(text or "").split())


def argument_name(argument: Any) -> str:
    """An argument as the usage has it: [FILE]... for none or several."""
    name = _metavar(argument)
    name = name if argument.required else f"[{name}]"
    return f"{name}..." if argument.nargs == -1 else name


def option_name(option: Any) -> str:
    """All spellings, the short one first, and a placeholder for the value where there is one."""
    spellings = ", ".join((*sorted(option.opts, key=len), *option.secondary_opts))
    return spellings if option.is_flag else f"{spellings} {_metavar(option)}"


def meaning(parameter: Any) -> str:
    """What an argument or option does, what a number may be, and the default."""
    low, high = parameter.min, parameter.max
    limits = f"From {low} to {high}." if high is not None else f"At least {low}." if low else ""
    has_default = not (parameter.default in (None, False, "") or callable(parameter.default))
    default = f"Default: {parameter.default}." if has_default else ""
    return " ".join(filter(None, [parameter.help or "", limits, default]))


def _metavar(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    return METAVARS.get(getattr(parameter.type_descriptor.annotation, "__name__", ""), "TEXT")


def _lines(ctx: Any, width: int) -> Iterator[str]:
    command, path = ctx.command, ctx.command_path
    shown = [parameter for parameter in command.get_params(ctx) if not parameter.hidden]
    arguments = [parameter for parameter in shown if parameter.param_type_name == "argument"]
    options = [parameter for parameter in shown if parameter.param_type_name == "option"]
    inner = getattr(command, "commands", {})
    call = [path, *(["[COMMAND]"] if inner else map(argument_name, arguments)), "[OPTIONS]"]
    for number, usage in enumerate(usage_of(path) or (" ".join(call),)):
        yield from _wrapped(usage, width, "Usage: " if number == 0 else "       ", 11)
    for text in inspect.cleandoc(command.help or "").split("\n\n"):
        yield ""
        yield from _wrapped(paragraph(text), width, "  ")
    if inner and not usage_of(path) and command.bare_command:
        yield ""
        yield from _wrapped(f"Without a command: `{path} {command.bare_command}`.", width, "  ")
    if arguments:
        yield from _table("Arguments", [(argument_name(one), meaning(one)) for one in arguments], width)
    for heading, names in sections_of(path, inner):
        yield from _table(heading, [(name, summary(inner[name])) for name in names], width)
    for heading, group in _groups(options):
        yield from _table(heading, [(option_name(one), meaning(one)) for one in group], width)
    yield ""
    yield "Examples:"
    for example in examples_of(path):
        yield from _wrapped(example, width, "  ", 4)


def _groups(options: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The options by their heading, in the order of the first of each; few options are one group."""
    if len(options) <= FEW_OPTIONS:
        yield "Options", list(options)
        return
    named = [(RUN if option.name == "help" else option.rich_help_panel or "Options", option) for option in options]
    for heading in dict.fromkeys(name for name, _ in named):
        yield heading, [option for name, option in named if name == heading]


def _table(heading: str, rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Names in a column, what they mean beside it; a name that is too long for the column has a line of its own."""
    named = list(rows)
    column = min(max(len(name) for name, _ in named), LEFT_COLUMN, width // 3)
    yield ""
    yield f"{heading}:"
    for name, text in named:
        lines = list(_wrapped(text, width, " " * (column + 4))) or [""]
        if len(name) > column:
            yield from (f"  {name}", *lines)
        else:
            yield f"  {name:{column}}  {lines[0].lstrip()}"
            yield from lines[1:]


def _wrapped(text: str, width: int, start: str, hanging: int | None = None) -> list[str]:
    return textwrap.wrap(
        as_called(text),
        width,
        initial_indent=start,
        subsequent_indent=" " * (len(start) if hanging is None else hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )
