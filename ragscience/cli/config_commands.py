"""The commands of `query.py config`: every setting with where it comes from, and lasting ones in config.toml."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragscience.cli.cli import as_called, say
from ragscience.cli.command_groups import make_app
from ragscience.cli.completion import settings_names
from ragscience.cli.line_wrap import width_of, wrapped_words
from ragscience.cli.run_options import Debug, HomeFolder, default_home
from ragscience.core.errors import UsageError
from ragscience.engine.printable import one_line

if TYPE_CHECKING:
    from ragscience.core.settings import LoadedSettings

__all__ = ["config_app"]

LISTED = "`python query.py config` lists them all."

config_app = make_app(
    "Show and change settings.\n\n"
    "A command's option overrides the environment (RAG_TOP_K), which overrides config.toml in the home, which "
    "overrides the default. If nothing sets ollama_url, Ollama's own OLLAMA_HOST is used.",
    default="show",
    bare="show",
)
Names = Annotated[
    list[str],
    typer.Argument(metavar="NAME", help="Names of settings.", show_default=False, autocompletion=settings_names),
]


@config_app.command("show")
def show(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Show only these settings, with their meaning.",
            show_default=False,
            autocompletion=settings_names,
        ),
    ] = None,
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Show each setting, its value and where the value comes from."""
    from ragscience.core.settings import Settings, config_file, load_with_sources

    loaded = load_with_sources(default_home=default_home(), home=home)
    for name in names or ():
        _check_name(name)
    for text in loaded.unknown:
        say(text)
    shown = names or list(Settings.model_fields)
    widths = [max(map(len, column)) for column in zip(*(_row(name, loaded) for name in shown), strict=True)]
    if sys.stdout.isatty():
        widths[1] = min(widths[1], max(width_of(sys.stdout) - widths[0] - widths[2] - 2 * len("  "), 0))
    for name in shown:
        first, second, source = _row(name, loaded)
        _print(f"{second:{widths[1]}}  {source}".rstrip(), f"{first:{widths[0]}}  ")
        if names:
            _print(f"{Settings.model_fields[name].description}", "  ")
    for name, value in sorted(loaded.not_allowed.items()):
        if name in shown:
            _print(f"not allowed: {name} = {_written(value)} (`python query.py config allow` allows it)")
    if not names:
        _print(f"Saved settings: {config_file(loaded.settings.home)}")
    return 0


@config_app.command("set")
def set_values(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME VALUE",
            help="A setting and its value, or several such pairs.",
            show_default=False,
            autocompletion=settings_names,
        ),
    ],
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Save settings in config.toml in the home.

    Comments in the file stay. Write lists as JSON.
    """
    from ragscience.core.settings import (
        ENV_PREFIX,
        allow,
        check_home,
        config_file,
        find_home,
        is_guarded,
        load_with_sources,
        permission,
        write_config,
    )

    if len(words) % 2:
        raise UsageError("Each setting needs a value.", "Write: python query.py config set top_k 6")
    place = find_home(home, default_home())
    check_home(place)
    changes = _checked(place, dict(zip(words[::2], words[1::2], strict=True)))
    write_config(place, changes)
    guarded = [permission(place, name, value) for name, value in changes.items() if is_guarded(name)]
    if guarded:
        allow(guarded)
    sources = load_with_sources(default_home=place, home=home).sources
    for name, value in changes.items():
        _print(f"{name} = {_written(value)} in {config_file(place)}")
        if sources[name] == "environment":
            say(f"{ENV_PREFIX}{name.upper()} in the environment overrides it.")
    return 0


@config_app.command("unset")
def unset(names: Names, home: HomeFolder = None, debug: Debug = False) -> int:
    """Remove settings from config.toml in the home."""
    from ragscience.core.settings import config_file, find_home, read_config, write_config

    place = find_home(home, default_home())
    kept = read_config(place)
    for name in names:
        if name not in kept:
            raise UsageError(f"{config_file(place)} does not set {name}.", LISTED)
    write_config(place, dict.fromkeys(names))
    for name in names:
        _print(f"{name} is no longer in {config_file(place)}")
    return 0


@config_app.command("allow")
def allow_values(home: HomeFolder = None, debug: Debug = False) -> int:
    """Allow the risky settings in config.toml.

    That is what can start a program, send text elsewhere, or use files. It holds for these values in this home, and for
    you alone; a value that changes has to be allowed again.
    """
    from ragscience.core.settings import allow, load_with_sources, permission

    loaded = load_with_sources(default_home=default_home(), home=home)
    waiting = loaded.not_allowed
    if not waiting:
        _print("There is nothing to allow.")
        return 0
    allow(permission(loaded.settings.home, name, value) for name, value in waiting.items())
    for name, value in sorted(waiting.items()):
        _print(f"allowed: {name} = {_written(value)}")
    return 0


def _checked(home: Path, words: dict[str, str]) -> dict[str, Any]:
    """The values as config.toml keeps them. Raises UsageError for one that is not allowed with the others there."""
    from ragscience.core.settings import Settings, absolute_path, default_settings, read_config

    given: dict[str, Any] = {}
    for name, word in words.items():
        _check_name(name)
        if name == "home":
            raise UsageError("config.toml in a home cannot set the home.", "Set RAG_HOME, or give --home.")
        if name == "llm_key":
            raise UsageError("A key is never in config.toml.", "Set RAG_LLM_KEY, or name a file in llm_key_file.")
        default = Settings.model_fields[name].default
        given[name] = _list(name, word) if isinstance(default, tuple) else absolute_path(name, word, Path.cwd())
    there = {name: value for name, value in read_config(home).items() if name not in ("home", *given)}
    settings = default_settings(
        home, **{name: absolute_path(name, value, home) for name, value in there.items()}, **given
    )
    return {name: _as_kept(getattr(settings, name), given[name]) for name in given}


def _as_kept(value: Any, given: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return given if isinstance(value, str | Path) else value


def _list(name: str, word: str) -> Any:
    import json

    try:
        return json.loads(word)
    except ValueError:
        raise UsageError(f"{name} is a list, and {word!r} is not one.", """Write: '["METHOD"]'""") from None


def _check_name(name: str) -> None:
    from ragscience.core.settings import Settings

    if name not in Settings.model_fields:
        near = get_close_matches(name, Settings.model_fields, n=1)
        raise UsageError(f"There is no setting {name}.", f"Did you mean {near[0]}? {LISTED}" if near else LISTED)


def _row(name: str, loaded: LoadedSettings) -> tuple[str, str, str]:
    return name, _written(getattr(loaded.settings, name)), loaded.sources[name]


def _written(value: object) -> str:
    """A value on one line, as TOML has it."""
    import json

    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, default=str)


def _print(text: str, sign: str = "") -> None:
    """Behind `sign`, on a terminal in lines that end between words and begin below the end of the sign."""
    shown = one_line(as_called(text))
    if sys.stdout.isatty():
        shown = f"\n{' ' * len(sign)}".join(wrapped_words(shown, width_of(sys.stdout) - len(sign)))
    sys.stdout.write(f"{sign}{shown}\n")
