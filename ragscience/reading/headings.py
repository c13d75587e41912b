"""Headings, by their numbers, by usual section names, and by the type of the document's other headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

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
"""Characters of a heading's line."""
_MOST_LINES = 4

_OPENING = "\"“'‘(¿¡"

_Style = tuple[str, float, bool, bool, bool]
"""Font, size in half points, bold, italic, capitals."""


def find_headings(placed: Sequence[Placed], measures: Measures) -> None:
    """Set the kind "heading" and the level of the rows that are headings; the rows of one heading share a group."""
    _Headings(placed, measures).mark()


class _Headings:
    """The rows of a document while their headings are found."""

    def __init__(self, placed: Sequence[Placed], measures: Measures) -> None:
        self.placed, self.measures = placed, measures
        self.styles = [_style(one.row) for one in placed]

    def mark(self) -> None:
        """Mark the headings."""
        placed = self.placed
        candidates = [index for index in range(len(placed)) if self._may_be(index)]
        numbered = {index: number for index in candidates if (number := self._number_of(index))}
        known = {index for index in candidates if is_known_heading(placed[index].row.text)}
        if len(numbered) >= 6:
            # "Results:" in a box of a paper with numbered sections is not a section.
            known = {index for index in known if not placed[index].row.text.endswith(":")}
        usual = {style for style, count in self._count((*numbered, *known)).items() if count >= 2}
        counted = set(numbered)
        numbered = self._in_sequence(self._without_articles(numbered), usual)
        items = {index for index in counted - set(numbered) if placed[index].row.text[:1].isdigit()}
        chosen = {*numbered, *known}
        heading_styles = set(self._count(index for index in chosen if self._is_distinct(index)))
        # Above the first heading of the first page are title and authors.
        head = min(chosen, default=0)
        candidates = [index for index in candidates if index > head or placed[index].page > placed[0].page]
        free = self._count(candidates)
        heading_styles_only = self._styles_of_short_lines(candidates)
        for index in candidates:
            if index in chosen | items or not self._may_be_free(index):
                continue
            if self._is_free(index, heading_styles, heading_styles_only, free[self.styles[index]], len(numbered)):
                chosen.add(index)
        ordered = self._without_entries(sorted(chosen))
        self._set_levels(ordered, numbered, known)
        self._extend(ordered)

    def _count(self, rows: Iterable[int]) -> Counter[_Style]:
        return Counter(self.styles[index] for index in rows)

    def _without_entries(self, chosen: Sequence[int]) -> list[int]:
        """The headings but for lines of a list of references in a style that no heading before them has."""
        kept: list[int] = []
        usual: set[tuple[str, float, bool]] = set()
        inside = False
        for index in chosen:
            style = self.styles[index][:3]
            if inside and style not in usual:
                continue
            inside = bool(REFERENCES.fullmatch(_without_number(self.placed[index].row.text).strip(" .:")))
            kept.append(index)
            usual.add(style)
        return kept

    def _is_distinct(self, index: int) -> bool:
        """Whether the type of a row is not that of running text."""
        font, size, bold, italic, is_caps = self.styles[index]
        return bold or size >= self.measures.size + 0.7 or is_caps or italic or font != self.measures.font

    def _may_be(self, index: int) -> bool:
        """Whether a row can be a heading at all."""
        one, style = self.placed[index], self.styles[index]
        row, text = one.row, one.row.text
        if one.kind or row.turn or not 2 < len(text) <= _LONGEST or len(_LETTER.findall(text)) < 3:
            return False
        if not _NAME.search(text) or _MATHS.search(text) or style[1] < 0.8 * self.measures.size:
            return False
        if text[-1] in ",;" or "=" in text or not (text[0].isupper() or text[0].isdigit() or text[0] in _OPENING):
            return False
        before = self.placed[index - 1] if index and self.placed[index - 1].region == one.region else None
        if before is None or one.above is None:
            return True
        gap = one.above / max(row.size, before.row.size)
        return gap > 1.12 * self.measures.leading / self.measures.size or self.styles[index - 1] != style

    def _number_of(self, index: int) -> str:
        row = self.placed[index].row
        match = _NUMBERED.fullmatch(row.text)
        if not match or not self._is_distinct(index):
            return ""
        number, rest = match["number"], match["rest"]
        if not (rest[0].isupper() or rest[0] in "\"“'‘(" or rest[0].isdigit()) or len(_LETTER.findall(rest)) < 3:
            return ""
        if rest.endswith(".") and not match["dot"] and len(rest) > 60:
            return ""
        if number in ("A", "I") and not match["dot"] and not row.bold:
            return ""
        return number if number[0].isdigit() or number[0].isupper() else ""

    def _without_articles(self, numbered: dict[int, str]) -> dict[int, str]:
        """The numbers but for the first word of a title: "A Page Behind …" above section 1, or "I" without "II"."""
        first = min((index for index, number in numbered.items() if number == "1"), default=-1)
        is_roman = "II" in numbered.values()
        return {
            index: number
            for index, number in numbered.items()
            if not ((number == "A" and index < first) or (number == "I" and not is_roman))
            or _sign_after(self.placed[index].row.text)
        }

    def _in_sequence(self, numbered: dict[int, str], usual: set[_Style]) -> dict[int, str]:
        """The numbers that follow the one before, are the first below it, or are in a usual style."""
        kept: dict[int, str] = {}
        seen: set[str] = set()
        signs = {index: _sign_after(self.placed[index].row.text) for index in numbered}
        common = Counter(signs[index] for index, number in numbered.items() if number.isdigit()).most_common(1)
        sign = common[0][0] if common else ""
        for index, number in numbered.items():
            if number in seen or (len(numbered) >= 6 and number.isdigit() and signs[index] != sign):
                continue
            *above, last = number.split(".")
            if last.isdigit():
                earlier = [".".join([*above, str(int(last) - step)]) for step in (1, 2)]
            else:
                earlier = [chr(ord(last) - 1)] if len(last) == 1 else []
            is_first = last in ("1", "A", "I") and (not above or ".".join(above) in seen)
            if is_first or seen.intersection(earlier) or (self.styles[index] in usual and len(last) <= 2):
                kept[index] = number
                seen.add(number)
        return kept

    def _styles_of_short_lines(self, candidates: Sequence[int]) -> set[_Style]:
        """The styles of which this document has hardly anything but short lines above running text."""
        every = Counter(style for one, style in zip(self.placed, self.styles, strict=True) if not one.kind)
        above: Counter[_Style] = Counter()
        font, size = self.measures.font, self.measures.size
        for index in candidates:
            one, after = self.placed[index], self._after(index)
            is_short = len(one.row.text) < 90 and one.row.text[-1] not in ".:-" and one.row.x0 < one.left + 3
            if is_short and after is not None and after.row.font == font:
                above[self.styles[index]] += 1
        return {
            style
            for style, count in above.items()
            if count >= 3 and count >= 0.6 * every[style] and style[0] != font and style[1] >= size - 0.1
        }

    def _after(self, index: int) -> Placed | None:
        """The next row of the same region."""
        after = self.placed[index + 1] if index + 1 < len(self.placed) else None
        return after if after is not None and after.region == self.placed[index].region else None

    def _may_be_free(self, index: int) -> bool:
        """Whether a row without a number or a known name can be a heading."""
        row, size = self.placed[index].row, self.styles[index][1]
        spans = [span for piece in row.pieces for span in piece.spans]
        worded = [span for span in spans if len(_LETTER.findall(span.text)) > 1]
        is_run_in = worded and (worded[0].bold, worded[0].italic) != (worded[-1].bold, worded[-1].italic)
        if is_run_in or row.text[-1] == "-":
            # A row that begins in one type and ends in another is the first line of a paragraph with a head.
            return False
        if sum(len(_LETTER.findall(span.text)) for span in spans if span.size < 0.7 * size) > 2:
            # The large letters are signs of a formula; small capitals are not so small.
            return False
        after = self._after(index)
        is_closed = row.text[-1] in ".:" and size <= self.measures.size + 0.7
        return not is_closed and after is not None and after.kind not in ("table", "figure")

    def _is_free(self, index: int, styles: set[_Style], heads: set[_Style], count: int, numbered: int) -> bool:
        """Whether a row without a number or a known name is a heading, by its type and the white around it.

        `styles` are those of known headings, `heads` those of short lines; `count` is how many candidates have its
        style, `numbered` how many headings have a number.
        """
        one, style, after = self.placed[index], self.styles[index], self.placed[index + 1]
        row, width = one.row, one.right - one.left
        has_gap = one.above is None or one.above > 1.25 * self.measures.leading
        is_large = style[1] >= self.measures.size + 0.9
        fills = row.x1 > one.right - 0.04 * width and row.x0 < one.left + 3
        if fills and not is_large and self.styles[index + 1][:3] != style[:3]:
            # The first line of a paragraph whose head fills the line.
            return False
        is_strong = row.bold or is_large or style[4]
        if style in styles and is_strong and has_gap:
            return True
        if is_large and has_gap and len(row.text) < 100:
            return row.bold or count > 1
        if style in heads and len(row.text) < 100:
            return True
        is_short = len(row.text) < 90 and row.x1 < one.right - 0.1 * width
        bold_line = row.bold and is_short and not after.row.bold and after.row.x0 < one.left + 3 * row.size
        if bold_line and abs(row.x0 - one.left) < 3 and row.size >= 0.95 * self.measures.size:
            return has_gap or (numbered < 3 and count > 2)
        return False

    def _set_levels(self, chosen: Sequence[int], numbered: dict[int, str], known: set[int]) -> None:
        by_style: dict[_Style, Counter[int]] = {}
        for index, number in numbered.items():
            by_style.setdefault(self.styles[index], Counter())[number.count(".") + 1] += 1
        levels = {style: counts.most_common(1)[0][0] for style, counts in by_style.items()}
        others = {self.styles[index] for index in chosen if index not in numbered} - set(levels)
        ranked = sorted(others, key=lambda style: (-style[1], not style[4], not style[2]))
        deepest = 1
        for index in chosen:
            style = self.styles[index]
            if index in numbered:
                level = deepest = numbered[index].count(".") + 1
            elif index in known and len(numbered) >= 3:
                level = 1
            elif style in levels:
                level = levels[style]
            else:
                level = min(deepest + 1 if len(numbered) >= 3 else ranked.index(style) + 1, 4)
            self.placed[index].kind, self.placed[index].level = "heading", level

    def _extend(self, chosen: Sequence[int]) -> None:
        """Add the further lines of a heading to it: in the same type, close below."""
        for group, index in enumerate(chosen, 1):
            first = self.placed[index]
            first.group = -group
            for other in range(index + 1, min(index + _MOST_LINES, len(self.placed))):
                one = self.placed[other]
                if one.region != first.region or one.kind or one.above is None or one.above > 1.45 * first.row.size:
                    break
                if self.styles[other][:3] != self.styles[index][:3] or is_known_heading(first.row.text):
                    break
                one.kind, one.level, one.group = "heading", first.level, first.group


