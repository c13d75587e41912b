"""Groups of commands whose default command needs no name, and what is done with a name that was mistyped.

The first word is a command where there is one of that name; everything else belongs to the default command, so that
`query.py what is adam` is a question. With the default command's own name in front (`query.py ask …`) no other word is
taken for a command.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from ragscience.cli.command_guide import script_with
from ragscience.cli.help_page import help_page
from ragscience.core.errors import UsageError

__all__ = ["App", "OwnAndMore", "make_app", "with_version"]

LIKE_ENOUGH = 0.8
"""difflib's ratio from which a word may be a mistyped command."""
HELP = {"help_option_names": ["-h", "--help"]}


class Command(TyperCommand):
    """A command whose help is a page of ours."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_page(ctx))


class Group(TyperGroup):
    """A group whose first word may be left out: what is not a command belongs to the default command."""

    default_command = ""
    bare_command = ""
    """What runs when nothing is given, or nothing but options that it takes."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_page(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command in front, whether it is named or not. Raises UsageError for one that was mistyped."""
        own = {option for parameter in self.get_params(ctx) for option in parameter.opts}
        if len(args) == 1 and f"--{args[0]}" in own:  # `help` and `version` alone
            args = [f"--{args[0]}"]
        if not (args and args[0] in own) and not (ctx.resilient_parsing and not args):
            args = self._with_command(ctx, args)
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Commands, and the options and first argument of the default command."""
        default = self.commands[self.default_command]
        inner = default.make_context(self.default_command, [], parent=ctx, resilient_parsing=True)
        arguments = [one for one in default.params if one.param_type_name == "argument"][:1]
        asked: list[Any] = [super(), default, *arguments]
        return [
            item
            for one, at in zip(asked, (ctx, inner, inner), strict=False)
            for item in one.shell_complete(at, incomplete)
        ]

    def _with_command(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in self.commands:
            return args
        for place, word in enumerate(args):
            if word in self.commands and self._takes(ctx, word, args[:place]):
                return [word, *args[:place], *args[place + 1 :]]
            if word == "--" or (not word.startswith("-") and self._takes(ctx, self.default_command, args[:place])):
                break
        meant = self._mistyped(ctx, args) if args and not ctx.resilient_parsing else ""
        if meant:
            return [meant, *args[1:]]
        return [self.bare_command if self._takes(ctx, self.bare_command, args) else self.default_command, *args]

    def _takes(self, ctx: Any, name: str, args: Sequence[str]) -> bool:
        """Whether the command can be called with these words and options; whether any is missing does not matter."""
        command: Any = self.commands[name]
        if isinstance(command, Group):
            named = args and args[0] in command.commands
            return command._takes(ctx, args[0] if named else command.default_command, args[1:] if named else args)
        parser = command.make_parser(command.context_class(command, info_name=name, parent=ctx))
        try:
            return not parser.parse_args(list(args))[1]
        except TyperException:
            return False

    def _mistyped(self, ctx: Any, args: Sequence[str]) -> str:
        """The command that a person says was meant by the first word; empty for none. Raises UsageError."""
        word, path = args[0], ctx.command_path
        other = script_with(word)
        if (
            other
            and path.endswith(".py")
            and (len(args) == 1 or args[1].startswith("-") or path.endswith("ingest.py"))
            and not Path(word).exists()
        ):
            raise UsageError(f"`{word}` is a command of {other}.", f"Write: python {other} {shlex.join(args)}")
        meant = next((name for name in self.commands if name != self.default_command and _is_near(word, name)), "")
        if not meant or Path(word).exists() or not self._takes(ctx, meant, args[1:]):
            return ""
        if sys.stdin.isatty() and sys.stderr.isatty():
            sys.stderr.write(f"Did you mean `{meant}`? [Y/n] ")
            sys.stderr.flush()
            answer = sys.stdin.readline()
            if not answer:
                raise typer.Abort
            return "" if answer.strip().lower() in ("n", "no") else meant
        literally = f"{path} {self.default_command} {shlex.join(args)}"
        raise UsageError(
            f"There is no command {word!r}.",
            f"Did you mean `{path} {shlex.join([meant, *args[1:]])}`? If {word!r} is what you want: `{literally}`.",
        )


class OwnAndMore(TyperGroup):
    """A group that is a command itself, whose help has its own options and the commands in it."""

    bare_command = ""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_page(ctx))


def _is_near(word: str, command: str) -> bool:
    """Whether a word may be a command with a slip in it: its letters in another order, or nearly the same letters."""
    if sorted(word) == sorted(command):
        return True
    return word[:1] == command[:1] and SequenceMatcher(None, word, command).ratio() >= LIKE_ENOUGH


class App(typer.Typer):
    """A Typer app whose commands have our help."""

    def command(self, name: str | None = None, **more: Any) -> Callable[[Any], Any]:
        """Register a command, as Typer does."""
        return super().command(name, **{"cls": Command, "context_settings": HELP, **more})


def with_version(app: App) -> App:
    """The app, with an option --version."""

    @app.callback()
    def begin(
        version: Annotated[
            bool,
            typer.Option(
                "--version", help="Show the versions of the program, Python and the library.", callback=_version
            ),
        ] = False,
    ) -> None:
        """Nothing is done before a command; Typer hangs options of a group on this."""

    return app


def _version(wanted: bool) -> None:
    if wanted:
        from ragscience.engine.program_version import version_line

        sys.stdout.write(version_line() + "\n")
        raise typer.Exit


def make_app(help_text: str, *, default: str, bare: str) -> App:
    """An app whose `default` command needs no name, and which runs `bare` when called with nothing."""

    class OwnGroup(Group):
        default_command = default
        bare_command = bare

    return App(
        cls=OwnGroup,
        help=help_text,
        add_completion=False,
        no_args_is_help=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=HELP,
    )
