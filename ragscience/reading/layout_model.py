"""The layout model that comes with PyMuPDF: which parts of a page look like what.

It is a network over a page's lines and its picture (package pymupdf-layout). It gives each part one of eleven names and
no probability; where as many of a part's lines speak for another name, the part is left out.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragscience.errors import ModelProblem
from ragscience.reading.text_spans import PageSpans
from ragscience.records import Box

__all__ = [
    "LAYOUT_MEMORY_BYTES",
    "LayoutBox",
    "block_layout_model",
    "find_layout_model",
    "layout_boxes",
    "load_layout_model",
]

LAYOUT_MEMORY_BYTES = 2 * 2**30
"""Address space that the model takes beside the reader: 0.9 GiB on printed pages with two threads."""

_MODULE = "pymupdf.layout"
_MODELS = "layout/resources/onnx/*.onnx"
_MOST_PIECES = 1500
"""On a page that the model is asked of: it compares each line with each other one, and printed pages have fewer."""
_LARGEST = 3000.0
"""Points, of a page's longer side: the model draws the page with a pixel a point."""
_NO_TIE = -1

Predict = Callable[[Any], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class LayoutBox:
    """A part of a page, as the model sees it."""

    kind: str
    """One of "text", "title", "section-header", "list-item", "caption", "footnote", "formula", "table", "picture",
    "page-header", "page-footer"."""
    box: Box


def find_layout_model() -> None:
    """Raise ModelProblem unless the model and what runs it are installed; nothing is loaded."""
    found = find_spec("pymupdf")
    folders = list(found.submodule_search_locations or ()) if found else []
    has_models = any(any(Path(folder).glob(_MODELS)) for folder in folders)
    missing = [] if has_models else ["pymupdf-layout"]
    missing += [name for name in ("onnxruntime", "networkx", "yaml") if find_spec(name) is None]
    if missing:
        raise _not_there(f"{', '.join(missing)} missing")


def block_layout_model() -> None:
    """Keep PyMuPDF from loading the model at its import, 0.8 s and 450 MB that reading without it can spare."""
    sys.modules.update({_MODULE: None, "pymupdf4llm": None})  # type: ignore[dict-item]


def load_layout_model() -> Predict:
    """What gives the model's parts of a `pymupdf.Page`; loaded once in a process. Raises ModelProblem.

    A limit on the process's address space is raised by LAYOUT_MEMORY_BYTES.
    """
    import pymupdf

    if not callable(pymupdf._get_layout):
        if sys.modules.get(_MODULE, ...) is None:
            del sys.modules[_MODULE]
        _raise_memory_limit()
        try:
            import pymupdf.layout
        except _load_failures() as error:
            raise _not_there(str(error)) from error
        pymupdf.layout.activate()

    def predict(page: Any) -> list[dict[str, Any]]:
        # Their order is not used, and to find it takes as long again.
        page.get_layout(return_raw=True, do_sort=False)
        return list(page.layout_information or ())

    return predict


def _raise_memory_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return
    wanted = soft + LAYOUT_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def layout_boxes(page: Any, spans: PageSpans, predict: Predict) -> tuple[LayoutBox, ...]:
    """The parts of a page as it is shown; none where it is turned, or has more on it than a printed page has.

    Raises ValueError where the model fails on it, and MemoryError.
    """
    if page.rotation or not 0 < len(spans.pieces) <= _MOST_PIECES or max(spans.width, spans.height) > _LARGEST:
        return ()
    try:
        parts = predict(page)
    except _model_failures() as error:
        if "alloc" in str(error):
            raise MemoryError(str(error)) from error
        raise ValueError(str(error)) from error
    return tuple(
        LayoutBox(part["class_name"], _box(part["group_bbox"])) for part in parts if part["tie_class"] == _NO_TIE
    )


def _box(numbers: list[float]) -> Box:
    x0, y0, x1, y1 = map(float, numbers[:4])
    return x0, y0, x1, y1


def _load_failures() -> tuple[type[Exception], ...]:
    return (ImportError, OSError) if find_spec("onnxruntime") is None else (ImportError, OSError, *_model_failures())


def _model_failures() -> tuple[type[Exception], ...]:
    """What onnxruntime raises; its errors have no other base than Exception."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile", "RuntimeException")
    return tuple(getattr(state, name) for name in names)


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
