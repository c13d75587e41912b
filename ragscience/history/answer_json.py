"""An answer as JSON and back, by what its records declare: a field that is new or missing does not get in the way."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from ragscience.records import Answer

__all__ = ["decode", "encode", "storable"]


def encode(answer: Answer) -> str:
    """The answer with all that it rests on, as one line of JSON; lone surrogates are escaped."""
    return storable(json.dumps(_as_json(answer), ensure_ascii=False), "backslashreplace")


def decode(text: str) -> Answer:
    """The answer that `encode` wrote, by this or another version: what it does not say has its record's default.

    Raises ValueError where the text is no answer.
    """
    try:
        answer: Answer = _as_declared(Answer, json.loads(text))
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"not an answer: {error}") from error
    return answer


def storable(text: str, instead: str = "replace") -> str:
    """`text` as SQLite takes it: a lone surrogate, as in a file name that is not UTF-8, is replaced."""
    return text.encode("utf-8", instead).decode()


def _as_json(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_as_json(item) for item in value]
    return value


def _as_declared(declared: Any, value: Any) -> Any:
    """`value` as the type that a record declares: records, tuples, mappings, unions with None, and plain values."""
    origin, inner = get_origin(declared), get_args(declared)
    if origin in (Union, types.UnionType):
        return None if value is None else _as_declared(next(item for item in inner if item is not type(None)), value)
    if dataclasses.is_dataclass(declared) and isinstance(declared, type):
        hints = _hints(declared)
        return declared(**{name: _as_declared(hints[name], item) for name, item in value.items() if name in hints})
    if origin is tuple:
        if inner[-1] is Ellipsis:
            return tuple(_as_declared(inner[0], item) for item in value)
        return tuple(_as_declared(kind, item) for kind, item in zip(inner, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _as_declared(inner[1], item) for key, item in value.items()}
    if not isinstance(value, (int, float) if declared is float else declared):
        raise TypeError(f"{value!r} where {declared} belongs")
    return value


@cache
def _hints(record: type) -> dict[str, Any]:
    return get_type_hints(record)
