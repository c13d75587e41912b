"""Which lines that begin with a number are headings: those whose numbers are in the sequence of a paper's sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragscience.reading.row_styles import Style

__all__ = ["Numbered", "in_sequence", "without_articles", "without_lists"]

_ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
_FIRST = 3
"""The third part of a section may be the first that was found."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A line that begins with a number."""

    index: int
    """Of its row in the document."""
    number: str
    """As printed, without the sign after it: "3.2" or "A.1"."""
    sign: str
    """The sign after it, ".", ":" or ")", or ""."""
    style: Style
    level: int = 1
    """From 1; a letter below a Roman number has level 2."""


def without_articles(found: Sequence[Numbered], references: int) -> list[Numbered]:
    """The lines but for those whose number is the first word of a title or the letter of a name.

    "A Page Behind …" stands above section 1, "I" has no "II", "D. Author" no "C". Sections with letters are appendices:
    there are two of them, or one has parts, or they come after the index `references` of the list of references.
    """
    first = min((one.index for one in found if one.number == "1"), default=-1)
    numbers = {one.number for one in found}

    def is_section(one: Numbered) -> bool:
        if one.number[0].isdigit() or len(one.number) > 1:
            return True
        is_article = one.number == "A" and one.index < first
        if not one.sign and (is_article or (one.number == "I" and not numbers & {"H", "II"})):
            return False
        near = {chr(ord(one.number) - 1), chr(ord(one.number) + 1)}
        has_near = any(other.number in near and other.sign == one.sign for other in found)
        is_roman = one.number in _ROMAN and numbers & {"II", "III"}
        return bool(has_near or is_roman or f"{one.number}.1" in numbers or one.index > references)

    return [one for one in found if is_section(one)]


def without_lists(found: Sequence[Numbered], core: Sequence[Style]) -> list[Numbered]:
    """The lines but for those of lists and tables of a paper whose sections have no numbers.

    `core` are the styles of such as "Introduction" and "Methods" that stand there without a number.
    """
    if len(core) < 3 or len(set(core)) > 2:
        return list(found)
    size = min(style[1] for style in core)
    return [one for one in found if one.style[1] > size]


def in_sequence(found: Sequence[Numbered], known: Sequence[Style]) -> list[Numbered]:
    """The lines whose numbers follow the one before or are the first below it, and others in the style of such.

    `known` are the styles of headings that are known by their name.
    """
    strict = _chain(found, {})
    counts = Counter([*(one.style for one in strict), *known])
    usual = {0: set(known)}
    for one in strict:
        if counts[one.style] >= 2:
            usual.setdefault(one.number.count("."), set()).add(one.style)
    return _chain(found, usual)


def _chain(found: Sequence[Numbered], usual: dict[int, set[Style]]) -> list[Numbered]:
    """The lines in sequence, and those in a style that is `usual` at the depth of their number."""
    kept: list[Numbered] = []
    seen: set[str] = set()
    common = Counter(one.sign for one in found if one.number.isdigit()).most_common(1)
    sign = common[0][0] if common else ""
    is_roman = {"I", "II"} <= {one.number for one in found}
    for one in found:
        if one.number in seen or (len(found) >= 6 and one.number.isdigit() and one.sign != sign):
            continue
        *above, last = one.number.split(".")
        is_usual = one.style in usual.get(one.number.count("."), ()) and len(last) <= 2
        if is_usual or _is_first(above, last, seen) or seen.intersection(_earlier(above, last)):
            level = one.number.count(".") + 1
            if is_roman and last in _ROMAN and not above:
                # The letters below a Roman number begin anew.
                seen = {number for number in seen if len(number) > 1 or number in _ROMAN}
            elif is_roman and not above and last.isalpha():
                level = 2
            kept.append(replace(one, level=level))
            seen.add(one.number)
    return kept


def _is_first(above: Sequence[str], last: str, seen: set[str]) -> bool:
    """Whether a number is the first below a section that is there, or the section before which is there."""
    if last not in ("1", "A", "I"):
        return False
    return not above or ".".join(above) in seen or bool(seen.intersection(_earlier(above[:-1], above[-1])))


def _earlier(above: Sequence[str], last: str) -> list[str]:
    """The numbers before one: up to two may have been missed, and the section above may be the last that was seen."""
    if last.isdigit():
        before = [str(int(last) - step) for step in (1, 2)]
        found = [".".join([*above, number]) for number in before]
        return [*found, ".".join(above)] if above and int(last) <= _FIRST else found
    before = [chr(ord(last) - 1)] if len(last) == 1 else []
    at = _ROMAN.index(last) if last in _ROMAN else 0
    return [".".join([*above, number]) for number in (*before, *_ROMAN[max(at - 2, 0) : at])]
