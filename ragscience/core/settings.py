"""The settings of one run: flags over the environment over config.toml in the home over the defaults.

A home can come from somebody else. What can start a program, send text elsewhere, or read or write files is taken from
its config.toml only after the user has allowed that value for that home. The hashes of what was allowed are in the
user's own configuration folder, never in a home.
"""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, cast

from platformdirs import user_config_path
from pydantic import ValidationError

from ragscience.core.errors import UsageError
from ragscience.core.setting_fields import ENV_PREFIX, Decides, Settings, server_key
from ragscience.core.system import small_text, write_atomically

__all__ = ["ENV_PREFIX", "Settings", "server_key"]
"""What is made elsewhere, and given on."""

LIST_FIX = """Write it as '["METHOD", "DATASET"]'; `docs/config.md` lists every setting."""
LONGEST_SHOWN = 80
"""Characters of a wrong value that a message repeats."""
PATHS = frozenset({"cache_folder", "llm_key_file", "log_file"})
"""Settings that are paths; in config.toml a relative one starts at the home."""
OLLAMA_HOST = "OLLAMA_HOST"
"""Ollama's own variable, which is used if nothing sets ollama_url."""
Source = Literal["flag", "environment", "config.toml", "OLLAMA_HOST", "default"]


@dataclass(frozen=True)
class LoadedSettings:
    """Settings, where each comes from, and what config.toml sets that the user has not allowed."""

    settings: Settings
    sources: Mapping[str, Source]
    not_allowed: Mapping[str, Any]
    unknown: tuple[str, ...]
    """What config.toml or a variable of the environment sets although it is no setting, a line about each."""


def load_settings(
    *, default_home: Path | None = None, on_warning: Callable[[str], None] | None = None, **flags: Any
) -> Settings:
    """The settings of this run; flags that are None are not given.

    `default_home` is the home where neither a flag nor the environment names one; without it the current folder.
    Raises UsageError with one line that names the setting, its value and what is allowed.
    """
    loaded = load_with_sources(default_home=default_home, **flags)
    for text in loaded.unknown:
        if on_warning is not None:
            on_warning(text)
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
    written = _checked_names(home, read_config(home))
    kept = {
        name: value
        for name, value in written.items()
        if name in Settings.model_fields and name not in given and name not in from_environment
    }
    allowed = allowed_hashes() if any(map(is_guarded, kept)) else frozenset()
    not_allowed = {
        name: value for name, value in kept.items() if is_guarded(name) and permission(home, name, value) not in allowed
    }
    from_file = {name: absolute_path(name, value, home) for name, value in kept.items() if name not in not_allowed}
    from_ollama = {}
    if os.environ.get(OLLAMA_HOST) and "ollama_url" not in {*from_file, *from_environment, *given}:
        from_ollama["ollama_url"] = _address_of(os.environ[OLLAMA_HOST])
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
    known = {ENV_PREFIX + name.upper() for name in Settings.model_fields}
    unknown = [_unknown(name, config_file(home), Settings.model_fields) for name in written.keys() - sources.keys()]
    unknown += [_unknown(name, "", known) for name in sorted(variables - known) if name.startswith(ENV_PREFIX)]
    return LoadedSettings(settings, sources, not_allowed, tuple(unknown))


_PORT = "11434"
_ANY_ADDRESS = ("", "0.0.0.0", "[::]")  # noqa: S104  # what a server listens on is called on this machine


def _address_of(host: str) -> str:
    """The URL that OLLAMA_HOST means: http and port 11434 where it has no scheme, else the scheme's own port."""
    scheme, has_scheme, rest = host.strip().rpartition("://")
    place, slash, path = rest.rstrip("/").partition("/")
    name, colon, port = place.rpartition(":")
    if not colon or not port.isdecimal():
        name, port = place, "" if has_scheme else _PORT
    name = "127.0.0.1" if name in _ANY_ADDRESS else name
    return f"{scheme or 'http'}://{name}" + (f":{port}" if port else "") + slash + path


def changed_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The same settings with some values replaced; None: as if nobody had set it.

    Raises UsageError for a value that is not allowed.
    """
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


def _unknown(name: str, place: object, known: Iterable[str]) -> str:
    """A line about a name that is no setting, with the one that is spelt like it; `place` is the file that has it."""
    near = "".join(f" Is it {other}?" for other in get_close_matches(name, known, n=1))
    where = f" (in {place})" if place else ""
    return f"There is no setting {name}{where}; it is ignored.{near} `python query.py config` lists them all."


def absolute_path(name: str, value: Any, base: Path) -> Any:
    """The value of a setting; where it is a relative path, the path from `base` on."""
    return str(base / Path(value).expanduser()) if name in PATHS and isinstance(value, str) and value else value


def _checked_names(home: Path, kept: dict[str, Any]) -> dict[str, Any]:
    for name, what, instead in (
        ("home", "set the home", "use RAG_HOME or --home"),
        ("llm_key", "hold a key", "set RAG_LLM_KEY, or name a file in llm_key_file"),
    ):
        if name in kept:
            fix = f"`python query.py config unset {name}` removes it; {instead}."
            raise UsageError(f"{config_file(home)} cannot {what}.", fix)
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
    message = _must_be(first)
    if not name:
        return UsageError(f"{message}.", fix)
    shown = re.sub(r"//[^/@]*@", "//…@", repr(first["input"]))
    shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"
    called = f"{ENV_PREFIX}{name.upper()}" if top in from_environment else f"Setting {name}"
    return UsageError(f"{called} is {shown}: {message}.", fix)


PATTERNS = {
    "papers": "an address like s3://bucket/prefix",
    "ollama_url": "an address that starts with http:// or https://",
    "llm_url": "an address like http://127.0.0.1:8080/v1",
    "embed_url": "an address like http://127.0.0.1:8081/v1",
    "arxiv_url": "an address like https://export.arxiv.org/api/query",
    "library": "vectorstore, lance:///folder or s3://bucket/prefix",
    "ocr_language": "Tesseract language codes, as eng or eng+deu",
    "pdf_viewer": "a command with {file}, as okular -p {page} {file}",
    "graph_entity_types": "a list of types without spaces",
}


def _must_be(error: Mapping[str, Any]) -> str:
    """One of pydantic's errors on Settings as a clause: `it must be greater than or equal to 1`."""
    name = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "string_pattern_mismatch" and name in PATTERNS:
        return f"it must be {PATTERNS[name]}"
    said = str(error["msg"]).removeprefix("Value error, ").partition(" for <class")[0]
    said = re.sub(r"^[A-Z][a-z]+ should\b", "it must", said)
    return f"{said[:1].lower()}{said[1:]}"


def decides(name: str) -> Decides:
    """What the setting of that name decides."""
    return cast(Decides, _extra(name)["decides"])


def is_guarded(name: str) -> bool:
    """Whether it can start a program, send text elsewhere, or read or write files."""
    return name in Settings.model_fields and bool(_extra(name)["guarded"])


def _extra(name: str) -> dict[str, Any]:
    return cast(dict[str, Any], Settings.model_fields[name].json_schema_extra)


# config.toml in a home, and which of its settings this user has allowed

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
