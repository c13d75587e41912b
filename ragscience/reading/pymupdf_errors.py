"""PyMuPDF without its messages, and the errors that it has for bad files."""

from __future__ import annotations

import re
import sys
from typing import Any

from ragscience.reading.text_cleaning import clean_text

_OUT_OF_MEMORY = re.compile(r"\b(malloc|calloc|realloc)\b.{0,200}\bfailed\b")


def load_pymupdf() -> Any:
    """The module pymupdf, without messages on stderr and without its layout model, which takes 0.8 s and 450 MB."""
    if "pymupdf" not in sys.modules:
        sys.modules.update({"pymupdf.layout": None, "pymupdf4llm": None})  # type: ignore[dict-item]
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    return pymupdf


def failures() -> tuple[type[Exception], ...]:
    """PyMuPDF's errors for a bad file: its own are RuntimeErrors, MuPDF's are FzErrorBase."""
    return RuntimeError, ValueError, IndexError, load_pymupdf().mupdf.FzErrorBase


def mishaps() -> tuple[type[Exception], ...]:
    """The errors of calculations with a file's strange values, too."""
    return *failures(), ArithmeticError, AttributeError, LookupError, TypeError


def cause_of(error: Exception) -> str:
    """MuPDF's message, if known, on one line."""
    origin = error.__cause__ or error
    words = clean_text(str(origin)).split()
    return " ".join(words)[:200].rstrip(".") or type(origin).__name__


def raise_if_out_of_memory(error: Exception) -> None:
    """Raise MemoryError where MuPDF's allocator failed, which it reports like any other error."""
    if _OUT_OF_MEMORY.search(str(error)) or _OUT_OF_MEMORY.search(str(error.__cause__ or "")):
        raise MemoryError(str(error)) from error
