"""Prints the man page of the command `ragscience`, made from its help: python tools/make_man_page.py 2026-11-25."""

from __future__ import annotations

import sys
import textwrap
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def roff(text: str) -> str:
    """One paragraph for roff: a minus for each hyphen, so that options can be copied; no line is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    lines = textwrap.wrap(text, 66, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def entry(parameter: Any) -> list[str]:
    """The lines of an argument or an option, with what it means."""
    from tools.make_docs import argument_name, meaning, option_name

    name = argument_name(parameter) if parameter.param_type_name == "argument" else option_name(parameter)
    return [".TP", f".B {roff(name)}", roff(meaning(parameter))]


def shown_of(command: Any) -> list[Any]:
    """The arguments and options that its help shows."""
    return [one for one in command.params if not one.hidden]


def command_lines(words: str, command: Any, common: list[list[str]]) -> list[str]:
    """The lines of one command: how it is called, what it does, its arguments and options, and an example."""
    from tools.make_docs import argument_name, paragraph

    shown = sorted(shown_of(command), key=lambda one: one.param_type_name)  # arguments, then options
    names = [argument_name(one) for one in shown if one.param_type_name == "argument"]
    own = [entry(one) for one in shown if entry(one) not in common]
    example = [".PP", roff(command.epilog)] if command.epilog else []
    usage = " ".join(["ragscience", words, *names, "[OPTIONS]"])
    return [f".SS {roff(usage)}", roff(paragraph(command.help)), *chain.from_iterable(own), *example]


def page(day: str) -> str:
    """The whole page, with the date `day`."""
    import typer.main

    from ragscience.__main__ import command_line
    from ragscience.cli import running
    from ragscience.core import __version__
    from ragscience.core.errors import EXIT_CODES
    from tools.make_docs import commands_of, paragraph

    group: Any = typer.main.get_command(command_line())
    found = dict(commands_of(group))
    # What needs no `ingest` is told once: `ragscience list` is `ragscience ingest list`.
    commands = {
        words: found[words] for words in found if words.removeprefix("ingest ") == words or words[7:] not in found
    }
    each = [[entry(one) for one in shown_of(command)] for command in commands.values()]
    common = [lines for lines in each[0] if all(lines in others for others in each)]
    summary, *rest = (group.help or "").split("\n\n")
    page = [f'.TH RAGSCIENCE 1 "{day}" "ragscience {__version__}"', ".SH NAME", f"ragscience \\- {roff(summary)}"]
    page += [".SH SYNOPSIS", ".B ragscience", "[COMMAND] [ARGS] [OPTIONS]", ".SH DESCRIPTION"]
    page += [
        roff(paragraph("\n".join(rest))),
        ".SH OPTIONS OF EVERY COMMAND",
        *chain.from_iterable(common),
        ".SH COMMANDS",
    ]
    for words, command in commands.items():
        page += command_lines(words, command, common)
    page += [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES.items():
        page += [".TP", f".B {code}", roff(meaning)]
    running._is_installed.set(True)  # the commands are named as they are called here
    return running.as_called("\n".join(page) + "\n")


if __name__ == "__main__":
    sys.stdout.write(page(sys.argv[1]))
