"""Headings: told by their numbers and well-known names, and by the type in which those of this document are set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ragscience.reading.text_rows import Measures, Placed, Row

__all__ = ["REFERENCES", "find_headings", "heading_number", "is_known_heading"]

_NUMBERED = re.compile(
    r"(?:(?P<word>appendix|annex)\s+)?(?P<number>(?:\d{1,2}|[A-Z]|[IVX]{2,5})(?:\.\d{1,2}){0,4})(?P<dot>[.:)]?)\s+(?P<rest>\S.*)",
    re.IGNORECASE,
)
REFERENCES = re.compile(r"references(?: and notes)?|bibliography|literature cited|works cited", re.IGNORECASE)
_KNOWN = re.compile(
    r"""abstract | (?:executive\ )?summary | (?:general\ )?introduction | background | related\ works? | preliminaries
    | (?:materials?\ and\ )?methods? | methodology | experiments? | evaluation | results? | results\ and\ discussion
    | discussion | (?:discussion\ and\ )?conclusions? | conclusions?\ and\ .{3,40} | future\ work | limitations
    | acknowledge?ments? | appendix | appendices | supplementary\ materials? | ethics\ statement | broader\ impacts?
    | references(?:\ and\ notes)? | bibliography | literature\ cited | works\ cited | contents | table\ of\ contents""",
    re.IGNORECASE | re.VERBOSE,
)
_NAME = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MATHS = re.compile(r"[∑∏∫√≤≥≈∥∂∇∈∞ˆ˜�]|\b[A-Za-z]{1,2}\([a-z]\)")
_LETTER = re.compile(r"[^\W\d_]")
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_LONGEST = 160
_MOST_LINES = 4

_Style = tuple[str, float, bool, bool, bool]


def find_headings(placed: Sequence[Placed], measures: Measures) -> None:
    """Give the rows that are headings the kind "heading" and their level; rows of one heading share a group."""
    candidates = [index for index in range(len(placed)) if _may_be(placed, index, measures)]
    numbered = {index: number for index in candidates if (number := _number_of(placed[index].row, measures))}
    known = {index for index in candidates if is_known_heading(placed[index].row.text)}
    if len(numbered) >= 6:
        # "Results:" in a box of a paper whose sections have numbers is none of them.
        known = {index for index in known if not placed[index].row.text.endswith(":")}
    styles: Counter[_Style] = Counter(_style(placed[index].row) for index in (*numbered, *known))
    counted = set(numbered)
    numbered = _in_sequence(placed, _without_articles(placed, numbered), styles)
    items = {index for index in counted - set(numbered) if placed[index].row.text[:1].isdigit()}
    styles = Counter(
        _style(placed[index].row) for index in {*numbered, *known} if _is_distinct(placed[index].row, measures)
    )
    chosen = {*numbered, *known}
    # What stands above the first of them on the first page is title and authors.
    head = min(chosen, default=0)
    candidates = [index for index in candidates if index > head or placed[index].page > placed[0].page]
    free = Counter(_style(placed[index].row) for index in candidates)
    heads = _heading_styles(placed, candidates, measures)
    for index in candidates:
        if index not in chosen | items and _is_free_heading(
            placed, index, measures, styles, free, heads, len(numbered)
        ):
            chosen.add(index)
    chosen = _without_entries(placed, chosen)
    _set_levels(placed, sorted(chosen), numbered, known)
    _extend(placed, sorted(chosen))


def _without_entries(placed: Sequence[Placed], chosen: set[int]) -> set[int]:
    """The headings without what only looks like one in a list of references, which is not set as those before it."""
    kept: set[int] = set()
    usual: set[tuple[str, float, bool]] = set()
    inside = False
    for index in sorted(chosen):
        style = _style(placed[index].row)[:3]
        if inside and style not in usual:
            continue
        inside = bool(REFERENCES.fullmatch(_without_number(placed[index].row.text).strip(" .:")))
        kept.add(index)
        usual.add(style)
    return kept


def is_known_heading(text: str) -> bool:
    """Whether a line says nothing but what a part of a paper is usually called."""
    return bool(_KNOWN.fullmatch(_without_number(text).strip(" .:—–-")))


def _without_number(text: str) -> str:
    match = _NUMBERED.fullmatch(text)
    return match["rest"] if match else text


def heading_number(text: str) -> str:
    """The number before a heading, "3.2" or "A.1", or ""."""
    match = _NUMBERED.fullmatch(text)
    return match["number"] if match else ""


def _style(row: Row) -> _Style:
    letters = [span for piece in row.pieces for span in piece.spans if _LETTER.search(span.text)]
    size = max((span.size for span in letters), default=row.size)
    return row.font, round(size * 2) / 2, row.bold, row.italic, _is_in_capitals(row.text)


def _is_in_capitals(text: str) -> bool:
    """Whether a line is set in capitals, a symbol or a name like "LoRA" among them aside."""
    if text.upper() == text:
        return True
    letters = [letter for word in _LONG_WORD.findall(text) for letter in word]
    return len(letters) >= 5 and sum(map(str.islower, letters)) <= 0.1 * len(letters)


def _is_run_in(row: Row) -> bool:
    """Whether a row begins in one type and ends in another, as the head of a paragraph in its first line does."""
    spans = [span for piece in row.pieces for span in piece.spans if len(_LETTER.findall(span.text)) > 1]
    return bool(spans) and (spans[0].bold, spans[0].italic) != (spans[-1].bold, spans[-1].italic)


def _is_distinct(row: Row, measures: Measures) -> bool:
    """Whether a row is set otherwise than running text."""
    font, size, bold, italic, is_caps = _style(row)
    return bold or size >= measures.size + 0.7 or is_caps or italic or font != measures.font


def _may_be(placed: Sequence[Placed], index: int, measures: Measures) -> bool:
    one = placed[index]
    row = one.row
    if one.kind or row.turn or not 2 < len(row.text) <= _LONGEST or len(_LETTER.findall(row.text)) < 3:
        return False
    if (
        not _NAME.search(row.text)
        or _MATHS.search(row.text)
        or _style(row)[1] < 0.8 * measures.size
        or row.text[-1] in ",;"
        or "=" in row.text
    ):
        return False
    if not (row.text[0].isupper() or row.text[0].isdigit() or row.text[0] in "\"“'‘(¿¡"):
        return False
    before = placed[index - 1] if index and placed[index - 1].region == one.region else None
    if before is None or one.above is None:
        return True
    gap = one.above / max(row.size, before.row.size)
    return gap > 1.12 * measures.leading / measures.size or _style(before.row) != _style(row)


def _number_of(row: Row, measures: Measures) -> str:
    match = _NUMBERED.fullmatch(row.text)
    if not match or not _is_distinct(row, measures):
        return ""
    rest = match["rest"]
    if not (rest[0].isupper() or rest[0] in "\"“'‘(" or rest[0].isdigit()) or len(_LETTER.findall(rest)) < 3:
        return ""
    if rest.endswith(".") and not match["dot"] and len(rest) > 60:
        return ""
    number = match["number"]
    if number.isalpha() and len(number) == 1 and not match["dot"] and not row.bold and number in "AI":
        return ""
    return number if number[0].isdigit() or number[0].isupper() else ""


def _without_articles(placed: Sequence[Placed], numbered: dict[int, str]) -> dict[int, str]:
    """The numbers without the first word of a title: "A Page Behind …" above section 1, or an "I" without a "II"."""
    first = min((index for index, number in numbered.items() if number == "1"), default=-1)
    is_roman = "II" in numbered.values()
    return {
        index: number
        for index, number in numbered.items()
        if not ((number == "A" and index < first) or (number == "I" and not is_roman))
        or _sign_after(placed[index].row.text)
    }


def _in_sequence(placed: Sequence[Placed], numbered: dict[int, str], styles: Counter[_Style]) -> dict[int, str]:
    """Those numbers that a section's can be: each after the one before it, or the first below it."""
    kept: dict[int, str] = {}
    seen: set[str] = set()
    dots = Counter(_sign_after(placed[index].row.text) for index, number in numbered.items() if number.isdigit())
    sign = dots.most_common(1)[0][0] if dots else ""
    usual = {style for style, count in styles.items() if count >= 2}
    for index, number in numbered.items():
        parts = number.split(".")
        last = parts[-1]
        if number in seen or (len(numbered) >= 6 and number.isdigit() and _sign_after(placed[index].row.text) != sign):
            continue
        is_first = last in ("1", "A", "I")
        if last.isdigit():
            earlier = [".".join([*parts[:-1], str(int(last) - step)]) for step in (1, 2)]
        else:
            earlier = [chr(ord(last) - 1)] if len(last) == 1 else []
        follows = any(number_before in seen for number_before in earlier)
        below = is_first and (len(parts) == 1 or ".".join(parts[:-1]) in seen)
        if follows or below or (_style(placed[index].row) in usual and len(last) <= 2):
            kept[index] = number
            seen.add(number)
    return kept


