"""The text of one page of a file, without what is not the author's: readers' notes and text that nobody can see.

Text that a page has and does not show is white on white, invisible, covered or of no size. The words that OCR put
behind the picture of a page are invisible, too, and are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ragscience.core.records import Box, Mark
from ragscience.reading.floats import CAPTION
from ragscience.reading.formulas import PageGlyphs, glyph
from ragscience.reading.glyph_repair import FontRepairs
from ragscience.reading.pdf_file import cause_of, failures, load_pymupdf, raise_if_out_of_memory
from ragscience.reading.text_cleaning import clean_span, clean_text, illegible_share, mean_bits
from ragscience.reading.text_spans import PageSpans, read_spans, rule_boxes, type_size

Log = Sequence[tuple[str, Box]]

_DRAWN = 16 | 32
"""The flags of a character that is filled or stroked (FZ_STEXT_FILLED, FZ_STEXT_STROKED)."""
_WHITE = 0xF0
"""The least value of each of red, green and blue."""
_LEAST_POINTS = 0.5
"""The width of a character and the height of its line that somebody can see."""
_FILLS = re.compile(rb"(?<![^\s\])>}])(?:f\*?|F|B\*?|b\*?|Do|sh)(?![^\s\[(</%])")
"""The operators that fill a path, paint a shading or draw a form or picture (PDF 1.7 reference, appendix A)."""
_DOTS_PER_INCH, _MOST_DOTS = 100, 10_000_000
_LEAST_COVER, _MOST_COVERS = 12.0, 300
"""Points of width of a drawing that may cover text, and how many on a page are looked at."""


def hidden_places(page: Any, lines: Sequence[dict[str, Any]], read_log: Callable[[], Log]) -> frozenset[Box]:
    """The boxes of the spans of a `pymupdf.Page` that nobody sees; `place_of` gives that of a span.

    `lines` are those of `extractDICT`. `read_log` gives what `page.get_bboxlog()` does: what was drawn, in its order.
    It is called where a span is faint or the page fills areas, as it takes as long as the page's text.
    """
    spans = [span for line in lines for span in line["spans"] if span["text"].strip()]
    faint = {place_of(span) for span in spans if _is_faint(span)}
    if not faint and not _may_fill(page):
        return frozenset()
    log = read_log()
    covers, pictures = _covers(log), [box for kind, box in log if "image" in kind]
    doubtful = faint | {place_of(span) for span in spans if _is_covered(span["bbox"], covers)}
    if not doubtful:
        return frozenset()
    shown = [span["bbox"] for span in spans if place_of(span) not in doubtful]
    drawn = _Drawn(page)
    return frozenset(
        place_of(span) for span in spans if place_of(span) in doubtful and _is_hidden(span, pictures, shown, drawn)
    )


def place_of(span: dict[str, Any]) -> Box:
    """The box of a span of `extractDICT` or `extractRAWDICT`."""
    return tuple(span["bbox"])


def _may_fill(page: Any) -> bool:
    """Whether a page may fill areas: by its own operators, or by what it refers to."""
    try:
        return bool(_FILLS.search(page.read_contents()) or page.first_widget)
    except failures() as error:
        # Its operators are damaged or missing: MuPDF draws what it can.
        raise_if_out_of_memory(error)
        return True


def _is_faint(span: dict[str, Any]) -> bool:
    color = span["color"]
    return bool(
        not span["char_flags"] & _DRAWN
        or span["alpha"] == 0
        or min(color >> 16 & 0xFF, color >> 8 & 0xFF, color & 0xFF) >= _WHITE
        or _is_tiny(span)
    )


def _is_tiny(span: dict[str, Any]) -> bool:
    x0, y0, x1, y1 = span["bbox"]
    return bool(max(x1 - x0, y1 - y0) < _LEAST_POINTS * len(span["text"]) and min(x1 - x0, y1 - y0) < _LEAST_POINTS)


def _is_hidden(span: dict[str, Any], pictures: Sequence[Box], shown: Sequence[Box], drawn: _Drawn) -> bool:
    box = span["bbox"]
    if not span["char_flags"] & _DRAWN or span["alpha"] == 0:
        if any(_share(box, picture) > 0.5 for picture in pictures):
            return False
        return any(_share(box, other) > 0.5 for other in shown) or not drawn.has_ink(box)
    return _is_tiny(span) or not drawn.has_ink(box)


def _covers(log: Sequence[tuple[str, Box]]) -> list[Box]:
    """The boxes of what was filled over text that was drawn before; pictures are left out: OCR has its words below."""
    texts: list[Box] = []
    found: list[Box] = []
    for kind, box in log:
        if kind in ("fill-text", "stroke-text"):
            if box[0] < box[2] and box[1] < box[3]:
                texts.append(box)
        elif kind == "fill-path" and len(found) < _MOST_COVERS:
            is_large = box[2] - box[0] > _LEAST_COVER and box[3] - box[1] > _LEAST_COVER / 2
            if is_large and _is_above_any(box, texts):
                found.append(box)
    return found


def _is_above_any(box: Box, texts: Sequence[Box]) -> bool:
    left, top, right, bottom = box
    return any(x0 < right and left < x1 and y0 < bottom and top < y1 for x0, y0, x1, y1 in texts)


def _is_covered(box: Box, covers: Sequence[Box]) -> bool:
    x0, y0, x1, y1 = box
    near = (cover for cover in covers if x0 < cover[2] and cover[0] < x1 and y0 < cover[3] and cover[1] < y1)
    return any(_share(box, cover) > 0.9 for cover in near)


def _share(box: Box, other: Box) -> float:
    """The share of a box that is in the other one."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    return width * height / area if width > 0 and height > 0 and area > 0 else 0.0


