"""What Typer says of a wrong command line, in plain words and with the way out."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from typer.exceptions import TyperException

from ragscience.core.errors import UsageError

__all__ = ["in_plain_words"]

EXTRA_WORDS = "Got unexpected extra argument"
LIKE_ENOUGH = 0.7
"""difflib's ratio from which an option is suggested for another."""


def in_plain_words(error: TyperException) -> UsageError:
    """The error as a person would put it; its fix names the nearest option, what is missing, or the command's help."""
    context: Any = getattr(error, "ctx", None)
    kind = type(error).__name__
    if kind == "BadOptionUsage" and "requires" in error.message:
        return UsageError(f"{getattr(error, 'option_name', 'The option')} needs a value.", "Give one, or leave it out.")
    if context is None:
        return UsageError(error.format_message())
    path = context.command_path
    see = f"`{path} -h` shows the usage."
    parameter: Any = getattr(error, "param", None)
    if kind == "NoSuchOption":
        return _no_such_option(getattr(error, "option_name", ""), context, see)
    if kind == "MissingParameter" and parameter is not None:
        return UsageError(f"`{path}` needs {_shown(parameter)}: {parameter.help}", see)
    if parameter is not None:
        as_question = "" if parameter.param_type_name == "option" else _as_question(context)
        return UsageError(f"{_shown(parameter)} {_must_be(parameter, error.message)}.", see + as_question)
    if error.message.startswith(EXTRA_WORDS):
        return _too_many_words(error.message, context, see)
    return UsageError(error.message if error.message.endswith(".") else f"{error.message}.", see)


def _shown(parameter: Any) -> str:
    return max(parameter.opts, key=len) if parameter.param_type_name == "option" else str(parameter.metavar)


def _must_be(parameter: Any, said: str) -> str:
    kind = {"int": "a whole number", "float": "a number"}.get(
        getattr(parameter.type_descriptor.annotation, "__name__", "")
    )
    if kind is None:
        return f"cannot be used: {said[:1].lower()}{said[1:]}"
    low, high = parameter.min, parameter.max
    limits = "" if low is None else f" of at least {low}" if high is None else f" from {low} to {high}"
    return f"must be {kind}{limits}"


def _no_such_option(name: str, context: Any, see: str) -> UsageError:
    commands = [context.command, *([context.parent.command] if context.parent else [])]
    known = [
        option
        for one in commands
        for parameter in one.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    ]
    near = _nearest(name, [option for option in known if option.startswith("-")])
    if near:
        return UsageError(f"There is no option {name}.", f"Did you mean {near}? {see}")
    from ragscience.core.settings import ENV_PREFIX, Settings

    setting = name.lstrip("-").replace("-", "_")
    if setting in Settings.model_fields:
        variable = ENV_PREFIX + setting.upper()
        fix = f"It is a setting: `python query.py config set {setting} …` saves it; {variable}=… sets it for one run."
        return UsageError(f"There is no option {name}.", fix)
    return UsageError(f"There is no option {name}.", see)


def _too_many_words(said: str, context: Any, see: str) -> UsageError:
    words = said.partition("(")[2].partition("(")[2].rstrip(")")
    taken = [_shown(parameter) for parameter in context.command.params if parameter.param_type_name == "argument"]
    path = context.command_path
    takes = f"takes only {' and '.join(taken)}" if taken else "takes only options"
    fix = f"Put quotes around words that belong together. {see}" if taken else see
    return UsageError(f"`{path}` {takes}; unexpected: {words!r}.", fix + _as_question(context))


def _as_question(context: Any) -> str:
    root = context.find_root()
    is_asking = getattr(root.command, "default_command", "") == "ask"
    return f" `{root.info_name} ask …` always asks a question." if is_asking else ""


def _nearest(word: str, known: Iterable[str]) -> str:
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=LIKE_ENOUGH)), "")