def _heading_styles(placed: Sequence[Placed], candidates: Sequence[int], measures: Measures) -> set[_Style]:
    """The styles in which this document sets hardly anything but short lines above running text."""
    every = Counter(_style(one.row) for one in placed if not one.kind)
    above: Counter[_Style] = Counter()
    for index in candidates:
        one = placed[index]
        after = placed[index + 1] if index + 1 < len(placed) else None
        is_above_text = after is not None and after.region == one.region and after.row.font == measures.font
        if is_above_text and len(one.row.text) < 90 and one.row.text[-1] not in ".:-" and one.row.x0 < one.left + 3:
            above[_style(one.row)] += 1
    return {
        style
        for style, count in above.items()
        if count >= 3 and count >= 0.6 * every[style] and style[0] != measures.font and style[1] >= measures.size - 0.1
    }


def _sign_after(text: str) -> str:
    """What stands behind the number of a heading: ".", ":" or ")", or nothing."""
    match = _NUMBERED.fullmatch(text)
    return match["dot"] if match else ""


def _is_free_heading(
    placed: Sequence[Placed],
    index: int,
    measures: Measures,
    styles: Counter[_Style],
    free: Counter[_Style],
    heads: set[_Style],
    numbered: int,
) -> bool:
    """Whether a row without a number or a known name is a heading, by its type and the white around it."""
    one = placed[index]
    row, style = one.row, _style(one.row)
    if _is_run_in(row) or row.text[-1] == "-":
        return False
    spans = [span for piece in row.pieces for span in piece.spans]
    if sum(len(_LETTER.findall(span.text)) for span in spans if span.size < 0.7 * style[1]) > 2:
        # What is large is a sign of a formula; small capitals are not that small.
        return False
    if row.text[-1] in ".:" and not style[1] > measures.size + 0.7:
        return False
    after = placed[index + 1] if index + 1 < len(placed) and placed[index + 1].region == one.region else None
    if after is None or after.kind in ("table", "figure"):
        return False
    first_gap = one.above is None or one.above > 1.25 * measures.leading
    large = style[1] >= measures.size + 0.9
    fills = row.x1 > one.right - 0.04 * (one.right - one.left) and row.x0 < one.left + 3
    if fills and not large and _style(after.row)[:3] != style[:3]:
        # The first line of a paragraph whose head is as long as it.
        return False
    strong = row.bold or large or style[4]
    if style in styles and strong and first_gap:
        return True
    if large and first_gap and strong and len(row.text) < 100:
        return bool(row.bold or free[style] > 1)
    if style in heads and len(row.text) < 100:
        return True
    is_short = len(row.text) < 90 and row.x1 < one.right - 0.1 * (one.right - one.left)
    bold_line = row.bold and is_short and not after.row.bold and after.row.x0 < one.left + 3 * row.size
    if bold_line and abs(row.x0 - one.left) < 3 and row.size >= 0.95 * measures.size:
        return first_gap or (numbered < 3 and free[style] > 2)
    return False


