"""Addresses: as a message may show them, and of Ollama's own variable."""

from __future__ import annotations

import re

_LONGEST_SHOWN = 120
PORT = "11434"
ANY_ADDRESS = ("", "0.0.0.0", "[::]")  # noqa: S104  # what a server listens on is called on this machine


def shown_address(text: str) -> str:
    """A URL as a message may show it: on one line, not too long, without credentials and without its query."""
    start = re.split(r"[?#]", text, maxsplit=1)[0]
    if "@" in start:
        scheme, _, _ = start.partition("://")
        start = f"{scheme if len(scheme) < 10 else ''}://…/{start.rpartition('@')[2]}"
    plain = "".join(character if character.isprintable() else "\ufffd" for character in start.strip())
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}…"


def address_of(host: str) -> str:
    """The URL that OLLAMA_HOST means: http and port 11434 where it has no scheme, else the scheme's own port."""
    scheme, has_scheme, rest = host.strip().rpartition("://")
    place, slash, path = rest.rstrip("/").partition("/")
    name, colon, port = place.rpartition(":")
    if not colon or not port.isdecimal():
        name, port = place, "" if has_scheme else PORT
    name = "127.0.0.1" if name in ANY_ADDRESS else name
    return f"{scheme or 'http'}://{name}" + (f":{port}" if port else "") + slash + path
