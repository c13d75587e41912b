"""config.toml in a home: lasting settings, and which of them this user has allowed.

A home can come from somebody else. What can start a program, send text elsewhere, or read or write files is taken from
its config.toml only after the user has allowed that value for that home. The hashes of what was allowed are in the
user's own configuration folder, never in a home.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from ragscience.core.errors import UsageError
from ragscience.core.system import small_text, write_atomically

LARGEST_BYTES = 1 << 20
HEADER = "# Settings of this library; `config` shows all settings and where each comes from."


def config_file(home: Path) -> Path:
    """Where the settings of a home are kept."""
    return home / "config.toml"


def read_config(home: Path) -> dict[str, Any]:
    """The values of config.toml by name, unchecked; empty where there is no such file. Raises UsageError."""
    path = config_file(home)
    text = _text(path)
    if not text:
        return {}
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 20,000 brackets
        raise _unreadable(path, f"it is not valid TOML: {error}") from None


def write_config(home: Path, changes: Mapping[str, Any]) -> None:
    """Change values in config.toml, None to take one out; comments and order stay. Raises UsageError."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = config_file(home)
    text = _text(path)
    try:
        document = tomlkit.parse(text or HEADER + "\n")
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise _unreadable(path, f"it is not valid TOML: {error}") from None
    for name, value in changes.items():
        if value is not None:
            document[name] = value
        elif name in document:
            del document[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, tomlkit.dumps(document).encode())


def permission(home: Path, name: str, value: Any) -> str:
    """The hash that identifies one value of one setting in one home."""
    return hashlib.sha256(json.dumps([str(home), name, value], default=str).encode()).hexdigest()


def allowed_hashes() -> frozenset[str]:
    """What this user has allowed, as `permission` names it."""
    return frozenset(_text(_permissions_file()).split())


def allow(permissions: Iterable[str]) -> None:
    """Keep permissions in the user's configuration folder."""
    path = _permissions_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = "".join(f"{one}\n" for one in sorted({*allowed_hashes(), *permissions}))
    write_atomically(path, text.encode(), private=True)


def _permissions_file() -> Path:
    return user_config_path("ragscience", appauthor=False) / "allowed"


def _text(path: Path) -> str:
    """What the file holds; empty if it does not exist. Raises UsageError."""
    try:
        return small_text(path, LARGEST_BYTES)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None


def _unreadable(path: Path, reason: str) -> UsageError:
    return UsageError(f"{path} cannot be used: {reason}.", "Correct it, or move it away: it contains only settings.")
