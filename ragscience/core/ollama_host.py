"""OLLAMA_HOST, Ollama's own variable for where it listens, as an address that can be called."""

from __future__ import annotations

__all__ = ["address_of"]

PORT = "11434"
ANY_ADDRESS = ("", "0.0.0.0", "[::]")  # noqa: S104  # what a server listens on is called on this machine


def address_of(host: str) -> str:
    """The URL that OLLAMA_HOST means: http and port 11434 where it has no scheme, else the scheme's own port."""
    scheme, has_scheme, rest = host.strip().rpartition("://")
    place, slash, path = rest.rstrip("/").partition("/")
    name, colon, port = place.rpartition(":")
    if not colon or not port.isdecimal():
        name, port = place, "" if has_scheme else PORT
    name = "127.0.0.1" if name in ANY_ADDRESS else name
    return f"{scheme or 'http'}://{name}" + (f":{port}" if port else "") + slash + path
