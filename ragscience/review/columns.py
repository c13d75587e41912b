"""The columns of a literature matrix, from a YAML file of questions."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ragscience.core.errors import UsageError, missing_package
from ragscience.core.system import small_text

KINDS = ("text", "number", "yes/no", "list", "date")
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
    kind: str = "text"
    """One of KINDS."""
    unit: str = ""
    """Of a number: what it is converted to; empty: it stays as printed."""
    agree: bool = False
    """Whether it asks all papers for the same thing, so that different values are to be marked."""


def read_columns(path: Path) -> tuple[Column, ...]:
    """The columns of a YAML file, in its order. Raises UsageError with what is wrong, and how it is right."""
    import yaml

    try:
        text = small_text(path, _MOST_BYTES)
        _refuse_twice(yaml.compose(text, Loader=yaml.SafeLoader), path)
        whole = yaml.safe_load(text)
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror or error}."
        raise UsageError(what, "Name a YAML file of questions.") from error
    except yaml.YAMLError as error:
        mark, what = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        where = f", line {mark.line + 1}" if mark else ""
        fix = "Put a name or question with : # { [ or ? in it into quotes."
        raise UsageError(f"{path}{where}: {' '.join(what.split())}.", fix) from error
    except RecursionError as error:
        raise UsageError(f"{path} is nested too deep.", _SHAPE) from error
    if not whole:
        raise UsageError(f"{path} has no columns.", _SHAPE)
    if not isinstance(whole, dict):
        raise UsageError(f"{path} has no names of columns.", _SHAPE)
    return tuple(_column(name, value, path) for name, value in whole.items())


def _refuse_twice(node: Any, path: Path) -> None:
    """Raise UsageError for a name that is there twice, of which YAML would keep the last."""
    seen = set[str]()
    for key, value in node.value if node is not None and node.id == "mapping" else ():
        if str(key.value) in seen:
            where = f"{path}, line {key.start_mark.line + 1}"
            raise UsageError(f"{where}: {key.value!r} is there twice.", "Give each column a name of its own.")
        seen.add(str(key.value))
        _refuse_twice(value, path)


def _column(name: Any, value: Any, path: Path) -> Column:
    if not isinstance(name, str):
        raise UsageError(f"{path}: YAML reads the name {name!r} as no text.", "Put it into quotes.")
    given = {"question": value} if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise UsageError(f"{path}: the column {name!r} has no question.", _SHAPE)
    for key in given:
        if key not in _KEYS:
            raise UsageError(f"{path}: {name!r} has the unknown key {key!r}.{_meant(key, _KEYS)}", _keys())
    question, kind, unit, agree = (given.get(key) for key in _KEYS)
    if not isinstance(question, str) or not question.strip():
        raise UsageError(f"{path}: the column {name!r} has no question.", _SHAPE)
    kind = "text" if kind is None else kind
    if kind not in KINDS:
        raise UsageError(f"{path}: {name!r} has the unknown type {kind!r}.{_meant(kind, KINDS)}", _kinds())
    if unit is not None and (kind != "number" or not isinstance(unit, str)):
        raise UsageError(f"{path}: {name!r} has the unit {unit!r} and is no number.", "Add `type: number`.")
    if agree not in (None, True, False):
        raise UsageError(f"{path}: `agree` of {name!r} is {agree!r}.", "Write true or false.")
    if unit:
        converted(1.0, unit, unit)
    return Column(" ".join(name.split()), question.strip(), kind, unit or "", bool(agree))


def _meant(word: Any, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(str(word), known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _keys() -> str:
    return f"The keys are {', '.join(_KEYS)}."


def _kinds() -> str:
    return f"The types are {', '.join(KINDS)}."


def converted(number: float, unit: str, into: str) -> float | None:
    """The number in another unit; None where `unit` is none of that kind.

    Raises UsageError for an `into` that is no unit, and where pint is not installed.
    """
    try:
        import pint
    except ImportError as error:
        raise missing_package("The unit of a column", "pint", "tables", UsageError) from error
    units, problems = _units(), (pint.errors.PintError, AttributeError, ValueError, TypeError)
    try:
        wanted = units.Unit(into)
    except problems as error:
        raise UsageError(f"{into!r} is no unit that is known.", "Write it as hour, GB or mg/kg.") from error
    try:
        return float(units.Quantity(number, unit).to(wanted).magnitude) if _UNIT.fullmatch(unit) else None
    except problems:
        return None


@cache
def _units() -> Any:
    import pint

    return pint.UnitRegistry()
