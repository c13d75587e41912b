"""The layout model that comes with PyMuPDF: it names the parts of a page, and corrects the headings of the fast reader.

The model (package pymupdf-layout) is a network over a page's lines and its picture. It gives each part one of eleven
names without a probability; a part with a tie between two names is left out. The lines, order, tables and figures of
the fast reader are kept. A line is in a part where nearly all of its area is.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Box, Document
from ragscience.core.system import limit_memory
from ragscience.reading.heading_text import heading_number, is_known_heading
from ragscience.reading.text_rows import Measures, Placed, Row, is_prose
from ragscience.reading.text_spans import PageSpans

LAYOUT_MEMORY_BYTES = 2 * 2**30
"""Further address space for the model: it needs 0.9 GiB on printed pages with two threads."""

_MODULE = "pymupdf.layout"
_MODELS = "layout/resources/onnx/*.onnx"
_MOST_PIECES = 1500
"""On a page for the model, which compares each line with each other; printed pages have fewer."""
_LARGEST = 3000.0
"""Points of a page's longer side: the model draws the page with one pixel per point."""
_NO_TIE = -1

Predict = Callable[[Any], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class LayoutBox:
    """A part of a page, as the model names it."""

    kind: str
    """One of "text", "title", "section-header", "list-item", "caption", "footnote", "formula", "table", "picture",
    "page-header", "page-footer"."""
    box: Box


Parts = Mapping[int, Sequence[LayoutBox]]
"""By page number."""

_INSIDE = 0.8
"""Share of a line's area that is in its part."""
_MARGIN = 0.1
"""Share of the page's height at its top and at its bottom, where a running head may be."""
_LONGEST_HEADING = 160
_MOST_LINES = 4
_SMALLEST = 0.7
"""Share of the running text's size: small capitals are as large as lower-case letters."""
_OPENING = "\"“'‘(¿¡"
_NOTE = re.compile(r"(?:\^?\d{1,2}|[∗*†‡§¶])\s?(?=[^\W\d_])")
"""The beginning of a footnote, which the model may call a page footer."""
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_RUNNING = frozenset({"page-header", "page-footer"})
_NO_HEADING = frozenset({"table", "formula"})
"""Parts without headings. Not pictures: the model labels many pages of old type as pictures."""
_DEEPEST = 4
_LEAST_NUMBERED = 5
"""With fewer numbered headings, a gap between the numbers means nothing."""


def find_layout_model() -> None:
    """Raise ModelProblem unless the model and its packages are installed; nothing is loaded."""
    found = find_spec("pymupdf")
    folders = list(found.submodule_search_locations or ()) if found else []
    has_models = any(any(Path(folder).glob(_MODELS)) for folder in folders)
    missing = [] if has_models else ["pymupdf-layout"]
    missing += [name for name in ("onnxruntime", "networkx", "yaml") if find_spec(name) is None]
    if missing:
        raise _not_there(f"{', '.join(missing)} missing")


def block_layout_model() -> None:
    """Keep PyMuPDF from loading the model at its import, which takes 0.8 s and 450 MB."""
    sys.modules.update({_MODULE: None, "pymupdf4llm": None})  # type: ignore[dict-item]


def load_layout_model() -> Predict:
    """The model as a function from a `pymupdf.Page` to its parts, loaded once per process.

    Raises ModelProblem, and MemoryError. A limit on the process's address space is raised by LAYOUT_MEMORY_BYTES.
    """
    import pymupdf

    if not callable(pymupdf._get_layout):
        if sys.modules.get(_MODULE, ...) is None:
            del sys.modules[_MODULE]
        _raise_memory_limit()
        why = ""
        try:
            import pymupdf.layout
        except _failures() as error:
            why = str(error) or type(error).__name__
        # Outside the handler, which keeps the half of the model that was loaded: what follows needs memory too.
        if why and _is_lack_of_memory(why):
            raise MemoryError(why)
        if why:
            raise _not_there(why)
        pymupdf.layout.activate()

    def predict(page: Any) -> list[dict[str, Any]]:
        # The order of the parts is not used; sorting them takes as long as finding them.
        page.get_layout(return_raw=True, do_sort=False)
        return list(page.layout_information or ())

    return predict


def _raise_memory_limit() -> None:
    limit_memory(lambda limit: limit and limit + LAYOUT_MEMORY_BYTES)


def layout_boxes(page: Any, spans: PageSpans, predict: Predict) -> tuple[LayoutBox, ...]:
    """The parts of a page as it is shown; none for a rotated page or one with more text than a printed page.

    Raises ValueError where the model fails on it, and MemoryError.
    """
    if page.rotation or not 0 < len(spans.pieces) <= _MOST_PIECES or max(spans.width, spans.height) > _LARGEST:
        return ()
    try:
        parts = predict(page)
    except _failures() as error:
        if _is_lack_of_memory(str(error)):
            raise MemoryError(str(error)) from error
        raise ValueError(str(error)) from error
    return tuple(
        LayoutBox(part["class_name"], _box(part["group_bbox"])) for part in parts if part["tie_class"] == _NO_TIE
    )


def _box(numbers: list[float]) -> Box:
    x0, y0, x1, y1 = map(float, numbers[:4])
    return x0, y0, x1, y1


def _failures() -> tuple[type[Exception], ...]:
    """What the model's packages raise; with little memory, whatever the call leads to that fails first.

    The errors of onnxruntime have no common base but Exception.
    """
    state = sys.modules.get("onnxruntime.capi.onnxruntime_pybind11_state")
    names = ("EPFail", "Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile", "RuntimeException")
    own = [getattr(state, name) for name in names if hasattr(state, name)]
    return (ImportError, OSError, RuntimeError, SystemError, AttributeError, *own)


def _is_lack_of_memory(why: str) -> bool:
    """Whether an error's text says so: std::bad_alloc, or a shared library that could not be mapped."""
    return "alloc" in why or "failed to map" in why


def _not_there(why: str) -> ModelProblem:
    why = " ".join(why.split())[:200]
    fix = f"Install it: pip install pymupdf-layout=={_pymupdf_version()}, or read without --layout."
    return ModelProblem(f"The layout model for --layout cannot be loaded: {why}.", fix)


def _pymupdf_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pymupdf")
    except PackageNotFoundError:
        return "2.0"


def missing_numbers(document: Document) -> tuple[str, ...]:
    """Section numbers that other headings imply: "3" where there is "3.1", or "7.2" before "7.3".

    Any of them means that the fast reader has missed a heading. Empty where few headings have numbers.
    """
    texts = (document.text[one.start : one.end] for one in document.elements if one.kind == "heading")
    found = {number for text in texts if (number := heading_number(text))[:1].isdigit()}
    if len(found) < _LEAST_NUMBERED:
        return ()
    wanted: set[str] = set()
    for number in found:
        *above, last = number.split(".")
        wanted.update(".".join(above[:depth]) for depth in range(1, len(above) + 1))
        if last.isdigit() and int(last) > 1:
            wanted.add(".".join([*above, str(int(last) - 1)]))
    return tuple(sorted(wanted - found))


def part_of(row: Row, parts: Iterable[LayoutBox]) -> LayoutBox | None:
    """The smallest part with an upright line in it, or None."""
    if row.turn:
        return None
    x0, y0, x1, y1 = row.box
    area = max(x1 - x0, 0.1) * max(y1 - y0, 0.1)
    best, smallest = None, 0.0
    for part in parts:
        left, top, right, bottom = part.box
        # The model's boxes end at the ink; lines reach from ascent to descent.
        wide = min(x1, right + 2) - max(x0, left - 2)
        high = min(y1, bottom + 0.3 * (y1 - y0)) - max(y0, top - 0.3 * (y1 - y0))
        size = (right - left) * (bottom - top)
        if wide > 0 and high > 0 and wide * high >= _INSIDE * area and (best is None or size < smallest):
            best, smallest = part, size
    return best


def without_margins(
    segments: Sequence[Row], margin_text: str, parts: Sequence[LayoutBox], height: float
) -> tuple[list[Row], str]:
    """The segments without running heads that are not repeated, and `margin_text` with the text of those."""
    away = [
        row
        for row in segments
        if not _MARGIN * height < row.base < (1 - _MARGIN) * height
        and (part := part_of(row, parts))
        and part.kind in _RUNNING
        and not _NOTE.match(row.text)
    ]
    gone = set(map(id, away))
    rest = [row for row in segments if id(row) not in gone]
    if not rest:
        return list(segments), margin_text
    return rest, "\n".join(filter(None, [margin_text, *(row.text for row in away)]))


def advise_headings(placed: Sequence[Placed], parts: Parts, measures: Measures) -> None:
    """Make headings of the model's headings, and none of lines in its tables and formulas.

    Lines in formulas become equations if they have no kind yet.
    """
    seen = [part_of(one.row, parts.get(one.page, ())) for one in placed]
    for one, part in zip(placed, seen, strict=True):
        if one.kind == "heading" and part and part.kind in _NO_HEADING and not is_known_heading(one.row.text):
            one.kind, one.level, one.group = "", 0, 0
    _add_headings(placed, seen, measures)
    for one, part in zip(placed, seen, strict=True):
        if one.kind or part is None or is_prose(one, measures):
            continue
        if part.kind == "formula":
            one.kind = "equation"


def _add_headings(placed: Sequence[Placed], seen: Sequence[LayoutBox | None], measures: Measures) -> None:
    first = next((index for index, one in enumerate(placed) if one.kind == "heading"), len(placed))
    lowest = min((one.group for one in placed), default=0)
    levels = _levels(placed)
    before: LayoutBox | None = None
    deepest = 1
    for index, (one, part) in enumerate(zip(placed, seen, strict=True)):
        if one.kind == "heading":
            deepest = one.level
        is_later = index > first or (placed and one.page > placed[0].page)
        if not (is_later and part and part.kind == "section-header" and not one.kind):
            before = None
            continue
        if part is before:
            last = placed[index - 1]
            one.kind, one.level, one.group = last.kind, last.level, last.group
            continue
        if not _may_be_heading(one, index, placed, seen, measures):
            continue
        lowest -= 1
        one.kind, one.group, before = "heading", lowest, part
        one.level = _level_of(one, levels, deepest)


def _may_be_heading(
    one: Placed, index: int, placed: Sequence[Placed], seen: Sequence[LayoutBox | None], measures: Measures
) -> bool:
    """Whether a line that the model names a heading can be the beginning of one."""
    text = one.row.text
    if not _LETTERS.search(text) or len(text) > _LONGEST_HEADING or text[0].islower() or text[-1] in ",;":
        return False
    if text[-1] in ".:" and not _number_of(text):
        return False
    if one.row.size < _SMALLEST * measures.size or not (text[0].isalnum() or text[0] in _OPENING):
        return False
    lines = 1
    while index + lines < len(placed) and seen[index + lines] is seen[index]:
        lines += 1
    return lines <= _MOST_LINES


def _levels(placed: Sequence[Placed]) -> dict[tuple[float, bool], int]:
    """The usual level of the headings in each size and weight."""
    counts: defaultdict[tuple[float, bool], Counter[int]] = defaultdict(Counter)
    for one in placed:
        if one.kind == "heading":
            counts[round(one.row.size), one.row.bold][one.level] += 1
    return {style: levels.most_common(1)[0][0] for style, levels in counts.items()}


def _number_of(text: str) -> str:
    """The number of a heading, or ""; a letter alone needs a sign after it."""
    number = heading_number(text)
    return number if any(map(str.isdigit, number)) or text[len(number) : len(number) + 1] in tuple(".:)") else ""


def _level_of(one: Placed, levels: Mapping[tuple[float, bool], int], deepest: int) -> int:
    if number := _number_of(one.row.text):
        return min(number.count(".") + 1, _DEEPEST)
    return levels.get((round(one.row.size), one.row.bold), min(deepest + 1, _DEEPEST))
