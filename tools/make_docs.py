"""Writes the pages of docs/ that are made from the code: commands, settings, the JSON, telemetry.

python tools/make_docs.py           writes them
python tools/make_docs.py --check   writes nothing; exits with 1 and names the pages that are out of step
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

MADE = "<!-- Made by tools/make_docs.py from the code: edit that, then run `make docs`. -->\n"


def pages() -> dict[str, str]:
    """Each generated page by its file name in docs/."""
    return {
        "cli.md": cli_page(),
        "config.md": config_page(),
        "json.md": json_page(),
        "telemetry.md": telemetry_page(),
    }


def cell(text: str) -> str:
    """Text that may stand in a table: on one line, bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *(tuple(cell(item) for item in row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


# The commands


SHARED_BY = 3
"""An option that as many commands have, in the same words, is explained once."""


def cli_page() -> str:
    """docs/cli.md: each command of both scripts as it is, and the exit codes."""
    import typer.main

    from ragscience.cli import ingest_app, query_app
    from ragscience.cli.options import ONE_PAPER
    from ragscience.core.errors import EXIT_CODES

    groups = [
        (script, typer.main.get_command(app))
        for script, app in (("ingest.py", ingest_app.app), ("query.py", query_app.app))
    ]
    each = [options_of(command) for _, group in groups for _, command in commands_of(group)]
    found = Counter(line for options in each for line in options)
    everywhere = [line for line, count in found.items() if count == len(each)]
    shared = {line: "" if line in everywhere else name_of(line) for line, count in found.items() if count >= SHARED_BY}
    parts = [MADE, CLI_INTRODUCTION, "## Options of every command\n", "\n".join(everywhere) + "\n"]
    parts += ["## Options of several commands\n", "\n".join(line for line, name in shared.items() if name) + "\n"]
    for script, group in groups:
        parts += [f"## {script}\n", f"{paragraph(group.help)} {habits(f'python {script}', group)}"]
        for name, inner in group.commands.items():
            if getattr(inner, "bare_command", ""):
                parts += [f"{paragraph(inner.help)} {habits(f'python {script} {name}', inner)}"]
        for words, command in commands_of(group):
            parts += command_section(f"{script} {words}", command, shared)
    codes = [(str(code), meaning) for code, meaning in EXIT_CODES.items()]
    parts += ["## Exit codes\n", table(("code", "meaning"), codes)]
    names = str(ONE_PAPER.help)
    return "\n".join(parts).replace(names, "See above.").replace("PAPER_NAMES", names)


CLI_INTRODUCTION = """# Commands

The result goes to stdout, everything else to stderr. Every command also has `--help`.

`PAPER` in a command: PAPER_NAMES

Installed (`pip install .`), `ragscience X` is `python query.py X`, and `ragscience ingest X` is `python ingest.py X`.
What only ingest.py has (all but `graph`) needs no `ingest`: `ragscience list`. Its home is the current folder where
`--home` and `RAG_HOME` name no other; that of the scripts is the folder that they are in.

`ragscience --install-completion` lets the shell complete commands, options, papers and settings (bash, fish; zsh from
the second Tab of a session on). The scripts have none: a shell completes by the first word, which is `python`.
"""


def paragraph(text: str | None) -> str:
    """A docstring as one paragraph."""
    return " ".join(inspect.cleandoc(text or "").split())


def habits(script: str, group: Any) -> str:
    """What a script or group is without a command."""
    alone, word = f"`{script} {group.bare_command}`", f"`{script} {group.default_command} …`"
    return f"Alone: {alone}; with anything but a command: {word}.\n"


def commands_of(group: Any) -> Iterator[tuple[str, Any]]:
    """("models pull", command) for each command, those of groups inside it too."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if not hasattr(command, "commands") or not getattr(
            command, "bare_command", ""
        ):  # a group may be a command itself
            yield name, command
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", found) for inner, found in commands_of(command))


def command_section(words: str, command: Any, shared: Mapping[str, str]) -> list[str]:
    """What one command does, an example or its usage, and its arguments and options; those of `shared` by that name."""
    arguments = [one for one in command.params if one.param_type_name == "argument" and not one.hidden]
    options = options_of(command)
    usage = " ".join([f"python {words}", *map(argument_name, arguments), *(["[OPTIONS]"] if options else [])])
    example = (command.epilog or usage).removeprefix("Example: ")
    lines = [f"- `{argument_name(one)}`: {meaning(one)}" for one in arguments]
    lines += [line for line in options if line not in shared]
    names = [f"`{shared[line]}`" for line in options if shared.get(line)]
    lines += [f"- and {', '.join(names)}"] if names else []
    section = [f"### {words}\n", f"{paragraph(command.help)}\n", f"```text\n{example}\n```\n"]
    return [*section, *(["\n".join(lines) + "\n"] if lines else [])]


def name_of(line: str) -> str:
    """The long name of an option from its line."""
    return line.split("`")[1].split(",")[-1].split()[0]


def options_of(command: Any) -> list[str]:
    """A line for each option that is shown: its spellings and what it does."""
    shown = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    return [f"- `{option_name(one)}`: {meaning(one)}" for one in shown]


def argument_name(argument: Any) -> str:
    """An argument as the usage has it: [FILE]... for none or several."""
    name = argument.metavar or argument.name.upper()
    name = name if argument.required else f"[{name}]"
    return f"{name}..." if argument.nargs == -1 else name


def option_name(option: Any) -> str:
    """All spellings, the short one first, and a placeholder for the value where there is one."""
    spellings = ", ".join((*sorted(option.opts, key=len), *option.secondary_opts))
    return spellings if option.is_flag else f"{spellings} {option.metavar}"


def meaning(parameter: Any) -> str:
    """What an argument or option does, what a number may be, and the default."""
    low, high = parameter.min, parameter.max
    limits = f"From {low} to {high}." if high is not None else f"At least {low}." if low else ""
    has_default = not (parameter.default in (None, False, "") or callable(parameter.default))
    default = f"Default: {parameter.default}." if has_default else ""
    return " ".join(filter(None, [parameter.help or "", limits, default]))


# The settings


def config_page() -> str:
    """docs/config.md: every setting with its default, bounds, purpose, what it decides and where it can be set."""
    from ragscience.core.settings import Settings, decides, is_guarded

    def in_file(name: str) -> str:
        return "no" if name in ("home", "llm_key") else "once allowed" if is_guarded(name) else "yes"

    properties = Settings.model_json_schema()["properties"]
    rows = [
        (
            f"`{name}`",
            allowed(properties[name]),
            written(name, field.default),
            field.description or "",
            decides(name),
            in_file(name),
        )
        for name, field in Settings.model_fields.items()
    ]
    head = ("setting", "allowed", "default", "meaning", "decides", "in config.toml")
    return "\n".join([MADE, CONFIG_INTRODUCTION, table(head, rows)])


CONFIG_INTRODUCTION = """# Settings

A flag of the command wins over the environment, the environment over `config.toml` in the home, that over the default.
In the environment `top_k` is `RAG_TOP_K`. A name that is not in the table below is refused in `config.toml` and
ignored, with a warning, in the environment. Where
nothing sets `ollama_url`, `OLLAMA_HOST` does, as Ollama itself reads it.

```console
$ python config.py
$ python query.py config top_k
$ python query.py config set top_k 6 temperature 0
$ python query.py config unset temperature
```

`python config.py` (or `python query.py config`) shows every setting with its value and where it comes from. `config
set` writes to `config.toml` and keeps its comments; you can also edit the file: `top_k = 6`, one setting a line. Lists
are written as JSON in the environment and on the command line: `RAG_GRAPH_ENTITY_TYPES='["METHOD", "GENE"]'`.
Relative paths in `config.toml` start at the home.

**A home from somebody else** runs nothing. Settings that can start a program, send text elsewhere, or read or write
files (*once allowed* in the last column) are taken from a home's `config.toml` only after you have allowed that very
value for that home; until then they are ignored, with a warning. `python query.py config` shows them, `python query.py
config allow` allows them, and what you write with `config set` is allowed. What you have allowed is kept as hashes in
`~/.config/ragscience/allowed` (or in `$XDG_CONFIG_HOME`), never in a home.

The column *decides* says what depends on a setting: *answers*, to the same question after the same turns (the audit log
keeps these values); *the library*, which has
to be rebuilt to follow; or neither.
"""


def allowed(schema: Mapping[str, Any]) -> str:
    """Type and bounds, in words."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kinds = {"integer": "whole number", "number": "number", "boolean": "true or false", "array": "list of text"}
    words = "path" if schema.get("format") == "path" else kinds.get(schema.get("type", ""), "text")
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    limits = [f"above {above:g}"] if above is not None else [f"at least {low:g}"] if low is not None else []
    if "maximum" in schema:
        limits.append(f"at most {schema['maximum']:,}".replace(",", " "))
    if "pattern" in schema:
        limits.append(f"like `{schema['pattern']}`")
    return ", ".join([words, *limits])


def written(name: str, default: object) -> str:
    """A default as it is written in the environment; folders without the names of this machine."""
    if name == "home":
        return "the folder of the scripts; installed: the current one"
    if isinstance(default, Path):
        text = f"~/{default.relative_to(Path.home())}" if default.is_relative_to(Path.home()) else str(default)
        return f"`{text}`"
    if isinstance(default, tuple):
        return f"`{json.dumps(default)}`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`"


# The JSON


def json_page() -> str:
    """docs/json.md: how --json is used, and an example of what each command prints."""
    from ragscience.core.serialization import SCHEMA_VERSION
    from tools.json_schemas import schemas

    head = (ROOT / "tools" / "json_head.md").read_text(encoding="utf-8")
    parts = [MADE, head.replace("SCHEMA;", f"{SCHEMA_VERSION};")]
    shown: set[str] = set()
    for name, schema in schemas().items():
        example = told_once(json_example(name), shown)
        parts += [f"## {name}\n", f"`{schema['$ref'].rpartition('/')[2]}`\n"]
        parts += [f"```json\n{compact(example)}\n```\n"] if example else []
    return "\n".join(parts)


def told_once(value: Any, shown: set[str]) -> Any:
    """The same with "<as above>" for a large object that stands on the page already; `shown` has those, as JSON."""
    if isinstance(value, list):
        return [told_once(item, shown) for item in value]
    if not isinstance(value, dict):
        return value
    written = json.dumps(value)
    if written in shown:
        return "<as above>"
    if len(value) > 5:
        shown.add(written)
    return {key: told_once(item, shown) for key, item in value.items()}


def compact(value: Any, depth: int = 0, name: str = "") -> str:
    """JSON on lines of their own only where it does not fit into one; `name` is the key that it stands behind."""
    flat, before = json.dumps(value, ensure_ascii=False), f'"{name}": ' if name else ""
    if depth + len(before) + len(flat) <= 110 or not isinstance(value, dict | list) or not value:
        return before + flat
    if isinstance(value, dict):
        items = [compact(item, depth + 1, key) for key, item in value.items()]
    else:
        items = [compact(item, depth + 1) for item in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    lines = ",\n".join(" " * (depth + 1) + item for item in items)
    return f"{before}{first}\n{lines}\n{' ' * depth}{last}"


def json_example(name: str) -> Any:
    """What the command of that name prints for the sample paper, shortened; None without an example."""
    file = "ask-from" if name == "error" else re.sub("[^a-z]+", "-", name)
    path = ROOT / "tests" / "golden" / f"{file}.json"
    values = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    values = [value for value in values if name != "error" or "error" in value]
    for value in values:
        for measured in ("measures", "types"):
            if measured in value:
                value[measured] = dict(list(value[measured].items())[:1])
    return shortened(values[0]) if values else None


def shortened(value: Any) -> Any:
    """The first of each list, and the beginning of each text."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shortened(item) for item in (value if isinstance(value[0], float) else value[:1])] if value else []
    return f"{value[:57]}…" if isinstance(value, str) and len(value) > 60 else value


# Logs and metrics


def telemetry_page() -> str:
    """docs/telemetry.md: the log line, the spans and the metrics of one question."""
    from ragscience.upkeep.telemetry import STAGES
    from tools.telemetry_page import example_page

    rows = [(f"`{stage.name}_ms`", f"`{stage.inside}_ms`" if stage.inside else "", stage.about) for stage in STAGES]
    return example_page(MADE, table(("stage", "inside", "what"), rows))


def out_of_step(made: Mapping[str, str], folder: Path) -> list[str]:
    """Names of the pages that are missing in the folder or differ from what the code makes."""
    return [
        name
        for name, text in made.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str]) -> int:
    """Writes or checks the pages; gives the exit code."""
    # The default of the cache folder depends on it; the page tells what holds where it is not set.
    os.environ.pop("XDG_CACHE_HOME", None)
    made, folder = pages(), ROOT / "docs"
    different = out_of_step(made, folder)
    if arguments == ["--check"]:
        for name in different:
            print(f"docs/{name} is out of step with the code. Run `make docs`.", file=sys.stderr)
        return 1 if different else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    folder.mkdir(exist_ok=True)
    for name in different:
        (folder / name).write_text(made[name], encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
