"""What a server calls a file, as a name that no file system trips over."""

from __future__ import annotations

import re
import unicodedata
from email.message import Message
from urllib.parse import unquote

import httpx

__all__ = ["safe_name", "suggested_name"]

_LONGEST_BYTES = 120
_FORBIDDEN = re.compile(r'[<>:"|?*]')
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)
"""Of Windows, with any ending: https://learn.microsoft.com/windows/win32/fileio/naming-a-file"""
_NAMELESS = "paper"


def suggested_name(disposition: str, url: httpx.URL) -> str:
    """The file name of a Content-Disposition header (RFC 6266), else the last part of the URL's path; made safe."""
    message = Message()
    message["Content-Disposition"] = disposition.replace("\r", " ").replace("\n", " ")
    try:
        named = message.get_filename("")
    except (ValueError, LookupError, TypeError):
        # An unknown charset, or parameters that the parser of the standard library stumbles over.
        named = ""
    return safe_name(named or unquote(url.raw_path.decode("ascii", "replace").partition("?")[0].rpartition("/")[2]))


def safe_name(name: str) -> str:
    """A name of one to 120 bytes that ends in ".pdf", and is one file of a folder on every system.

    Without folders, control and format characters (NUL, RIGHT-TO-LEFT OVERRIDE), characters that Windows forbids and
    names that it reserves, and without dots or blanks at either end.
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    kept = "".join(" " if character.isspace() else character for character in last)
    kept = "".join(character for character in kept if unicodedata.category(character)[0] != "C")
    stem = _FORBIDDEN.sub("-", kept).strip(" .")
    if stem.lower().endswith(".pdf"):
        stem = stem[: -len(".pdf")].rstrip(" .")
    stem = stem.encode()[: _LONGEST_BYTES - len(".pdf") - 1].decode(errors="ignore").strip(" .")
    if stem.lower() in ("", "pdf"):
        stem = _NAMELESS
    if _RESERVED.fullmatch(stem.partition(".")[0].rstrip()):
        stem = f"_{stem}"
    return f"{stem}.pdf"
