"""The settings of a command, from its flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config import Settings
    from ragscience.store import Home

__all__ = ["home_of", "settings_of"]


def settings_of(**flags: object) -> Settings:
    """As `config.load_settings`, which is imported when a command runs and not for its help."""
    from config import load_settings

    return load_settings(**flags)


def home_of(home: Path | None) -> Home:
    """Where `--home`, or else the settings, say that the library is. Raises UsageError."""
    from ragscience.store import Home

    return Home(settings_of(home=home).home)
