"""Headings, by their numbers, by usual section names, and by the type of the document's other headings."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from ragscience.reading import heading_text as wording
from ragscience.reading.heading_text import LETTER, REFERENCES, Numbered, Style
from ragscience.reading.text_rows import Measures, Placed, grouped

_NAME = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MATHS = re.compile(r"[∑∏∫√≤≥≈∥∂∇∈∞ˆ˜�]|\b[A-Za-z]{1,2}\([a-z]\)")
_LONGEST = 160
"""Characters of a heading's line."""
_MOST_LINES = 4

_SMALLEST, _SMALLEST_KNOWN = 0.8, 0.7
"""Share of the text's size: the back matter of a journal is small, with its headings."""
_TITLE_PAGES = 2
"""Pages after the first one that a cover may take."""
_FEW = 4
"""One sentence in so many lines of a type in a section is an exception."""
_PARTS = {"chapter", "part", "appendix", "section"}
_DIGITS = re.compile(r"\d+")
_NUMBER_AT_END = re.compile(r"(?<= )\d{1,2}$")
_ITEM = re.compile(r"\(?(?:\d{1,3}[.:)]?|[a-zA-Z][.:)])\)?\s")
"""The beginning of a line of a list or an algorithm; "3D" is none."""
_OPENING = "\"“'‘(¿¡"


