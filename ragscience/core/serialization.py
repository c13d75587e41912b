"""Records as JSON and back, and the JSON Schema of their types.

Writing needs no type. Reading and schemas use pydantic's TypeAdapters, built on first use: its import takes longer than
a worker's start may.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Count", "PageNumber", "Schema", "Share", "from_json", "json_schemas", "renamed", "storable", "to_json"]

T = TypeVar("T")

_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff]")


class Schema:
    """Keywords for the JSON Schema of a field: `Annotated[int, Schema(minimum=0)]`. They check nothing on reading."""

    def __init__(self, **keywords: Any) -> None:
        self._keywords = keywords

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), **self._keywords}


Count = Annotated[int, Schema(minimum=0)]
PageNumber = Annotated[int, Schema(minimum=1)]
Share = Annotated[float, Schema(minimum=0, maximum=1)]


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


def from_json(kind: type[T], value: Any, names: Mapping[str, str] | None = None) -> T:
    """A record of that type, from JSON text or from what was parsed of it; unknown fields are left out.

    A missing field has its default; `names` gives today's names of fields that older versions wrote under others.
    Raises ValueError where the value does not fit.
    """
    try:
        plain = json.loads(value) if isinstance(value, str | bytes) else value
        if names and isinstance(plain, dict) and not names.keys().isdisjoint(plain):
            plain = renamed(plain, names)
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


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The JSON value with other names for some keys, at any depth: what an older version wrote, as it is called now."""
    if isinstance(value, dict):
        return {names.get(key, key): renamed(item, names) for key, item in value.items()}
    return [renamed(item, names) for item in value] if isinstance(value, list) else value


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def json_schemas(kinds: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the JSON Schema, draft 2020-12, of each type by its name here, the definitions that they share).

    All fields are required and no others allowed; attribute docstrings are the descriptions.
    """
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Plain(GenerateJsonSchema):
        def field_title_should_be_set(self, _schema: Any) -> bool:
            return False

        def field_is_required(self, *_: Any, **__: Any) -> bool:
            return True

    config = ConfigDict(use_attribute_docstrings=True, extra="forbid")
    # A record takes no configuration itself; what holds it does.
    held = [(name, "serialization", TypeAdapter(list[kind], config=config)) for name, kind in kinds.items()]  # type: ignore[valid-type]
    schemas, shared = TypeAdapter.json_schemas(held, schema_generator=Plain)  # type: ignore[arg-type]
    return {name: schemas[name, "serialization"]["items"] for name in kinds}, shared["$defs"]


def storable(text: str) -> str:
    """The text at the same length as SQLite takes it, in UTF-8: lone surrogates, as of broken PDFs, become U+FFFD."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
