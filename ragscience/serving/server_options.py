"""How a server is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

__all__ = ["ServerOptions"]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server is run."""

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    """Further host names that it is known by."""
    is_shared: bool = False
    """Whether other machines may reach it: it then needs a token of everybody."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    tls: tuple[Path, Path] | None = None
    """Files of the certificate and its key."""
    max_body: int = 1 << 20
    """Bytes of a request that is no upload."""
    max_upload: int = 200 << 20
    """Bytes of an upload."""
    answers: int = 8
    """Questions that are answered at once; others wait."""