class Headings:
    """The rows of a document while their headings are found."""

    def __init__(self, placed: Sequence[Placed], measures: Measures) -> None:
        self.placed, self.measures = placed, measures
        self.styles = [wording.style_of(one.row) for one in placed]

    def mark(self) -> None:
        """Set the kind "heading" and the level of the rows that are headings; the rows of one share a group."""
        placed = self.placed
        running = self._running_heads()
        candidates = [index for index in range(len(placed)) if index not in running and self._may_be(index)]
        numbers = {index: number for index in candidates if (number := self._number_of(index))}
        known = {index for index in candidates if wording.is_known_heading(placed[index].row.text)}
        if len(numbers) >= 6:
            # "Results:" in a box of a paper with numbered sections is not a section.
            known = {index for index in known if not placed[index].row.text.endswith(":")}
        numbered = {one.index: one.level for one in self._sequence(numbers, known)}
        chosen = {*numbered, *known}
        above = self._title_rows(min(chosen, default=0))
        free = [index for index in candidates if index > above and index not in chosen and self._may_be_free(index)]
        chosen.update(self._free(free, sorted(chosen), len(numbered)))
        ordered = self._without_entries(sorted(chosen))
        self._set_levels(ordered, numbered, known)
        self._extend(ordered)

    def _title_rows(self, head: int) -> int:
        """The index below which no row is a heading by its type: title and authors are above the first heading `head`.

        They may have a cover page, too.
        """
        first = self.placed[0].page if self.placed else 0
        if self.placed and self.placed[head].page <= first + _TITLE_PAGES:
            return head
        return max((index for index, one in enumerate(self.placed) if one.page == first), default=0)

    def _running_heads(self) -> set[int]:
        """The first rows of pages that say the same on three pages, but for a number."""
        pages = [0, *(one.page for one in self.placed)]
        firsts = [(index, one) for index, one in enumerate(self.placed) if pages[index] != one.page]
        tops = grouped((_DIGITS.sub("", one.row.text).casefold().strip(), index) for index, one in firsts)
        return {index for key, rows in tops.items() if len(rows) >= 3 and key not in _PARTS for index in rows}

    def _free(self, candidates: Sequence[int], chosen: Sequence[int], numbered: int) -> set[int]:
        """The candidates that are headings by their type and the white around them."""
        styles = set(self._count(index for index in chosen if self._is_distinct(index)))
        short_lines = self._styles_of_short_lines(candidates, numbered)
        counts = self._count(candidates)
        found = [
            index
            for index in candidates
            if self._is_free(index, styles, short_lines, counts[self.styles[index]], numbered)
        ]
        return self._without_examples(found, chosen, numbered)

    def _without_examples(self, found: Sequence[int], chosen: Sequence[int], numbered: int) -> set[int]:
        """The headings without sentences, what has their type in the same section, and labels that are repeated.

        A paper's examples of prompts and answers look like headings: some of them are sentences.
        """
        sections = [(index, bisect_right(chosen, index)) for index in found]
        texts = {index: _NUMBER_AT_END.sub("", self.placed[index].row.text) for index in found}
        groups = grouped(((section, self.styles[index]), index) for index, section in sections)
        labels = grouped(((section, texts[index]), index) for index, section in sections)
        kept = set(found)
        for group in groups.values():
            sentences = {index for index in group if self._is_sentence(index, numbered)}
            kept -= sentences if _FEW * len(sentences) < len(group) else set(group)
        for same in labels.values():
            numbers = [_NUMBER_AT_END.search(self.placed[index].row.text) for index in same]
            ascending = [int(match[0]) for match in numbers if match]
            if len(same) > 1 and ascending != list(range(1, len(same) + 1)):
                kept.difference_update(same)
        return kept

    def _is_sentence(self, index: int, numbered: int) -> bool:
        """Whether a heading without a number is a sentence; questions are, in a paper whose sections have numbers."""
        text = " ".join(self.placed[at].row.text for at in (index, *self._lines_after(index)))
        is_question = text.endswith("?") and numbered >= 6 and self.styles[index][1] < self.measures.size + 0.9
        return is_question or wording.is_sentence(text)

    def _lines_after(self, index: int) -> list[int]:
        """The further lines of the type of a row, close below it."""
        first = self.placed[index]
        found = []
        for other in range(index + 1, len(self.placed)):
            one = self.placed[other]
            is_close = one.region == first.region and one.above is not None and one.above <= 1.45 * first.row.size
            if not is_close or one.kind or self.styles[other][:3] != self.styles[index][:3]:
                break
            found.append(other)
        return found

    def _count(self, rows: Iterable[int]) -> Counter[Style]:
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
            inside = bool(REFERENCES.fullmatch(wording.without_number(self.placed[index].row.text).strip(" .:")))
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
        if one.kind or row.turn or not 2 < len(text) <= _LONGEST or len(LETTER.findall(text)) < 3:
            return False
        smallest = _SMALLEST_KNOWN if wording.is_known_heading(text) else _SMALLEST
        if not _NAME.search(text) or _MATHS.search(text) or wording.is_label(text):
            return False
        is_small = style[1] < smallest * self.measures.size
        if is_small or wording.has_wide_gap(row) or len(self._lines_after(index)) >= _MOST_LINES:
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
        match = wording.number_match(row.text)
        if (
            not match
            or not self._is_distinct(index)
            or wording.is_raised(row)
            or self.styles[index][1] < 0.9 * self.measures.size
        ):
            return ""
        number, rest = match["number"], match["rest"]
        if not (rest[0].isupper() or rest[0] in "\"“'‘(" or rest[0].isdigit()) or len(LETTER.findall(rest)) < 3:
            return ""
        if rest.endswith(".") and not match["dot"] and len(rest) > 60:
            return ""
        if number in ("A", "I") and not match["dot"] and not row.bold:
            return ""
        return number if number[0].isdigit() or number[0].isupper() else ""

    def _sequence(self, numbered: dict[int, str], known: set[int]) -> list[Numbered]:
        """The rows whose numbers are those of sections."""
        texts = [one.row.text for one in self.placed]
        references = next((at for at, text in enumerate(texts) if REFERENCES.fullmatch(text.strip(" .:"))), len(texts))
        found = [
            Numbered(at, number, wording.sign_after(texts[at]), self.styles[at]) for at, number in numbered.items()
        ]
        core = [self.styles[index] for index in known if wording.is_core_section(texts[index])]
        found = wording.without_lists(wording.without_articles(found, references), core)
        return wording.in_sequence(found, [self.styles[index] for index in known])

    def _styles_of_short_lines(self, candidates: Sequence[int], numbered: int) -> set[Style]:
        """The styles of which this document has hardly anything but short lines above running text.

        They may be smaller than the text where few sections have a number.
        """
        every = Counter(style for one, style in zip(self.placed, self.styles, strict=True) if not one.kind)
        above: Counter[Style] = Counter()
        font, size = self.measures.font, self.measures.size
        for index in candidates:
            one, after = self.placed[index], self._after(index)
            is_short = len(one.row.text) < 90 and one.row.text[-1] not in ".:-" and one.row.x0 < one.left + 3
            if is_short and after is not None and after.row.font == font:
                above[self.styles[index]] += 1
        return {
            style
            for style, count in above.items()
            if style[0] != font
            and (
                (count >= 3 and count >= 0.6 * every[style] and style[1] >= size - 0.1)
                or (numbered < 3 and count >= 5 and count >= 0.8 * every[style] and style[1] >= 0.85 * size)
            )
        }

    def _after(self, index: int) -> Placed | None:
        """The next row of the same region."""
        after = self.placed[index + 1] if index + 1 < len(self.placed) else None
        return after if after is not None and after.region == self.placed[index].region else None

    def _may_be_free(self, index: int) -> bool:
        """Whether a row without a number or a known name can be a heading."""
        row, size = self.placed[index].row, self.styles[index][1]
        if _ITEM.match(row.text):
            return False
        spans = [span for piece in row.pieces for span in piece.spans]
        worded = [span for span in spans if len(LETTER.findall(span.text)) > 1]
        is_run_in = worded and (worded[0].bold, worded[0].italic) != (worded[-1].bold, worded[-1].italic)
        if is_run_in or row.text[-1] == "-":
            # A row that begins in one type and ends in another is the first line of a paragraph with a head.
            return False
        if sum(len(LETTER.findall(span.text)) for span in spans if span.size < 0.7 * size) > 2:
            # The large letters are signs of a formula; small capitals are not so small.
            return False
        after = self._after(index)
        is_closed = row.text[-1] in ".:" and size <= self.measures.size + 0.7
        return not is_closed and after is not None and after.kind not in ("table", "figure")

    def _is_free(self, index: int, styles: set[Style], heads: set[Style], count: int, numbered: int) -> bool:
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

    def _set_levels(self, chosen: Sequence[int], numbered: dict[int, int], known: set[int]) -> None:
        by_style: dict[Style, Counter[int]] = {}
        for index, level in numbered.items():
            by_style.setdefault(self.styles[index], Counter())[level] += 1
        levels = {style: counts.most_common(1)[0][0] for style, counts in by_style.items()}
        core = [index for index in known if wording.is_core_section(self.placed[index].row.text)]
        if len(numbered) < 3 <= len(core):
            # A box may have a heading that is larger than those of the sections around it.
            size = max(self.styles[index][1] for index in core)
            levels.update({self.styles[index]: 2 for index in chosen if self.styles[index][1] > size})
            levels.update({self.styles[index]: 1 for index in core})
        others = {self.styles[index] for index in chosen if index not in numbered} - set(levels)
        ranked = sorted(others, key=lambda style: (-style[1], not style[4], not style[2]))
        deepest = 1
        for index in chosen:
            style = self.styles[index]
            if index in numbered:
                level = deepest = numbered[index]
            elif index in known and (len(numbered) >= 3 or len(core) >= 3):
                level = 1
            elif style in levels:
                level = levels[style]
            else:
                level = min(deepest + 1 if len(numbered) >= 3 else ranked.index(style) + 1 + (len(core) >= 3), 4)
            self.placed[index].kind, self.placed[index].level = "heading", level

    def _extend(self, chosen: Sequence[int]) -> None:
        """Add the further lines of a heading to it: in the same type, close below."""
        for group, index in enumerate(chosen, 1):
            first = self.placed[index]
            first.group = -group
            for other in () if wording.is_known_heading(first.row.text) else self._lines_after(index):
                one = self.placed[other]
                one.kind, one.level, one.group = "heading", first.level, first.group
