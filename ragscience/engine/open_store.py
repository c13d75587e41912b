"""Opens the library that the settings name: the home's own, or one in LanceDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.library.store import Home, Library, Store

if TYPE_CHECKING:
    from ragscience.core.settings import Settings

__all__ = ["EMBEDDED", "open_at", "open_store"]

EMBEDDED = "vectorstore"
"""What names the library in the home's own folder; all else is a URI."""


def open_store(home: Home, settings: Settings, *, writing: bool = False) -> Store:
    """The library that the setting `library` names. Raises as `open_at`."""
    return open_at(home, settings.library, writing=writing)


def open_at(home: Home, uri: str, *, writing: bool = False, is_copy: bool = False) -> Store:
    """The library at a URI, or the home's own for "vectorstore"; the home keeps all that is a person's.

    One that `is_copy` of the home's library does not write the home's ledger.

    Raises LibraryBusy while another process writes it, LibraryUnavailable for a newer format, UsageError where a
    package is missing, RagScienceError where the place cannot be read.
    """
    if uri == EMBEDDED:
        return Library.open_for_writing(home) if writing else Library.open(home)
    from ragscience.library.lance_store import open_lance

    return open_lance(home, uri, writing=writing, keeps_ledger=not is_copy)
