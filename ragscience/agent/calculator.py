"""Arithmetic as a person writes it, worked out exactly and within bounds: nothing of it is ever run as code.

The expression is read by `ast`, and only numbers, operators and a few functions of it are understood. Numbers are
fractions, so that 0.1 + 0.2 is 0.3; roots and logarithms are floats. What would grow too large is refused before it is
worked out.
"""

from __future__ import annotations

import ast
import decimal
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from ragscience.core.errors import UsageError

MOST_CHARS = 300
MOST_BITS = 2048
"""Of a number's numerator and of its denominator: some 600 digits."""
SHOWN_DIGITS = 12
"""Significant digits of a result that is not an integer."""
MOST_PLACES = 30
"""Decimal places that `round` takes."""

_SIGNS = str.maketrans({"×": "*", "·": "*", "∙": "*", "÷": "/", "−": "-", "–": "-", "⁄": "/", "^": "**"})
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_PERCENT = re.compile(r"%(?=\s*(?:$|[),*/]|of\b))")
_UNCLEAR_PERCENT = re.compile(r"%\s*[+-]")
_UNCLEAR_SUM = re.compile(r"[\w.)%]\s*[+-]\s*[\d.]+\s*%\s*(?:$|[),])")
_OF = re.compile(r"\bof\b", re.IGNORECASE)
_TOKEN = re.compile(r"\s+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3}(?!\d))?|\*\*|//|[-+*/%(),]|[A-Za-z_]\w*")
_LARGEST = f"Numbers may have some {MOST_BITS * 3 // 10} digits."
_HOW = "Write numbers, + - * / // % **, parentheses, and functions: sqrt, abs, min, max, round, floor, ceil, exp, log."


def calculate(expression: str) -> str:
    """The value of an arithmetic expression: a whole number in full, else at most 12 significant digits.

    `^` is a power, `15% of 80` is 12, and `1,000` is a thousand where no function is called. Raises UsageError, in one
    line, for what is no arithmetic, has no value (1/0) or gets too large (9**9**9).
    """
    value = evaluate(expression)
    if value.denominator == 1:
        return str(value.numerator)
    shown = decimal.Context(prec=SHOWN_DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{shown:f}" if -7 < shown.adjusted() < SHOWN_DIGITS else f"{shown}"


def evaluate(expression: str) -> Fraction:
    """The value as `calculate` works it out. Raises UsageError."""
    shown = repr(_shortened(" ".join(expression.split())))
    if len(expression) > MOST_CHARS:
        raise UsageError(f"The expression has {len(expression)} characters.", f"At most {MOST_CHARS} are worked out.")
    text = _as_written(expression, shown)
    try:
        return _value(ast.parse(text, mode="eval").body, text)
    except (SyntaxError, ValueError, MemoryError):  # of Python's parser
        raise UsageError(f"{shown} cannot be read as arithmetic.", _HOW) from None
    except ZeroDivisionError:
        raise UsageError(f"{shown} divides by zero.", "It has no value.") from None
    except OverflowError:
        raise UsageError(f"{shown} is too large or too fine.", _LARGEST) from None
    except RecursionError:
        raise UsageError(f"{shown} is nested too deep.", "Work it out in parts.") from None


def _as_written(expression: str, shown: str) -> str:
    """The expression in Python syntax. Raises UsageError for anything that is not arithmetic."""
    text = " ".join(expression.translate(_SIGNS).split()).rstrip("=? ")
    if not re.search(r"[A-Za-z]", _OF.sub("", text)):
        text = _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text)
    if _UNCLEAR_PERCENT.search(text):
        raise UsageError(f"In {shown}, % may be a percentage or a remainder.", "Use parentheses.")
    if _UNCLEAR_SUM.search(text):
        raise UsageError(f"In {shown}, it is not clear of what the percentage is.", "Write 20% of 100.")
    text = _OF.sub("*", _PERCENT.sub("/100", text))
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise UsageError(f"{text[at]!r} is no arithmetic.", _HOW)
        name = token.group()
        if (name[0].isalpha() or name[0] == "_") and name not in _FUNCTIONS:
            raise UsageError(f"{name!r} is no number and no function.", _HOW)
        at = token.end()
    return text


def _value(node: ast.expr, text: str) -> Fraction:
    """The value of a part of `text`. Raises UsageError and ArithmeticError."""
    source = text[node.col_offset : node.end_col_offset]
    match node:
        case ast.Constant():
            return _bounded(Fraction(source))
        case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
            value = _value(node.operand, text)
            return -value if isinstance(node.op, ast.USub) else value
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _bounded(Fraction(_OPERATORS[type(node.op)](_value(node.left, text), _value(node.right, text))))
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            most, function = _FUNCTIONS[name]
            if not 1 <= len(node.args) <= most:
                takes = "1 argument" if most == 1 else f"1 to {most} arguments"
                raise UsageError(f"{name} takes {takes}, not {len(node.args)}.", _HOW)
            return _bounded(Fraction(function(*(_value(argument, text) for argument in node.args))))
    raise UsageError(f"{_shortened(source)!r} is no arithmetic.", _HOW)


def _power(base: Fraction, exponent: Fraction) -> Fraction | float:
    if exponent.denominator != 1:
        return _real(math.pow)(base, exponent)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(base) not in (0, 1) and bits * abs(exponent.numerator) > 2 * MOST_BITS:
        what = " ** ".join(_shortened(str(value)) for value in (base, exponent))
        raise UsageError(f"{what} is too large or too fine.", _LARGEST)
    return Fraction(base**exponent.numerator)


def _real(function: Callable[..., float]) -> Callable[..., float]:
    """A function of floats that raises UsageError where it has no real value."""

    def worked_out(*values: Fraction) -> float:
        try:
            return function(*map(float, values))
        except ValueError:
            said = ", ".join(_shortened(str(value)) for value in values)
            raise UsageError(f"{said} has no real value here.", "Change it.") from None

    return worked_out


def _rounded(value: Fraction, places: Fraction = Fraction(0)) -> Fraction:
    """To the nearest, a half to the even one, as Python's `round`."""
    if places.denominator != 1 or abs(places) > MOST_PLACES:
        raise UsageError(f"round takes whole places up to {MOST_PLACES}, not {_shortened(str(places))}.", _HOW)
    return Fraction(round(value, places.numerator))


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        raise OverflowError
    return value


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | float | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_FUNCTIONS: dict[str, tuple[int, Callable[..., Fraction | float | int]]] = {
    **{name: (1, _real(getattr(math, name))) for name in ("sqrt", "exp", "log2", "log10")},
    **{name: (1, function) for name, function in (("abs", abs), ("floor", math.floor), ("ceil", math.ceil))},
    **{name: (99, lambda *values, of=of: of(values)) for name, of in (("min", min), ("max", max))},
    "round": (2, _rounded),
    "log": (2, _real(math.log)),
}
"""Name: most arguments, and what it does. `log` is the natural one unless a base is given."""
