"""Rows become blocks: paragraphs, list items, equations, footnotes, references, floats and headings."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ragscience.reading.headers_footers import FOOTNOTE_MARK, mark_footnotes
from ragscience.reading.heading_text import REFERENCES, heading_number
from ragscience.reading.text_rows import Measures, Placed, grouped, is_prose

_BULLET = re.compile(r"(?:[•◦▪▫‣∙●○■□–—*·⋄►➢✓-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_ENTRY = re.compile(r"\[[\w+\-., ]{1,24}\]|\d{1,3}\.\s|\(\d{1,3}\)\s")
_END = (".", "!", "?", ":", ".”", '."', ".)", "?”")
_SHORTEST_TO_GO_ON = 20
"""Characters in a column's last line of a paragraph that continues in the next column, at least."""
_GIVES_WAY = {"figure", "table", "caption", "footnote"}
_NUMBER = re.compile(r"\((?:[A-Z]\.?)?\d{1,3}(?:\.\d{1,2})*[a-z]?\)$")
_SIGN = re.compile(r"[=≈≤≥<>∈≡∝→⇒:+\-−±×·∑∏∫√∂∇∞⊙∥∀∃∪∩⊂⊆←↦≪≫≜]|\bargm(?:ax|in)\b|\blog\b|\bexp\b")
_RELATION = re.compile(r"[=≈≤≥∈≡∝→⇒←↦≪≫≜<>]|:=")
_WORD = re.compile(r"[^\W\d_]{4,}")
_CALL = re.compile(r"[^\W\d_]+ ?\(")
_NEAR = 1.1
"""In font sizes of the text: the largest distance of a numerator or a limit from its equation."""
_FUNCTIONS = set(
    "softmax argmax argmin sigmoid tanh relu subject otherwise concat where with".split()  # noqa: SIM905
)


@dataclass(slots=True)
class RowBlock:
    """Rows of one element, all on one page."""

    kind: str
    rows: list[Placed]
    level: int = 0
    group: int = 0
    goes_on: bool = False
    """Whether it continues the paragraph of the block before it."""
    sections: tuple[str, ...] = field(default=())

    @property
    def page(self) -> int:
        """From 1."""
        return self.rows[0].page


def make_blocks(placed: Sequence[Placed], measures: Measures) -> list[RowBlock]:
    """The blocks of a document in reading order."""
    mark_footnotes(placed, measures)
    _mark_first_page(placed, measures)
    _mark_references(placed)
    equations = _equation_rows(placed, measures)
    strays = _strays(placed, equations)
    blocks: list[RowBlock] = []
    before: Placed | None = None
    for index, one in enumerate(placed):
        if index in strays:
            continue
        kind = one.kind or ("equation" if index in equations else "")
        if before is not None and _is_same(one, kind, before, blocks[-1], measures):
            blocks[-1].rows.append(one)
        else:
            kind = kind or ("list" if _BULLET.match(one.row.text) else "text")
            blocks.append(RowBlock(kind, [one], one.level, one.group))
        blocks[-1].rows += (placed[stray] for stray, host in strays.items() if host == index)
        before = one
    blocks = _in_page_order(_joined_captions(blocks))
    _join_paragraphs(blocks, measures)
    return _give_way([block for block in blocks if block.rows])


def _is_same(one: Placed, kind: str, before: Placed, last: RowBlock, measures: Measures) -> bool:
    """Whether a row belongs to the block of the row before it."""
    row, above = one.row, one.above
    if one.page != last.page or (kind and kind != last.kind):
        return False
    if kind in ("table", "figure", "caption", "heading", "title"):
        return last.group == one.group or kind == "title"
    if one.region != before.region or above is None:
        return False
    if kind == "authors":
        return above < 1.9 * row.size
    if kind == "reference":
        return one.group == last.group
    if kind == "footnote":
        return not FOOTNOTE_MARK.match(row.text) and above < 2 * row.size
    if kind == "equation":
        return above < 2.2 * measures.size
    if last.kind == "equation":
        # Parts of a fraction and limits are rows of their own.
        return len(row.text) < 12 and above < 1.1 * measures.size and not is_prose(one, measures)
    if not kind and last.kind not in ("text", "list"):
        return False
    hangs = last.kind == "list" and row.x0 > last.rows[0].row.x0 + 0.4 * row.size
    if hangs and not _BULLET.match(row.text) and above < 1.3 * measures.leading:
        return True
    return not _starts_paragraph(one, before, measures)


