"""Arithmetic as a person writes it, worked out within bounds by simpleeval: nothing of it is ever run as code."""

import ast
import math
import re

from ragscience.core.errors import UsageError

MOST_CHARS = 300
MOST_BITS = 2048
"""Of a whole number: some 600 digits."""
SHOWN_DIGITS = 12
"""Significant digits of a result that is not a whole number."""

_SIGNS = str.maketrans({"×": "*", "·": "*", "∙": "*", "÷": "/", "−": "-", "–": "-", "⁄": "/", "^": "**"})
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_LARGEST = f"Numbers may have some {MOST_BITS * 3 // 10} digits."
_HOW = "Write numbers, + - * / // **, parentheses, and functions: sqrt, abs, min, max, round, floor, ceil, exp, log."


def calculate(expression: str) -> str:
    """The value of an arithmetic expression: a whole number in full, else at most 12 significant digits.

    `^` is a power, and `1,000` is a thousand where no function is called. It knows no percentages. Raises UsageError,
    in one line, for what is no arithmetic, has no value (1/0) or gets too large (9**9**9).
    """
    from simpleeval import DEFAULT_OPERATORS, InvalidExpression, SimpleEval

    shown = repr(_shortened(" ".join(expression.split())))
    if len(expression) > MOST_CHARS:
        raise UsageError(f"The expression has {len(expression)} characters.", f"At most {MOST_CHARS} are worked out.")
    text = _as_written(expression, shown)
    try:
        operators = {**DEFAULT_OPERATORS, ast.Pow: _power}
        value = SimpleEval(operators=operators, functions=_FUNCTIONS, names={}).eval(text)
    except ZeroDivisionError:
        raise UsageError(f"{shown} divides by zero.", "It has no value.") from None
    except OverflowError:
        raise UsageError(f"{shown} is too large.", _LARGEST) from None
    except (InvalidExpression, SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        no_value = isinstance(error, ValueError) and "math domain" in str(error)
        why = "has no real value" if no_value else "cannot be read as arithmetic"
        raise UsageError(f"{shown} {why}.", _HOW) from None
    if isinstance(value, complex):
        raise UsageError(f"{shown} has no real value.", _HOW)
    if not isinstance(value, int | float):
        raise UsageError(f"{shown} cannot be read as arithmetic.", _HOW)
    if value.bit_length() > MOST_BITS if isinstance(value, int) else not math.isfinite(value):
        raise UsageError(f"{shown} is too large.", _LARGEST)
    return str(value) if isinstance(value, int) else f"{value:.{SHOWN_DIGITS}g}"


def _as_written(expression: str, shown: str) -> str:
    """The expression in Python syntax. Raises UsageError for anything that is not arithmetic."""
    text = " ".join(expression.translate(_SIGNS).split()).rstrip("=? ")
    if not re.search(r"[A-Za-z]", text):
        text = _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text)
    if rest := _ARITHMETIC.sub("", text):
        raise UsageError(f"{shown} has {_shortened(rest)!r}, which is no arithmetic.", _HOW)
    return text


def _power(base: float, exponent: float) -> float:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > 2 * MOST_BITS:
        raise OverflowError
    value: float = base**exponent
    if base and not value:
        raise OverflowError
    return value


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


_FUNCTIONS = {name: getattr(math, name) for name in ("sqrt", "exp", "log", "log2", "log10", "floor", "ceil")} | {
    "abs": abs, "min": min, "max": max, "round": round,
}  # fmt: skip
"""`log` is the natural one unless a base is given."""
_ARITHMETIC = re.compile(
    r"\s+|(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?(?![\w.])|[-+*/(),]|"
    rf"(?<!\w)(?:{'|'.join(_FUNCTIONS)})(?!\w)"
)
"""Numbers, signs and functions."""