class _Drawn:
    """The picture of a page, made when it is first asked for."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._picture: Any = None

    def has_ink(self, box: Box) -> bool:
        """Whether more than one colour is in a box of the unrotated page."""
        import pymupdf

        if self._picture is None:
            area = max(self._page.rect.width * self._page.rect.height / 72**2, 1e-3)
            dots = max(1, min(_DOTS_PER_INCH, int((_MOST_DOTS / area) ** 0.5)))
            self._picture = self._page.get_pixmap(dpi=dots, colorspace=pymupdf.csRGB, alpha=False)
            self._scale = dots / 72
        x0, y0, x1, y1 = pymupdf.Rect(box) * self._page.rotation_matrix
        inside = pymupdf.IRect(pymupdf.Rect(x0, y0, x1, y1) * self._scale) & self._picture.irect
        if inside.is_empty:
            return False
        part = pymupdf.Pixmap(pymupdf.csRGB, inside, False)
        part.copy(self._picture, inside)
        return not part.is_unicolor


UNSETTLED = "unsettled"
"""What a page lacks whose fonts are understood only when all pages were seen."""

_NOISE_SHARE, _LEAST_NOISE = 0.5, 3
"""A page with this share of illegible characters is no text, nor is a line with so many of them. Fonts without Unicode
values give 0.6 to 0.9; readable papers stay below 0.1."""
_NO_WORDS_BITS, _NO_WORDS_PAIRS = 3.4, 200
"""A page with so many bits a pair, in so many pairs, has letters that stand for others: text has up to 2.9."""
_MOST_CHARACTERS = 200_000
"""On a page with a layout."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What was read of a page."""

    text: str
    lack: str = ""
    """"lost", "blank", "illegible" or `UNSETTLED`, or empty for a good page."""
    detail: str = ""
    spans: PageSpans | None = None
    rules: tuple[Box, ...] = ()
    drawings: tuple[Box, ...] = ()
    is_recognised: bool = False
    """Whether its text is from OCR."""
    left_out: str = ""
    """Readers' notes and text that nobody can see, a line each."""
    illegible: float = 0.0
    """The share of illegible characters among those that the file has on the page."""


def read_page(source: Any, index: int, repairs: FontRepairs) -> PageText:
    """The text of a page of a `pymupdf.Document`, or the reason why it has none. Raises MemoryError."""
    try:
        page = source[index]
        notes = _without_annotations(source, page)
        textpage = page.get_textpage(flags=load_pymupdf().TEXTFLAGS_TEXT)
        text = clean_text(textpage.extractText()).rstrip("\n")
        spans, content = PageSpans(0.0, 0.0, (), text), {}
        rules: list[Box] = []
        drawings: list[Box] = []
        if len(text) <= _MOST_CHARACTERS:
            content = textpage.extractDICT()
            is_mended = repairs.mend(page, textpage, content)
            if index in repairs.unsettled:
                return PageText("", UNSETTLED, left_out="\n".join(notes))
            if is_mended:
                content = textpage.extractDICT()
            read_log = cache(page.get_bboxlog)
            hidden = hidden_places(page, _lines(content), read_log)
            if hidden:
                notes += [said for line in _lines(content) if (said := _text(line, hidden, is_hidden=True).strip())]
            text = "\n".join(_text(line, hidden) for line in _lines(content)).strip("\n")
            floats = {match["what"][:3].lower() for line in text.split("\n") if (match := CAPTION.match(line))}
            has_tables = "tab" in floats
            lines = _shown(textpage.extractRAWDICT() if has_tables else content, hidden)
            spans = read_spans(page, lines, text, has_tables=has_tables)
            if floats:
                rules, drawings = rule_boxes(page, read_log())
    except failures() as error:
        raise_if_out_of_memory(error)
        return PageText("", "lost", cause_of(error))
    left_out = "\n".join(notes)
    if not text.strip():
        return PageText("", "blank", left_out=left_out)
    said = "\n".join(piece.text for piece in spans.pieces) or text
    share, (bits, pairs) = illegible_share(said), mean_bits(said)
    if bits > _NO_WORDS_BITS and pairs >= _NO_WORDS_PAIRS:
        return PageText(text, "illegible", "its letters form no words", left_out=left_out, illegible=1.0)
    spans = _without_noise(spans)
    if share > _NOISE_SHARE or not spans.plain.strip():
        return PageText(text, "illegible", f"{share:.0%} of its characters", left_out=left_out, illegible=share)
    return PageText(
        spans.plain, spans=spans, rules=tuple(rules), drawings=tuple(drawings), left_out=left_out, illegible=share
    )


