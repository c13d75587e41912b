"""Numbers in the path of a request, as digits alone: each number has one address."""

from pydantic import BeforeValidator

__all__ = ["IN_DIGITS"]


def _in_digits(value: object) -> object:
    """The same value. Raises ValueError for a text that Pydantic would take for a number: `1.0`, `+1`, `01`, `1_0`."""
    if isinstance(value, str) and value != str(int(value)):
        raise ValueError("not a number in digits")
    return value


IN_DIGITS = BeforeValidator(_in_digits)
"""For the annotation of a number."""
