"""The package lancedb, imported without the REST client that it brings along.

`lancedb` imports all of `lance_namespace_urllib3_client`, a generated client for servers of namespaces, which no
library of ours uses. Describing its calls takes 1.2 of the 2.5 s of the import, in each command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["import_lancedb"]

_CLIENT = "lance_namespace_urllib3_client"
_CALLS = f"{_CLIENT}.api"


class _NoCalls(MetaPathFinder, Loader):
    """Gives empty modules in place of those of the client's calls; each name in them is a class without content."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  # the protocol's
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname != _CALLS and not fullname.startswith(f"{_CALLS}."):
            return None
        return ModuleSpec(fullname, self, is_package=fullname == _CALLS)

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = lambda name: type(name, (), {})  # type: ignore[method-assign]


def import_lancedb() -> Any:
    """The package, or ImportError. A process that has imported the REST client keeps it."""
    if "lancedb" in sys.modules or _CLIENT in sys.modules:
        return import_module("lancedb")
    finder = _NoCalls()
    sys.meta_path.insert(0, finder)
    try:
        return import_module("lancedb")
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name == _CALLS or name.startswith(f"{_CALLS}.")]:
            del sys.modules[name]  # who wants the client itself imports it
