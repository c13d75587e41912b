"""Records as JSON and back, and what every object of `--json` has.

Writing needs no type. Reading uses pydantic's TypeAdapters, built on first use: its import takes longer than
a worker's start may.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter


T = TypeVar("T")

SCHEMA_VERSION = 2
"""Of what `--json` prints; a change that breaks a reader raises it."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff]")


def to_json(value: object, *, indent: int | None = None, ascii_only: bool = False, allow_nan: bool = False) -> str:
    """The value, of records, mappings, sequences, sets and paths, as JSON.

    Lone surrogates are escaped, and so is what a terminal would obey or hide: direction marks, C1 controls, separators.

    Raises ValueError for a number that is not finite unless `allow_nan`, TypeError for any other type.
    """
    text = json.dumps(value, default=_plain, ensure_ascii=ascii_only, allow_nan=allow_nan, indent=indent)
    if ascii_only:
        return text
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8", "backslashreplace").decode()


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON")


def from_json(kind: type[T], value: Any) -> T:
    """A record of that type, from JSON text or from what was parsed of it; unknown fields are left out.

    A missing field has its default. Raises ValueError where the value does not fit.
    """
    try:
        plain = json.loads(value) if isinstance(value, str | bytes) else value
        found: T = _adapter(kind).validate_python(plain)  # type: ignore[arg-type]  # types are hashable
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except ValueError as error:
        if not hasattr(error, "errors"):
            raise
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"not {kind.__name__}: {place}: {first['msg']}" if place else first["msg"]) from error
    return found


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def storable(text: str) -> str:
    """The text at the same length as SQLite takes it, in UTF-8: lone surrogates, as of broken PDFs, become U+FFFD."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def select(fields: str, *sources: object, **given: Any) -> dict[str, Any]:
    """A JSON object of these fields: each from `given`, else from the first source that has an attribute of its name.

    The field "schema" is the version of what `--json` prints.
    """
    values = {"schema": SCHEMA_VERSION} | given
    for name in fields.split():
        if name not in values:
            values[name] = next(getattr(source, name) for source in sources if hasattr(source, name))
    return {name: values[name] for name in fields.split()}


def slashed(path: str) -> str:
    """A path with "/" between its folders, as names are shown, typed and kept, also on Windows."""
    return path.replace(os.sep, "/")