def _set_levels(placed: Sequence[Placed], chosen: list[int], numbered: dict[int, str], known: set[int]) -> None:
    by_style: dict[_Style, Counter[int]] = {}
    for index, number in numbered.items():
        by_style.setdefault(_style(placed[index].row), Counter())[number.count(".") + 1] += 1
    levels = {style: counts.most_common(1)[0][0] for style, counts in by_style.items()}
    others = sorted(
        {_style(placed[index].row) for index in chosen if index not in numbered} - set(levels),
        key=lambda style: (-style[1], not style[4], not style[2]),
    )
    rank = {style: min(number, 4) for number, style in enumerate(others, 1)}
    deepest = 1
    for index in chosen:
        style = _style(placed[index].row)
        if index in numbered:
            level = numbered[index].count(".") + 1
            deepest = level
        elif index in known and len(numbered) >= 3:
            level = 1
        elif style in levels:
            level = levels[style]
        elif len(numbered) >= 3:
            level = min(deepest + 1, 4)
        else:
            level = rank[style]
        placed[index].kind, placed[index].level = "heading", level


def _extend(placed: Sequence[Placed], chosen: list[int]) -> None:
    """Take the further lines of a heading into it: the same type, close below."""
    for group, index in enumerate(chosen, 1):
        first = placed[index]
        first.group = -group
        for step in range(1, _MOST_LINES):
            if index + step >= len(placed):
                break
            one = placed[index + step]
            if one.region != first.region or one.kind or one.above is None or one.above > 1.45 * first.row.size:
                break
            if _style(one.row)[:3] != _style(first.row)[:3] or is_known_heading(first.row.text):
                break
            one.kind, one.level, one.group = "heading", first.level, first.group
