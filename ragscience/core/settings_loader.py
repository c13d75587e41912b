"""The settings of one run: flags over the environment over config.toml in the home over the defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from ragscience.core.errors import UsageError
from ragscience.core.home_config import allowed_hashes, config_file, permission, read_config
from ragscience.core.ollama_host import address_of
from ragscience.core.setting_effects import is_guarded
from ragscience.core.setting_fields import ENV_PREFIX, Settings
from ragscience.core.wrong_values import must_be

__all__ = [
    "LoadedSettings",
    "absolute_path",
    "changed_settings",
    "check_home",
    "default_settings",
    "find_home",
    "load_settings",
    "load_with_sources",
]

LIST_FIX = """Write it as '["METHOD", "DATASET"]'; `docs/config.md` lists every setting."""
LONGEST_SHOWN = 80
"""Characters of a wrong value that a message repeats."""
PATHS = frozenset({"cache_folder", "llm_key_file", "log_file", "metrics_file"})
"""Settings that are paths; in config.toml a relative one starts at the home."""
TEMPLATES = frozenset({"answer_rules", "answer_request", "condense_prompt"})
"""Settings that are texts, or files as @FILE."""
OLLAMA_HOST = "OLLAMA_HOST"
"""Ollama's own variable, which is used if nothing sets ollama_url."""
Source = Literal["flag", "environment", "config.toml", "OLLAMA_HOST", "default"]


@dataclass(frozen=True)
class LoadedSettings:
    """Settings, where each comes from, and what config.toml sets that the user has not allowed."""

    settings: Settings
    sources: Mapping[str, Source]
    not_allowed: Mapping[str, Any]


def load_settings(
    *, default_home: Path | None = None, on_warning: Callable[[str], None] | None = None, **flags: Any
) -> Settings:
    """The settings of this run; flags that are None are not given.

    `default_home` is the home where neither a flag nor the environment names one; without it the current folder.
    Raises UsageError with one line that names the setting, its value and what is allowed.
    """
    loaded = load_with_sources(default_home=default_home, **flags)
    if on_warning is not None:
        for name in _unknown_variables():
            on_warning(_unknown_variable(name))
    if loaded.not_allowed and on_warning is not None:
        on_warning(
            f"{config_file(loaded.settings.home)} sets {', '.join(sorted(loaded.not_allowed))}: ignored, because you "
            "have not allowed it. `python query.py config` shows it, `python query.py config allow` allows it."
        )
    return loaded.settings


def load_with_sources(*, default_home: Path | None = None, **flags: Any) -> LoadedSettings:
    """As `load_settings`, with where each value comes from."""
    given = {name: value for name, value in flags.items() if value is not None}
    variables = {name.upper() for name in os.environ}
    from_environment = {name for name in Settings.model_fields if ENV_PREFIX + name.upper() in variables}
    home = find_home(given.get("home"), default_home)
    kept = {
        name: value
        for name, value in _checked_names(home, read_config(home)).items()
        if name not in given and name not in from_environment
    }
    allowed = allowed_hashes() if any(map(is_guarded, kept)) else frozenset()
    not_allowed = {
        name: value for name, value in kept.items() if is_guarded(name) and permission(home, name, value) not in allowed
    }
    from_file = {name: absolute_path(name, value, home) for name, value in kept.items() if name not in not_allowed}
    from_ollama = {}
    if os.environ.get(OLLAMA_HOST) and "ollama_url" not in {*from_file, *from_environment, *given}:
        from_ollama["ollama_url"] = address_of(os.environ[OLLAMA_HOST])
    try:
        settings = Settings(**{**from_ollama, **from_file, **given, "home": home})
    except ValidationError as error:
        raise _wrong_value(error, from_file, home, from_environment - given.keys()) from None
    except ValueError as error:  # pydantic-settings: a value that should be JSON and is not
        name = next((name for name in Settings.model_fields if f'"{name}"' in str(error)), "a setting").upper()
        raise UsageError(f"{ENV_PREFIX}{name} must be a JSON list.", LIST_FIX) from None
    sources: dict[str, Source] = dict.fromkeys(Settings.model_fields, "default")
    places: tuple[tuple[Source, Iterable[str]], ...] = (
        ("OLLAMA_HOST", from_ollama),
        ("config.toml", from_file),
        ("environment", from_environment),
        ("flag", given),
    )
    for place, names in places:
        sources.update((name, place) for name in names)
    return LoadedSettings(settings, sources, not_allowed)