def _starts_paragraph(one: Placed, before: Placed, measures: Measures) -> bool:
    row, above = one.row, one.above or 0.0
    usual = max(measures.leading * row.size / measures.size, 1.05 * row.size)
    if above > 1.3 * max(usual, 1.15 * row.size) and above > usual + 2.5:
        return True
    if abs(row.size - before.row.size) > 0.16 * max(row.size, before.row.size) and len(row.text) > 15:
        return not (len(before.row.text) < 15)
    if _BULLET.match(row.text) and not _BULLET.match(before.row.text):
        return before.row.text.endswith(_END) or row.text[0] in "•◦▪‣●■►"
    if _BULLET.match(row.text) and _BULLET.match(before.row.text):
        return True
    width = one.right - one.left
    indent = row.x0 - one.left
    was_short = before.row.x1 < one.right - 0.12 * width
    if row.x0 - before.row.x0 > 0.7 * row.size and indent > 0.7 * row.size:
        return indent < 0.3 * width and (before.row.text.endswith(_END) or was_short or row.text[:1].isupper())
    if was_short and before.row.text.endswith(_END) and row.text[:1].isupper():
        return row.x0 <= before.row.x0 + 2 and (before.row.x1 < one.right - 0.3 * width)
    return False


def _mark_first_page(placed: Sequence[Placed], measures: Measures) -> None:
    """Mark the title and the authors above the first heading of the first page, and the abstract."""
    first = placed[0].page if placed else 0
    until = next((index for index, one in enumerate(placed) if one.kind == "heading" or one.page != first), len(placed))
    head = [one for one in placed[:until] if not one.kind and not one.row.turn]
    if not head or placed[min(until, len(placed) - 1)].kind != "heading":
        head = [one for one in head if not is_prose(one, measures)] if head else []
    largest = max((_largest(one) for one in head), default=0.0)
    if largest < measures.size + 1.5:
        return
    title = next(index for index, one in enumerate(head) if _largest(one) > largest - 0.6)
    last = title
    while last + 1 < len(head) and _largest(head[last + 1]) > largest - 1.6:
        near = (head[last + 1].above or 0) < 2.2 * largest
        if head[last + 1].region != head[last].region or not near:
            break
        last += 1
    for one in head[title : last + 1]:
        one.kind = "title"
    prose = _first_prose(head[last + 1 :], measures)
    for number, one in enumerate(head[last + 1 :]):
        one.kind = "authors" if number < prose else "abstract"
    _mark_abstract(placed, until)


def _largest(one: Placed) -> float:
    return max(span.size for piece in one.row.pieces for span in piece.spans if not span.text.isspace())


def _first_prose(rows: Sequence[Placed], measures: Measures) -> int:
    """The index of the first of three consecutive lines of running text, or the number of rows."""
    is_long = [is_prose(one, measures) and len(one.row.text) > 40 for one in rows]
    return next((index for index in range(len(rows) - 2) if all(is_long[index : index + 3])), len(rows))


def _mark_abstract(placed: Sequence[Placed], heading: int) -> None:
    if heading >= len(placed) or not placed[heading].row.text.strip(" .:—").lower().startswith("abstract"):
        return
    for one in placed[heading + 1 :]:
        if one.kind == "heading" or one.page > placed[heading].page + 1:
            break
        if not one.kind:
            one.kind = "abstract"


def _mark_references(placed: Sequence[Placed]) -> None:
    """Mark the rows below "References", each entry as a group of its own."""
    inside, level, entry = False, 0, 0
    before: Placed | None = None
    for index, one in enumerate(placed):
        if one.kind == "heading":
            text = one.row.text
            number = heading_number(text)
            name = text[len(number) :].strip(" .:") if number else text.strip(" .:")
            if REFERENCES.fullmatch(name):
                inside, level = True, one.level
            elif inside and one.level <= level:
                inside = False
            before = None
        if not inside or one.kind:
            continue
        if _starts_entry(placed, index, before):
            entry += 1
        one.kind, one.group = "reference", entry
        before = one


def _starts_entry(placed: Sequence[Placed], index: int, before: Placed | None) -> bool:
    one = placed[index]
    if before is None or _ENTRY.match(one.row.text):
        return True
    if one.region != before.region:
        return before.row.text.endswith(".") and one.row.x0 <= one.left + 2 and one.row.text[:1].isupper()
    gap, size = one.above or 0.0, one.row.size
    after = placed[index + 1] if index + 1 < len(placed) else None
    hangs = after is not None and after.region == one.region and after.row.x0 > one.row.x0 + 0.6 * size
    if one.row.x0 < before.row.x0 - 0.6 * size:
        return True
    if hangs and abs(one.row.x0 - before.row.x0) < 2 and before.row.text.endswith("."):
        return True
    return gap > 1.35 * size and before.row.text[-1] in ".)]0123456789" and one.row.text[:1].isupper()


def _joined_captions(blocks: list[RowBlock]) -> list[RowBlock]:
    """Each table and figure right after its caption, as one block."""
    floats: defaultdict[int, list[RowBlock]] = defaultdict(list)
    others: list[RowBlock] = []
    for block in blocks:
        (floats[block.group] if block.kind in ("table", "figure") and block.group else others).append(block)
    result: list[RowBlock] = []
    for block in others:
        result.append(block)
        if block.kind == "caption" and (parts := floats.pop(block.group, [])):
            result.append(RowBlock(parts[0].kind, [row for part in parts for row in part.rows], 0, block.group))
    return result