def read_glyphs(source: Any, index: int, repairs: FontRepairs) -> PageGlyphs | None:
    """The glyphs and horizontal rules of a page of a `pymupdf.Document`; None where it is turned or damaged."""
    try:
        page = source[index]
        if page.rotation:
            return None
        textpage = page.get_textpage(flags=load_pymupdf().TEXTFLAGS_TEXT)
        repairs.mend(page, textpage, textpage.extractDICT())
        glyphs = []
        for span in (span for line in _lines(textpage.extractRAWDICT()) for span in line["spans"]):
            size = type_size(span, span["bbox"][3] - span["bbox"][1], {})
            glyphs += [
                glyph(text, char["bbox"], char["origin"][1], size, span["font"])
                for char in span["chars"]
                if size > 1 and (text := clean_span(char["c"]).strip())
            ]
        rules = [box for kind, box in page.get_bboxlog() if "text" not in kind and box[3] - box[1] < 1.5]
    except failures() as error:
        raise_if_out_of_memory(error)
        return None
    return PageGlyphs(tuple(glyphs), tuple(box for box in rules if box[2] - box[0] > 2))


def _without_noise(spans: PageSpans) -> PageSpans:
    """The spans without the pieces of which most characters are illegible."""
    if not illegible_share(spans.plain) and not illegible_share("\n".join(piece.text for piece in spans.pieces)):
        return spans
    pieces = tuple(piece for piece in spans.pieces if not _is_noise(piece.text))
    lines = [line for line in spans.plain.split("\n") if not _is_noise(line)]
    return replace(spans, pieces=pieces, plain="\n".join(lines))


def _is_noise(text: str) -> bool:
    share = illegible_share(text)
    return share > _NOISE_SHARE and share * len("".join(text.split())) >= _LEAST_NOISE


def _lines(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [line for block in content["blocks"] for line in block.get("lines", ())]


def _shown(content: dict[str, Any], hidden: frozenset[Box]) -> list[dict[str, Any]]:
    """The lines without the spans at these places."""
    if not hidden:
        return _lines(content)
    lines = [
        {**line, "spans": [one for one in line["spans"] if place_of(one) not in hidden]} for line in _lines(content)
    ]
    return [line for line in lines if line["spans"]]


def _text(line: dict[str, Any], hidden: frozenset[Box], *, is_hidden: bool = False) -> str:
    """The text of those spans that are not at these places, or that are."""
    spans = line["spans"]
    if hidden:
        spans = [span for span in spans if (place_of(span) in hidden) == is_hidden]
    return clean_span("".join([span["text"] for span in spans]))


def read_marks(source: Any, index: int) -> list[Mark]:
    """What readers marked on a page of a `pymupdf.Document` or wrote to it, before it is read. Raises MemoryError.

    The words of a mark are those whose middle is in it.
    """
    pymupdf = load_pymupdf()
    found = []
    try:
        page = source[index]
        words = cache(lambda: page.get_text("words"))
        for annotation in page.annots():
            text, kind = "", annotation.type[0]
            if kind in (pymupdf.PDF_ANNOT_HIGHLIGHT, pymupdf.PDF_ANNOT_UNDERLINE, pymupdf.PDF_ANNOT_SQUIGGLY):
                corners = annotation.vertices or ()
                boxes = [pymupdf.Quad(corners[first : first + 4]).rect for first in range(0, len(corners), 4)]
                marked = [word[4] for box in boxes for word in words() if _middle(word) in box]
                text = clean_text(" ".join(marked))
            elif kind not in (pymupdf.PDF_ANNOT_TEXT, pymupdf.PDF_ANNOT_FREE_TEXT):
                continue
            comment, author = (" ".join(clean_text(annotation.info[name]).split()) for name in ("content", "title"))
            if text or comment:
                found.append(Mark(index + 1, text, comment, author=author))
    except failures() as error:
        raise_if_out_of_memory(error)
    return found


def _middle(word: Sequence[Any]) -> tuple[float, float]:
    return (word[0] + word[2]) / 2, (word[1] + word[3]) / 2


def _without_annotations(source: Any, page: Any) -> list[str]:
    """Take the annotations off a page of the opened file, but for the fields of a form; gives the notes among them.

    Later readers of the page (OCR, the metadata) do not see them, either.
    """
    pymupdf = load_pymupdf()
    notes = []
    try:
        # Deleting an annotation ends the one after it.
        while annotation := page.first_annot:
            if annotation.type[0] == pymupdf.PDF_ANNOT_FREE_TEXT:
                notes.append(" ".join(clean_text(annotation.info["content"]).split()))
            page.delete_annot(annotation)
    except failures():
        # They are damaged: form fields are lost with them.
        source.xref_set_key(page.xref, "Annots", "null")
    return [note for note in notes if note]
