"""Readable names for fetched files, the same on every system: vaswani-2017-attention-is-all-you-need.pdf."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragscience.metadata.ascii_names import plain_letters
from ragscience.metadata.person_names import last_name
from ragscience.records import Metadata

__all__ = ["file_name", "numbered", "slug"]

_TITLE_CHARS = 60
_AUTHOR_CHARS = 30
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))]
)
"""What Windows takes for a device, whatever ending follows."""


def file_name(metadata: Metadata, otherwise: str) -> str:
    """First author's family name, year and short title, in ASCII; of what `otherwise` says where neither is known.

    Always a plain file name of at most 110 characters that ends in ".pdf", without a folder, a blank, a leading dot
    or a name that Windows keeps for itself; "paper.pdf" where nothing of all that can be written in ASCII.
    """
    author = slug(last_name(metadata.authors[0]), _AUTHOR_CHARS) if metadata.authors else ""
    title = slug(metadata.title, _TITLE_CHARS)
    known = [part for part in (author, str(metadata.year or ""), title) if part]
    if not (author or title):
        known = [part for part in (slug(re.sub(r"(?i)(?:\.pdf)+$", "", otherwise), _TITLE_CHARS),) if part]
    name = "-".join(known) or "paper"
    return f"{name}-paper.pdf" if name in _RESERVED else f"{name}.pdf"


def numbered(name: str) -> Iterator[str]:
    """`name`, then `name` with -2, -3, … before its ending, without end."""
    yield name
    stem = name.removesuffix(".pdf")
    number = 2
    while True:
        yield f"{stem}-{number}.pdf"
        number += 1


def slug(text: str, longest: int) -> str:
    """Small ASCII letters and digits with a hyphen for all else, at most `longest` characters, cut between words."""
    bare = re.sub(r"['’]", "", plain_letters(text))
    words = re.findall(r"[a-z0-9]+", bare)
    joined = ""
    for word in words:
        longer = f"{joined}-{word}" if joined else word[:longest]
        if len(longer) > longest:
            break
        joined = longer
    return joined
