"""What each setting decides, and which ones only their user may set."""

from __future__ import annotations

from typing import Any, cast

from ragscience.core.setting_fields import ANSWER, Decides, Settings

__all__ = ["decides", "deciding_settings", "deciding_values", "is_guarded"]


def decides(name: str) -> Decides:
    """What the setting of that name decides."""
    return cast(Decides, _extra(name)["decides"])


def is_guarded(name: str) -> bool:
    """Whether it can start a program, send text elsewhere, or read or write files."""
    return name in Settings.model_fields and bool(_extra(name)["guarded"])


def deciding_settings() -> frozenset[str]:
    """The settings that an answer depends on."""
    return frozenset(name for name in Settings.model_fields if decides(name) == ANSWER)


def deciding_values(settings: Settings) -> dict[str, Any]:
    """The values that an answer depends on, by name, as JSON has them."""
    return settings.model_dump(mode="json", include=set(deciding_settings()))


def _extra(name: str) -> dict[str, Any]:
    return cast(dict[str, Any], Settings.model_fields[name].json_schema_extra)
