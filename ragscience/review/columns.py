"""The columns of a literature matrix, from a YAML file of questions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ragscience.core.errors import UsageError, missing_package
from ragscience.core.serialization import from_json
from ragscience.core.system import small_text

_KEYS = ("question", "type", "unit", "agree")
_MOST_BYTES = 1 << 20
_UNIT = re.compile(r"%|[^\W\d_]{1,20}(?:/[^\W\d_]{1,9})?")
"""What is taken for a unit: nothing else reaches pint, which computes what it is given."""
_SHAPE = "Write `name: question`, or `name:` with question, type, unit and agree below it (docs/evidence.md)."


@dataclass(frozen=True, slots=True)
class Column:
    """A question that each paper is asked."""

    name: str
    question: str
    kind: Literal["text", "number", "yes/no", "list", "date"] = "text"
    unit: str = ""
    """Of a number: what it is converted to; empty: it stays as printed."""
    agree: bool = False
    """Whether it asks all papers for the same thing, so that different values are to be marked."""


def read_columns(path: Path) -> tuple[Column, ...]:
    """The columns of a YAML file, in its order. Raises UsageError with what is wrong, and how it is right."""
    import yaml

    try:
        text = small_text(path, _MOST_BYTES)
        twice = next(_twice(yaml.compose(text, Loader=yaml.SafeLoader)), None)
        whole = yaml.safe_load(text)
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror or error}."
        raise UsageError(what, "Name a YAML file of questions.") from error
    except (yaml.YAMLError, RecursionError) as error:
        mark, what = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        where = f", line {mark.line + 1}" if mark else ""
        fix = "Put a name or question with : # { [ or ? in it into quotes."
        raise UsageError(f"{path}{where}: {' '.join(what.split())}.", fix) from error
    if twice:
        where = f"{path}, line {twice.start_mark.line + 1}"
        raise UsageError(f"{where}: {twice.value!r} is there twice.", "Give each column a name of its own.")
    if not whole or not isinstance(whole, dict):
        raise UsageError(f"{path} has no columns.", _SHAPE)
    return tuple(_column(name, value, path) for name, value in whole.items())


def _twice(node: Any) -> Iterator[Any]:
    """The keys that are there twice, of which YAML would keep the last."""
    seen = set[str]()
    for key, value in node.value if node is not None and node.id == "mapping" else ():
        if str(key.value) in seen:
            yield key
        seen.add(str(key.value))
        yield from _twice(value)


def _column(name: Any, value: Any, path: Path) -> Column:
    given = {"question": value} if isinstance(value, str) else value if isinstance(value, dict) else {}
    unknown = [key for key in given if key not in _KEYS]
    if unknown:
        raise UsageError(f"{path}: {name!r} has the unknown key {unknown[0]!r}.", f"The keys are {', '.join(_KEYS)}.")
    try:
        renamed = {"kind" if key == "type" else key: value for key, value in given.items()}
        column = from_json(Column, {**renamed, "name": name})
    except ValueError as error:
        said = str(error).removeprefix("not Column: ").replace("kind: ", "type: ", 1)
        raise UsageError(f"{path}: {name!r}: {said}.", _SHAPE) from error
    if column.unit and column.kind != "number":
        raise UsageError(f"{path}: {name!r} has the unit {column.unit!r} and is no number.", "Add `type: number`.")
    if column.unit:
        converted(1.0, column.unit, column.unit)
    return column


def converted(number: float, unit: str, into: str) -> float | None:
    """The number in another unit; None where `unit` is none of that kind.

    Raises UsageError for an `into` that is no unit, and where pint is not installed.
    """
    units, problems = _units()
    try:
        wanted = units.Unit(into)
    except problems as error:
        raise UsageError(f"{into!r} is no unit that is known.", "Write it as hour, GB or mg/kg.") from error
    try:
        return float(units.Quantity(number, unit).to(wanted).magnitude) if _UNIT.fullmatch(unit) else None
    except problems:
        return None


@cache
def _units() -> tuple[Any, tuple[type[Exception], ...]]:
    """Pint's units, and what it raises."""
    try:
        import pint
    except ImportError as error:
        raise missing_package("The unit of a column", "pint", "tables", UsageError) from error
    return pint.UnitRegistry(), (pint.errors.PintError, AttributeError, ValueError, TypeError)
