"""A library in LanceDB."""

from __future__ import annotations

from ragscience.core.errors import UsageError
from ragscience.library.home import Home
from ragscience.library.store_protocol import Store

__all__ = ["open_lance"]


def open_lance(home: Home, uri: str, *, writing: bool, keeps_ledger: bool) -> Store:
    """The library at a URI of LanceDB's."""
    del home, writing, keeps_ledger
    raise UsageError(f"The library at {uri} cannot be opened.", "Unset the setting `library`.")