def changed_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The same settings with some values replaced; None: as if nobody had set it.

    Raises UsageError for a value that is not allowed.
    """
    if not changes:
        return settings
    unset = {name for name, value in changes.items() if value is None}
    defaults = {name: Settings.model_fields[name].default for name in unset}
    try:
        checked = Settings(**{**settings.model_dump(), **changes, **defaults})
    except ValidationError as error:
        raise _wrong_value(error, {}, settings.home) from None
    chosen = (settings.model_fields_set | changes.keys()) - unset
    return Settings.model_construct(chosen, **{name: getattr(checked, name) for name in Settings.model_fields})


def find_home(flag: Path | None, default_home: Path | None) -> Path:
    """The home that a flag, else the environment, else `default_home` names, else the current folder."""
    variable = next((value for name, value in os.environ.items() if name.upper() == f"{ENV_PREFIX}HOME"), "")
    return Path(flag or variable or default_home or Path.cwd()).expanduser().resolve()


def check_home(home: Path) -> None:
    """Raise UsageError where there is no such folder, as after a slip in its name."""
    if home.is_file():
        raise UsageError(f"{home} is not a folder.", "Check --home and RAG_HOME.")
    if not home.exists():
        fix = "Check --home and RAG_HOME; `python ingest.py init --home DIR` makes a home."
        raise UsageError(f"There is no folder {home}.", fix)


def default_settings(home: Path, **values: Any) -> Settings:
    """The defaults with these values over them, whatever the environment and config.toml have. Raises UsageError."""
    without_environment: dict[str, Any] = {"_env_prefix": "RAGSCIENCE_UNSET_", "home": home}
    try:
        return Settings(**without_environment, **values)
    except ValidationError as error:
        raise _wrong_value(error, {}, home) from None


def _unknown_variables() -> list[str]:
    """Environment variables that have the prefix of settings but name no setting."""
    known = {ENV_PREFIX + name.upper() for name in Settings.model_fields}
    return sorted(name for name in os.environ if name.upper().startswith(ENV_PREFIX) and name.upper() not in known)


def _unknown_variable(name: str) -> str:
    """One line about such a variable, with the known one that is spelt most like it."""
    from difflib import get_close_matches

    known = [ENV_PREFIX + field.upper() for field in Settings.model_fields]
    near = "".join(f" Is it {other}?" for other in get_close_matches(name.upper(), known, n=1))
    return f"There is no setting {name}; it is ignored.{near} `python query.py config` lists them all."


def absolute_path(name: str, value: Any, base: Path) -> Any:
    """The value of a setting; where it is a relative path or names a file as @FILE, the path from `base` on."""
    if not isinstance(value, str) or not value:
        return value
    if name in PATHS:
        return str(base / Path(value).expanduser())
    return f"@{base / Path(value[1:]).expanduser()}" if name in TEMPLATES and value.startswith("@") else value


def _checked_names(home: Path, kept: dict[str, Any]) -> dict[str, Any]:
    if "home" in kept:
        raise UsageError(
            f"{config_file(home)} cannot set the home.",
            "`python query.py config unset home` removes it; use RAG_HOME or --home.",
        )
    if "llm_key" in kept:
        raise UsageError(
            f"{config_file(home)} cannot hold a key.",
            "`python query.py config unset llm_key` removes it; set RAG_LLM_KEY, or name a file in llm_key_file.",
        )
    for name in kept:
        if name not in Settings.model_fields:
            raise UsageError(
                f"There is no setting {name} (in {config_file(home)}).",
                f"`python query.py config unset {name}` removes it; `docs/config.md` lists them all.",
            )
    return kept


def _wrong_value(
    error: ValidationError, from_file: Mapping[str, Any], home: Path, from_environment: Collection[str] = ()
) -> UsageError:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    top = str(first["loc"][0]) if first["loc"] else ""
    fix = "`docs/config.md` lists every setting."
    if top in from_file:
        fix = f"It is in {config_file(home)}; `python query.py config unset {top}` removes it. {fix}"
    if first["type"] == "extra_forbidden":
        return UsageError(f"There is no setting {name}.", fix)
    message = must_be(first)
    if not name:
        return UsageError(f"{message}.", fix)
    shown = re.sub(r"//[^/@]*@", "//…@", repr(first["input"]))
    shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"
    called = f"{ENV_PREFIX}{name.upper()}" if top in from_environment else f"Setting {name}"
    return UsageError(f"{called} is {shown}: {message}.", fix)
