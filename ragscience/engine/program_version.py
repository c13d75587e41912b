"""The version of the program, with what decides whether a library can be read by it."""

from __future__ import annotations

import platform

from ragscience.core.program import __version__
from ragscience.library.database import SCHEMA_VERSION

__all__ = ["version_line"]


def version_line() -> str:
    """The versions of the program, of Python and of the library's schema, in one line."""
    return f"RAG Science {__version__} (Python {platform.python_version()}, library schema {SCHEMA_VERSION})"