def is_known_heading(text: str) -> bool:
    """Whether a line is nothing but a usual section name."""
    return bool(_KNOWN.fullmatch(_without_number(text).strip(" .:—–-")))


def _without_number(text: str) -> str:
    match = _NUMBERED.fullmatch(text)
    return match["rest"] if match else text


def heading_number(text: str) -> str:
    """The number of a heading, "3.2" or "A.1", or ""."""
    match = _NUMBERED.fullmatch(text)
    return match["number"] if match else ""


def _sign_after(text: str) -> str:
    """The sign after the number of a heading: ".", ":" or ")", or ""."""
    match = _NUMBERED.fullmatch(text)
    return match["dot"] if match else ""


def _style(row: Row) -> _Style:
    letters = [span for piece in row.pieces for span in piece.spans if _LETTER.search(span.text)]
    size = max((span.size for span in letters), default=row.size)
    return row.font, round(size * 2) / 2, row.bold, row.italic, _is_in_capitals(row.text)


def _is_in_capitals(text: str) -> bool:
    """Whether a line is in capitals, but for a symbol or a name like "LoRA"."""
    if text.upper() == text:
        return True
    letters = [letter for word in _LONG_WORD.findall(text) for letter in word]
    return len(letters) >= 5 and sum(map(str.islower, letters)) <= 0.1 * len(letters)
