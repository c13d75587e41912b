"""Typer's apps with one habit more: the default command needs no name, so that `query.py what is adam` is a question.

The first word is a command where there is one of that name; everything else belongs to the default command. With the
default command's own name in front (`query.py ask …`) no other word is taken for a command.
"""

import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from ragscience.cli.running import as_called
from ragscience.core.errors import UsageError
from ragscience.core.serialization import to_json
from ragscience.engine.printable import version_line, version_output

HELP = {"help_option_names": ["-h", "--help"]}
LIKE_ENOUGH = 0.8
"""difflib's ratio from which a word may be a mistyped command."""
OTHERS = {
    "query.py": ("ingest.py", "ingest init list duplicates sync doctor show add fetch zotero remove watch rebuild"),
    "ingest.py": (
        "query.py",
        "ask search chat open export audit eval serve mcp profiles path related map models history config query",
    ),
}
"""The commands of the other script."""
MOST_WORDS = 2
"""Of a line that begins with one of them and is no question."""


class NamedCommand(TyperCommand):
    """A command whose help names the commands as they are called here."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        _name_as_called(self)
        super().format_help(ctx, formatter)


def _name_as_called(command: Any) -> None:
    command.help, command.epilog = as_called(command.help or ""), as_called(command.epilog or "")


class CommandGroup(TyperGroup):
    """A group whose first word may be left out: what is not a command belongs to the default command."""

    default_command = ""
    bare_command = ""
    """What runs when nothing is given, or nothing but options that it takes."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        _name_as_called(self)
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command in front, whether it is named or not. Raises UsageError for one that was mistyped."""
        own = {option for parameter in self.get_params(ctx) for option in parameter.opts}
        if len(args) == 2 and args[1] == "--json" and args[0] in ("version", "--version"):
            ctx.meta["json"], args = True, args[:1]
        if len(args) == 1 and f"--{args[0]}" in own:  # `help` and `version` alone
            args = [f"--{args[0]}"]
        if not (args and args[0] in own) and not (ctx.resilient_parsing and not args):
            args = self._with_command(ctx, args)
        return super().parse_args(ctx, args)

    def _with_command(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in self.commands:
            return args
        for place, word in enumerate(args):
            if word in self.commands and self._takes(ctx, word, args[:place]):
                return [word, *args[:place], *args[place + 1 :]]
            if word == "--" or (not word.startswith("-") and self._takes(ctx, self.default_command, args[:place])):
                break
        if args and not ctx.resilient_parsing:
            self._refuse_mistyped(ctx, args)
        return [self.bare_command if self._takes(ctx, self.bare_command, args) else self.default_command, *args]

    def _takes(self, ctx: Any, name: str, args: Sequence[str]) -> bool:
        """Whether the command can be called with these words and options; whether any is missing does not matter."""
        command: Any = self.commands[name]
        if isinstance(command, CommandGroup):
            named = args and args[0] in command.commands
            return command._takes(ctx, args[0] if named else command.default_command, args[1:] if named else args)
        parser = command.make_parser(command.context_class(command, info_name=name, parent=ctx))
        try:
            return not parser.parse_args(list(args))[1]
        except TyperException:
            return False

    def _refuse_mistyped(self, ctx: Any, args: Sequence[str]) -> None:
        """Raise UsageError where the first word is a command of the other script, or may be one with a slip in it."""
        word, path = args[0], ctx.command_path
        literally = f"`{path} {self.default_command} {shlex.join(args)}` does what you wrote."
        other, theirs = OTHERS.get(path.removeprefix("python "), ("", ""))
        words = list(takewhile(lambda each: not each.startswith("-"), args))
        if Path(word).exists():
            return
        if word in theirs.split() and (other == "query.py" or len(words) <= MOST_WORDS):
            rest = args[word in other :]
            fix = f"Write: python {shlex.join([other, *rest])}. {literally}"
            raise UsageError(f"`{word}` is a command of {other}.", fix)
        near = [name for name in self.commands if name != self.default_command and _is_near(word, name)]
        if near and self._takes(ctx, near[0], args[1:]):
            meant = shlex.join([near[0], *args[1:]])
            raise UsageError(f"There is no command {word!r}.", f"Did you mean `{path} {meant}`? {literally}")


def _is_near(word: str, command: str) -> bool:
    """Whether a word may be a command with a slip in it: its letters in another order, or nearly the same letters."""
    ratio = SequenceMatcher(None, word, command).ratio()
    return sorted(word) == sorted(command) or (word[:1] == command[:1] and ratio >= LIKE_ENOUGH)


class App(typer.Typer):
    """A Typer app whose commands may take groups of options as dataclasses."""

    def command(
        self, name: str | None = None, *, panel: str = "", example: str = "", **more: Any
    ) -> Callable[..., Any]:
        """Register a command, under a heading of the help, with an example under its help."""
        epilog = f"Example: {example}" if example else None
        more |= {"cls": NamedCommand, "rich_help_panel": panel or None, "epilog": epilog}
        register = super().command(name, **more)

        def taken(command: Callable[..., int | None]) -> Callable[..., int | None]:
            register(grouped(command))
            return command

        return taken


def grouped(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """The command as Typer takes it: a parameter that is a dataclass becomes one parameter for each of its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        inner = get_type_hints(groups[name], include_extras=True) if name in groups else {}
        own = parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        parameters += [own] if name not in groups else [
            own.replace(name=field.name, default=field.default, annotation=inner[field.name])
            for field in fields(groups[name])
        ]  # fmt: skip

    @functools.wraps(command)
    def run(**given: Any) -> int | None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def make_app(help_text: str, *, default: str, bare: str, completion: bool = False) -> App:
    """An app whose `default` command needs no name, and which runs `bare` when called with nothing."""
    kind = type("Group", (CommandGroup,), {"default_command": default, "bare_command": bare})
    return App(
        cls=kind, help=help_text, add_completion=completion, pretty_exceptions_enable=False, context_settings=HELP
    )


def with_version(app: App) -> App:
    """The app, with an option --version."""

    @app.callback()
    def begin(
        version: Annotated[
            bool, typer.Option("--version", help="Show the versions; with --json also the licence.", callback=_version)
        ] = False,
    ) -> None:
        """Nothing is done before a command; Typer hangs options of a group on this."""

    return app


def _version(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        sys.stdout.write((to_json(version_output()) if ctx.meta.get("json") else version_line()) + "\n")
        raise typer.Exit
