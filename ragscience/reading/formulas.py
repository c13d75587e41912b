"""Displayed formulas as text like LaTeX, from the places and sizes of their glyphs and the rules drawn between them.

Symbols stay Unicode characters; fractions, roots, accents, indices and exponents are written with LaTeX's commands. A
line of a formula whose layout is not sure is put between `UNSURE`'s signs, as plain text.

Sizes are those of TeX (The TeXbook, appendix G): a numerator stands .68 of the font size above its axis, which is .25
above the base line; indices and exponents have .7 of the size and are shifted by .15 to .45.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragscience.core.records import Box
from ragscience.core.sentences import UNSURE
from ragscience.reading.text_rows import grouped, runs
from ragscience.reading.text_spans import ASCENT, AXIS, DESCENT, LARGE, TextPiece, box_around, hanging_height

_SMALL = 0.86
"""The size of an index relative to what it is at, at most."""
_PIECES = {"(": "⎛⎜⎝", ")": "⎞⎟⎠", "[": "⎡⎢⎣", "]": "⎤⎥⎦", "|": "|", "‖": "‖"}
"""What TeX puts large brackets together of."""
_FENCES = frozenset("()[]{}|‖")
_UNREAD = "\ufffd"
"""What makes the line unsure that has it."""
_NOT_READ = frozenset(f"⎧⎨⎩⎪⎫⎬⎭{_UNREAD}√")
_ACCENTS = {"ˆ": "hat", "^": "hat", "˜": "tilde", "~": "tilde", "¯": "bar", "˙": "dot", "¨": "ddot", "ˇ": "check"}
_ACCENTS |= {"⃗": "vec", "→": "overrightarrow", "←": "overleftarrow", "ˉ": "bar", "´": "acute", "\u0302": "hat"}
_ACCENTS |= {"\u0303": "tilde", "\u0304": "bar", "\u0305": "bar", "\u20d6": "overleftarrow"}
_LIMITS = re.compile(r"max|min|lim(?: ?sup| ?inf)?|sup|inf|argm(?:ax|in)|Pr|det|gcd")
_ESCAPED = str.maketrans({"{": r"\{", "}": r"\}", "_": r"\_", "^": r"\^", "\\": r"\backslash "})


@dataclass(frozen=True, slots=True)
class FormulaPart:
    """A glyph, or what was read of several: text with its box and its base line, in points."""

    text: str
    x0: float
    x1: float
    y0: float
    y1: float
    base: float
    size: float
    kind: str = ""
    """"large" for brackets and sums that stand on every line, "fraction", or empty."""

    @property
    def middle(self) -> float:
        """Of its width."""
        return (self.x0 + self.x1) / 2


@dataclass(frozen=True, slots=True)
class PageGlyphs:
    """The glyphs of a page, and the thin horizontal rules on it."""

    glyphs: tuple[FormulaPart, ...]
    rules: tuple[Box, ...]


def glyph(text: str, box: Box, base: float, size: float, font: str) -> FormulaPart:
    """A glyph of a page; `box` gives its width alone, as its height is that of its font."""
    x0, x1 = box[0], box[2]
    height = hanging_height(text, x1 - x0, size, font)
    if not height:
        kind = "large" if text in LARGE else ""
        return FormulaPart(text, x0, x1, base - ASCENT * size, base + DESCENT * size, base, size, kind)
    return FormulaPart(text, x0, x1, base, base + height, base + height / 2 + AXIS * size, size, "large")


def read_formula(page: PageGlyphs, pieces: Sequence[TextPiece]) -> list[tuple[str, Box]]:
    """The lines of a formula with their boxes; `pieces` are its text."""
    inside = [one for one in page.glyphs if any(_is_in(one, piece) for piece in pieces)]
    if not inside:
        return []
    around = _around(inside)
    rules = [one for one in page.rules if around[0] - 2 < one[0] and one[2] < around[2] + 2]
    rules = [one for one in rules if around[1] - 3 < one[1] and one[3] < around[3] + 3]
    parts, unread = _with_roots_and_fractions(_with_limits(_with_accents(_with_brackets(inside))), rules)
    lines = [(_read(line), line, _around(line)) for line in _lines(parts)]
    own = set(map(id, inside))
    foreign = [(one.middle, one.base) for one in page.glyphs if id(one) not in own]
    foreign += [((x0 + x1) / 2, y0) for x0, y0, x1, _ in unread]
    is_balanced = _balance("".join(text for text, *_ in lines)) == 0
    found = []
    for text, _, (x0, y0, x1, y1) in lines:
        is_sure = _UNREAD not in text and (is_balanced or not _balance(text))
        if not is_sure or any(x0 < x < x1 and y0 < y < y1 for x, y in foreign):
            own_glyphs = [one for one in inside if x0 <= one.middle <= x1 and y0 - 1 <= one.base <= y1 + 1]
            text = f"{UNSURE[0]}{_plain(own_glyphs)}{UNSURE[1]}"
        found.append((text, (x0, y0, x1, y1)))
    return found


def _balance(text: str) -> int:
    """How many more brackets are opened than closed, or the reverse."""
    return sum(abs(text.count(first) - text.count(last)) for first, last in ("()", "[]"))


def _with_brackets(parts: Sequence[FormulaPart]) -> list[FormulaPart]:
    """The parts with each large bracket that is put together of pieces as one."""
    found: list[FormulaPart] = []
    stacks: dict[tuple[str, int], list[FormulaPart]] = {}
    for one in parts:
        whole = next((whole for whole, pieces in _PIECES.items() if one.text in pieces), "")
        if whole and (one.kind or one.text not in _FENCES):
            stacks.setdefault((whole, round(one.x0)), []).append(one)
        else:
            found.append(one)
    for (whole, _), pieces in stacks.items():
        x0, y0, x1, y1 = _around(pieces)
        size = pieces[0].size
        is_tall = len(pieces) > 1 or pieces[0].kind
        base = (y0 + y1) / 2 + AXIS * size if is_tall else pieces[0].base
        found.append(FormulaPart(whole, x0, x1, y0, y1, base, size, "large" if is_tall else ""))
    return found


def _plain(glyphs: Iterable[FormulaPart]) -> str:
    """The glyphs from left to right."""
    text, right = "", 0.0
    for one in sorted(glyphs, key=lambda one: one.x0):
        text += (" " if text and one.x0 - right > 0.2 * one.size else "") + one.text
        right = one.x1
    return text


def _is_in(one: FormulaPart, piece: TextPiece) -> bool:
    # The base line of a span that begins with a blank is that of the blank.
    if not piece.x0 - 0.5 <= one.middle <= piece.x1 + 0.5:
        return False
    bases = [span.base for span in piece.spans]
    return min(bases) - 0.5 * piece.size < one.base < max(bases) + 0.5 * piece.size


def _around(parts: Sequence[FormulaPart]) -> Box:
    return box_around((one.x0, one.y0, one.x1, one.y1) for one in parts)


def _with_accents(parts: Sequence[FormulaPart]) -> list[FormulaPart]:
    """The parts with accents put on the letters below them."""
    hosts = dict(enumerate(parts))
    for at, accent in enumerate(parts):
        name = _ACCENTS.get(accent.text)
        if not name:
            continue
        near = [
            (abs(one.middle - accent.middle), other)
            for other, one in hosts.items()
            if other != at and one.text.isalnum()
            and one.x0 - 0.1 * one.size < accent.middle < one.x1 + 0.1 * one.size
            and -0.1 * one.size < one.base - accent.base < 0.9 * one.size
        ]  # fmt: skip
        if near:
            one = hosts[min(near)[1]]
            hosts[min(near)[1]] = replace(one, text=f"\\{name}{{{one.text}}}")
            del hosts[at]
    return list(hosts.values())


def _with_limits(parts: list[FormulaPart]) -> list[FormulaPart]:
    """The parts with the limits above and below sums and the like as indices and exponents of these."""
    operators = [one for one in parts if one.text in LARGE] + _words(parts)
    small: list[list[FormulaPart]] = []
    largest = max(one.size for one in operators) if operators else 0.0
    rest = sorted((one for one in parts if one.size <= _SMALL * largest), key=lambda one: one.x0)
    for one in rest:
        near = (run for run in reversed(small) if one.x0 - run[-1].x1 < 0.35 * run[0].size)
        run = next((run for run in near if abs(one.base - run[0].base) < 0.5 * run[0].size), None)
        if run is None:
            small.append(run := [])
        run.append(one)
    for operator in operators:
        found = {}
        for run in small:
            x0, y0, x1, y1 = _around(run)
            size = operator.size
            if run[0].size > _SMALL * size or abs((x0 + x1) / 2 - operator.middle) > 0.25 * size:
                continue
            if -0.35 * size <= y0 - operator.y1 <= 0.6 * size:
                found["_"] = run
            elif -0.35 * size <= operator.y0 - y1 <= 0.6 * size:
                found["^"] = run
        if not found:
            continue
        own = [one for one in parts if one.base == operator.base and operator.x0 <= one.middle <= operator.x1]
        used = [*own, *(one for run in found.values() for one in run)]
        text = operator.text + "".join(mark + _braced(_read(found[mark])) for mark in "_^" if mark in found)
        _, y0, _, y1 = _around(used)
        kept = {id(one) for one in used}
        small = [run for run in small if run not in found.values()]
        parts = [one for one in parts if id(one) not in kept]
        parts.append(replace(operator, text=text, y0=y0, y1=y1, kind="large"))
    return parts


def _words(parts: Sequence[FormulaPart]) -> list[FormulaPart]:
    """The names of functions that have limits, such as "max", as parts."""
    found = []
    for line in grouped(((one.base, one.size), one) for one in parts).values():
        line.sort(key=lambda one: one.x0)
        text = ""
        starts = []
        for before, one in zip([None, *line], line, strict=False):
            if before and one.x0 - before.x1 > 0.12 * one.size:
                text += " "
                starts.append(one)
            text += one.text[:1]
            starts.append(one)
        for match in re.finditer(rf"(?<![a-zA-Z])(?:{_LIMITS.pattern})(?![a-zA-Z])", text):
            first, last = starts[match.start()], starts[match.end() - 1]
            found.append(replace(first, text=match[0], x1=last.x1))
    return found


def _with_roots_and_fractions(parts: list[FormulaPart], rules: Sequence[Box]) -> tuple[list[FormulaPart], list[Box]]:
    """The parts with each fraction and root as one, the innermost first, and the rules that made none."""
    unread: list[Box] = []
    for x0, y0, x1, y1 in sorted(rules, key=lambda rule: rule[2] - rule[0]):
        root = _root_of((x0, y0, x1, y1), parts)
        across = [one for one in parts if x0 - 1 <= one.middle <= x1 + 1 and one is not root]
        below = _stack(across, y1, 1)
        above = _stack(across, y0, -1) if root is None else []
        if root is not None and below:
            used, text = [root, *below], f"\\sqrt{{{_read(below)}}}"
            base, size = _stand(below)
            new = replace(root, text=text, x1=x1, y0=y0, y1=_around(below)[3], base=base, size=size)
        elif above and below:
            used = above + below
            text = f"\\frac{{{_read(above)}}}{{{_read(below)}}}"
            size = max(one.size for one in used)
            new = FormulaPart(text, x0, x1, _around(above)[1], _around(below)[3], y0 + AXIS * size, size, "fraction")
        else:
            unread.append((x0, y0, x1, y1))
            continue
        parts = [one for one in parts if one not in used] + [new]
    return parts, unread


def _root_of(rule: Box, parts: Sequence[FormulaPart]) -> FormulaPart | None:
    """The sign of a root that ends where the rule begins."""
    x, y = rule[:2]
    signs = [one for one in parts if one.text == "√" and abs(one.x1 - x) < 0.07 * one.size]
    signs = [one for one in signs if one.y0 - 6 * one.size < y < one.y1]
    return min(signs, key=lambda one: abs(one.y0 - y), default=None)


def _stand(parts: Sequence[FormulaPart]) -> tuple[float, float]:
    """The base line and size that most of the width of the parts has."""
    widths: defaultdict[tuple[float, float], float] = defaultdict(float)
    size = max(one.size for one in parts)
    for one in parts:
        if one.size > _SMALL * size:
            widths[round(one.base, 1), one.size] += one.x1 - one.x0
    return max(widths, key=lambda stand: widths[stand])


def _stack(parts: Iterable[FormulaPart], edge: float, step: int) -> list[FormulaPart]:
    """The parts below (`step` 1) or above a rule at `edge` that stand on each other without a gap."""
    found: list[FormulaPart] = []
    ahead = [one for one in parts if ((one.y0 + one.y1) / 2 - edge) * step > 0]
    ahead.sort(key=lambda one: one.y0 if step > 0 else -one.y1)
    for one in ahead:
        near, far = (one.y0, one.y1) if step > 0 else (one.y1, one.y0)
        gap = (near - edge) * step
        if gap > (0.1 if found else 0.65) * one.size:
            break
        found.append(one)
        edge = max(edge * step, far * step) * step
    return found


def _lines(parts: list[FormulaPart]) -> list[list[FormulaPart]]:
    """The parts of each line, from top to bottom."""
    size = max(one.size for one in parts if one.kind != "large" or len(parts) == 1) if parts else 0.0
    full = sorted((one for one in parts if one.size > _SMALL * size and not one.kind), key=lambda one: one.base)
    bases = runs(full, lambda line, one: one.base - line[-1].base < 0.9 * size)
    stands = [_stand(line)[0] for line in bases] or [parts[0].base]
    for one in parts:
        inside = [base for base in stands if one.y0 < base - 0.4 * size and base < one.y1]
        if one.text in _FENCES and one.kind and len(inside) > 1:
            # A matrix or a list of cases: its lines are read as one, which fails.
            stands = [base for base in stands if base not in inside[1:]]
    lines: list[list[FormulaPart]] = [[] for _ in stands]
    for one in parts:
        near = min(range(len(stands)), key=lambda at: abs(stands[at] - one.base))
        lines[near].append(one)
    return [line for line in lines if line]


def _read(parts: Sequence[FormulaPart]) -> str:
    """The text of parts on one line with their indices and exponents."""
    parts = sorted(parts, key=lambda one: one.x0)
    plain = [one for one in parts if not one.kind] or parts
    base, size = _stand(plain)
    text, shifted, right = "", list[FormulaPart](), parts[0].x0
    for one in parts:
        if any(sign in _NOT_READ for sign in one.text):
            return _UNREAD
        off = abs(one.base - base)
        if off <= 0.06 * size or (one.kind and off < (1 if one.kind == "large" else 0.35) * size):
            text += _scripts(text, shifted, base, size)
            shifted = []
            text += " " if text and one.x0 - right > 0.2 * size else ""
            text += one.text.translate(_ESCAPED) if len(one.text) == 1 else one.text
        elif one.size > _SMALL * size:
            return _UNREAD
        else:
            shifted.append(one)
        right = max(right, one.x1)
    return text + _scripts(text, shifted, base, size)


def _scripts(text: str, parts: Sequence[FormulaPart], base: float, size: float) -> str:
    """The index and the exponent that these parts make of what `text` ends with."""
    if not parts:
        return ""
    if not text:
        return _UNREAD  # they belong to a sign that is not here
    sides: tuple[list[FormulaPart], list[FormulaPart]] = [], []
    side = 0
    for before, one in zip([None, *parts], parts, strict=False):
        if not -0.75 * size < one.base - base < 1.6 * size and not -1.6 * size < one.base - base:
            return _UNREAD
        is_nested = before and one.size <= _SMALL * before.size and one.x0 - before.x1 < 0.3 * before.size
        if not is_nested:
            side = one.base < base
        sides[side].append(one)
    below, above = (_read(one) if one else "" for one in sides)
    primes = re.match("′*", above.replace("'", "′"))[0]  # type: ignore[index]
    above = above[len(primes) :]
    return primes + (f"_{_braced(below)}" if below else "") + (f"^{_braced(above)}" if above else "")


def _braced(text: str) -> str:
    return text if len(text) == 1 else f"{{{text}}}"