def _in_page_order(blocks: list[RowBlock]) -> list[RowBlock]:
    """The blocks with footnotes and the words in figures at the end of their page."""
    pages = groupby(blocks, key=lambda block: block.page)
    last = {"footnote": 1, "figure": 2}
    return [block for _, page in pages for block in sorted(page, key=lambda block: last.get(block.kind, 0))]


def _join_paragraphs(blocks: list[RowBlock], measures: Measures) -> None:
    """Set `goes_on` of blocks that continue a paragraph of another column or page, or after a float."""
    open_block: RowBlock | None = None
    for block in blocks:
        if block.kind in _GIVES_WAY:
            continue
        if block.kind in ("text", "reference", "abstract"):
            if open_block is not None and _goes_on(open_block, block, measures):
                block.goes_on = True
                if open_block.kind == "list":
                    block.kind = "list"
            open_block = block
        else:
            open_block = block if block.kind == "list" else None


def _goes_on(before: RowBlock, block: RowBlock, measures: Measures) -> bool:
    last, first = before.rows[-1], block.rows[0]
    is_one_kind = before.kind == block.kind or (before.kind, block.kind) == ("list", "text")
    if last.region == first.region or not is_one_kind or block.page > before.page + 1:
        return False  # with pages of floats between its parts, a paragraph as one would come before or after those
    text = last.row.text
    if block.kind == "reference":
        return last.group == first.group
    if text.endswith(_END) or abs(last.row.size - first.row.size) > 0.12 * measures.size:
        return False
    if len(text) < _SHORTEST_TO_GO_ON:
        return False
    starts_low = first.row.text[:1].islower()
    fills = last.row.x1 > last.right - 0.1 * (last.right - last.left) and is_prose(last, measures) and len(text) > 40
    return starts_low or (fills and first.row.x0 < first.left + 0.5 * first.row.size) or text.endswith("-")


def _give_way(blocks: list[RowBlock]) -> list[RowBlock]:
    """The blocks with floats and footnotes moved out of paragraphs that continue after them.

    Those on the first page of the paragraph come before it, others after it.
    """
    result = list(blocks)
    for index in range(len(result)):
        block = result[index]
        if not block.goes_on:
            continue
        start = index - 1
        while start >= 0 and result[start].kind in _GIVES_WAY:
            start -= 1
        between = result[start + 1 : index]
        if start < 0 or not between:
            continue
        before = result[start]
        earlier = [one for one in between if one.page == before.page and one.page != block.page]
        later = [one for one in between if one not in earlier]
        result[start : index + 1] = [*earlier, before, block, *later]
    return result


def _may_be_equation(one: Placed, measures: Measures) -> bool:
    row = one.row
    return not (one.kind or row.turn or is_prose(one, measures) or row.x0 < one.left + 0.8 * row.size)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(_CALL.sub("", text)) if word.lower() not in _FUNCTIONS]


def _is_equation(one: Placed, measures: Measures) -> bool:
    """Whether a row is a displayed equation or a part of one: indented, with signs rather than words."""
    if not _may_be_equation(one, measures):
        return False
    text = one.row.text
    if 2 * text.count("\ufffd") >= max(4, len("".join(_NUMBER.sub("", text).split()))):
        return True  # glyphs without a Unicode value are mostly those of formulas
    words, signs = _words(text), len(_SIGN.findall(text))
    if _NUMBER.search(text):
        return signs >= 1 and len(words) <= 6
    return bool(_RELATION.search(text)) and len(words) <= 2 + signs // 3 and sum(map(len, words)) < 0.5 * len(text)


def _equation_rows(placed: Sequence[Placed], measures: Measures) -> set[int]:
    """The indices of the rows of displayed equations, with limits and numerators above and below."""
    found = {index for index, one in enumerate(placed) if _is_equation(one, measures)}
    for step in (-1, 1):
        for start in sorted(found, reverse=step < 0):
            for index in range(start + step, len(placed) if step > 0 else -1, step):
                if index in found or not _is_part(placed[index], placed[index - step], measures):
                    break
                found.add(index)
    return found


def _strays(placed: Sequence[Placed], equations: set[int]) -> dict[int, int]:
    """The rows that stand in an equation and are not next to it in the order, each with the index of that.

    They are large brackets, limits and accents.
    """
    found: dict[int, int] = {}
    hosts = grouped((placed[index].page, index) for index in sorted(equations))
    for index, one in enumerate(placed):
        row = one.row
        if index in equations or one.kind or row.turn or one.page not in hosts or _words(row.text):
            continue
        for other in hosts[one.page]:
            host, gap = placed[other], 0.7 * placed[other].row.size
            is_near = row.y0 < host.row.y1 + gap and host.row.y0 - gap < row.y1
            if is_near and host.left + 0.8 * host.row.size < row.x0 and row.x1 < host.right + 2:
                found[index] = other
                break
    return found


def _is_part(one: Placed, near: Placed, measures: Measures) -> bool:
    """Whether a row is the upper or lower part of the equation in the row next to it."""
    is_near = one.region == near.region and abs(one.row.base - near.row.base) < _NEAR * measures.size
    return is_near and _may_be_equation(one, measures) and not _words(one.row.text)
