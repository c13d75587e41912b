"""The settings of one run: flags over the environment over the defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ragscience.errors import UsageError
from ragscience.settings.setting_fields import ENV_PREFIX, Settings

__all__ = ["changed_settings", "load_settings"]

LONGEST_SHOWN = 80
"""Characters of a wrong value that a message repeats."""


def load_settings(*, default_home: Path | None = None, **flags: Any) -> Settings:
    """The settings of this run: `flags` that are not None, over the environment, over the defaults.

    `default_home` is the home where neither a flag nor the environment names one; without it the current folder.
    Raises UsageError with one line that names the setting, its value and what is allowed.
    """
    known = {ENV_PREFIX + name.upper() for name in Settings.model_fields}
    for name in sorted(os.environ):
        if name.upper().startswith(ENV_PREFIX) and name.upper() not in known:
            raise UsageError(
                f"There is no setting {name} (in the environment).", "`docs/config.md` lists them all; unset this one."
            )
    flags = {name: value for name, value in flags.items() if value is not None}
    if default_home is not None and f"{ENV_PREFIX}HOME" not in os.environ:
        flags.setdefault("home", default_home)
    try:
        settings = Settings(**flags)
    except ValidationError as error:
        raise UsageError(_one_line(error), "`docs/config.md` lists every setting.") from None
    except ValueError as error:  # pydantic-settings: a value that should be JSON and is not
        raise UsageError(f"A setting cannot be read: {error}.", "`docs/config.md` lists every setting.") from None
    return settings.model_copy(update={"home": settings.home.expanduser().resolve()})


def changed_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The same settings with some values replaced. Raises UsageError for a value that is not allowed."""
    if not changes:
        return settings
    try:
        return Settings(**{**settings.model_dump(), **changes})
    except ValidationError as error:
        raise UsageError(_one_line(error), "`docs/config.md` lists every setting.") from None


def _one_line(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"There is no setting {name}."
    message = first["msg"].removeprefix("Value error, ")
    if not name:
        return f"{message}."
    shown = re.sub(r"//[^/@]*@", "//…@", repr(first["input"]))
    shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"
    return f"Setting {name} is {shown}: {message[:1].lower()}{message[1:]}."
