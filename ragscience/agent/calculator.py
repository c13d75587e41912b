"""Arithmetic as a person writes it, worked out exactly and within bounds: nothing of it is ever run as code.

The expression is read by `ast`, and only numbers, operators and a few functions of it are understood. Numbers are
fractions, so that 0.1 + 0.2 is 0.3; roots and logarithms have 34 digits. What would grow too large is refused before it
is worked out.
"""

from __future__ import annotations

import ast
import decimal
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from ragscience.core.errors import UsageError

__all__ = ["calculate", "evaluate"]

MOST_CHARS = 300
MOST_BITS = 2048
"""Of a number's numerator and of its denominator: some 600 digits."""
SHOWN_DIGITS = 12
"""Significant digits of a result that is not an integer."""
MOST_PLACES = 30
"""Decimal places that `round` takes."""

_DIGITS = decimal.Context(
    prec=34,
    Emax=600,
    Emin=-600,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)
_SIGNS = str.maketrans({"×": "*", "·": "*", "∙": "*", "÷": "/", "−": "-", "–": "-", "⁄": "/", "^": "**"})
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_PERCENT = re.compile(r"%(?=\s*(?:$|[),*/]|of\b))")
_UNCLEAR_PERCENT = re.compile(r"%\s*[+-]")
_UNCLEAR_SUM = re.compile(r"[\w.)%]\s*[+-]\s*[\d.]+\s*%\s*(?:$|[),])")
_OF = re.compile(r"\bof\b", re.IGNORECASE)
_TOKEN = re.compile(r"\s+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3}(?!\d))?|\*\*|//|[-+*/%(),]|[A-Za-z_]\w*")
_HOW = (
    "Write numbers, + - * / // % **, parentheses, and sqrt, abs, min, max, round, floor, ceil, exp, log, log2 or log10."
)


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
    if len(expression) > MOST_CHARS:
        raise UsageError(f"The expression has {len(expression)} characters.", f"At most {MOST_CHARS} are worked out.")
    text = _as_written(expression)
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UsageError(f"{_named(expression)} cannot be read as arithmetic.", _HOW) from None
    try:
        return _Value(text).of(tree.body)
    except (ZeroDivisionError, decimal.DivisionByZero):
        raise UsageError(f"{_named(expression)} divides by zero.", "It has no value.") from None
    except decimal.InvalidOperation:
        raise UsageError(f"{_named(expression)} has no real value.", "Change it.") from None
    except decimal.Overflow:
        raise _too_large(_named(expression)) from None
    except RecursionError:
        raise UsageError(f"{_named(expression)} is nested too deep.", "Work it out in parts.") from None


def _as_written(expression: str) -> str:
    """The expression in Python syntax. Raises UsageError for anything that is not arithmetic."""
    text = " ".join(expression.translate(_SIGNS).split()).rstrip("=? ")
    if not re.search(r"[A-Za-z]", _OF.sub("", text)):
        text = _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text)
    if _UNCLEAR_PERCENT.search(text):
        raise UsageError(f"In {_named(expression)}, % may be a percentage or a remainder.", "Use parentheses.")
    if _UNCLEAR_SUM.search(text):
        raise UsageError(f"In {_named(expression)}, it is not clear of what the percentage is.", "Write 20% of 100.")
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


class _Value:
    """Works out the tree of one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def of(self, node: ast.expr) -> Fraction:
        """The value of a part. Raises UsageError, ZeroDivisionError and decimal's signals."""
        match node:
            case ast.Constant():
                return _bounded(Fraction(self._source(node)), self._source(node))
            case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
                value = self.of(node.operand)
                return -value if isinstance(node.op, ast.USub) else value
            case ast.BinOp(op=ast.Pow()):
                return _power(self.of(node.left), self.of(node.right))
            case ast.BinOp() if type(node.op) in _OPERATORS:
                result = _OPERATORS[type(node.op)](self.of(node.left), self.of(node.right))
                return _bounded(Fraction(result), self._source(node))
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
                fewest, most, function = _FUNCTIONS[name]
                if not fewest <= len(node.args) <= most:
                    raise UsageError(f"{name} takes {_count(fewest, most)}, not {len(node.args)}.", _HOW)
                return _bounded(function(*(self.of(argument) for argument in node.args)), self._source(node))
        raise UsageError(f"{_named(self._source(node))} is no arithmetic.", _HOW)

    def _source(self, node: ast.expr) -> str:
        return self._text[node.col_offset : node.end_col_offset]


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        if base < 0:
            raise decimal.InvalidOperation
        return _bounded(Fraction(_DIGITS.power(_decimal(base), _decimal(exponent))), "the power")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(base) not in (0, 1) and bits * abs(exponent.numerator) > 2 * MOST_BITS:
        raise _too_large(f"{_short(base)} ** {_short(exponent)}")
    return _bounded(Fraction(base**exponent.numerator), "the power")


def _root(value: Fraction) -> Fraction:
    return Fraction(_DIGITS.sqrt(_decimal(value)))


def _rounded(value: Fraction, places: Fraction | None = None) -> Fraction:
    """To the nearest, a half to the even one, as Python's `round`."""
    if places is None:
        return Fraction(round(value))
    if places.denominator != 1 or abs(places) > MOST_PLACES:
        raise UsageError(f"round takes whole places up to {MOST_PLACES}, not {_short(places)}.", _HOW)
    return Fraction(round(value, places.numerator))


def _logarithm(value: Fraction, base: Fraction | None = None) -> Fraction:
    natural = _DIGITS.ln(_positive(value))
    return Fraction(natural if base is None else _DIGITS.divide(natural, _DIGITS.ln(_positive(base))))


def _positive(value: Fraction) -> Decimal:
    if value <= 0:
        raise decimal.InvalidOperation
    return _decimal(value)


def _decimal(value: Fraction) -> Decimal:
    return _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Fraction]]] = {
    "sqrt": (1, 1, _root),
    "abs": (1, 1, abs),
    "min": (1, 99, lambda *values: min(values)),
    "max": (1, 99, lambda *values: max(values)),
    "round": (1, 2, _rounded),
    "floor": (1, 1, lambda value: Fraction(value.__floor__())),
    "ceil": (1, 1, lambda value: Fraction(value.__ceil__())),
    "exp": (1, 1, lambda value: Fraction(_DIGITS.exp(_decimal(value)))),
    "log": (1, 2, _logarithm),
    "log2": (1, 1, lambda value: _logarithm(value, Fraction(2))),
    "log10": (1, 1, lambda value: Fraction(_DIGITS.log10(_positive(value)))),
}
"""Name: fewest and most arguments, and what it does. `log` is the natural one unless a base is given."""


def _bounded(value: Fraction, what: str) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        raise _too_large(_named(what))
    return value


def _too_large(what: str) -> UsageError:
    return UsageError(f"{what} is too large or too fine.", f"Numbers may have some {MOST_BITS * 3 // 10} digits.")


def _named(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:20]}..."


def _count(fewest: int, most: int) -> str:
    if fewest == most:
        return "1 argument" if most == 1 else f"{most} arguments"
    return f"{fewest} to {most} arguments"
