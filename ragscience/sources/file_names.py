"""Readable names for fetched files, the same on every system: vaswani-2017-attention-is-all-you-need.pdf."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import Message
from itertools import count
from urllib.parse import unquote

import httpx

from ragscience.core.records import Metadata
from ragscience.reading.author_names import last_name
from ragscience.reading.name_words import plain_letters

__all__ = ["file_name", "numbered", "suggested_name"]

_TITLE_CHARS = 60
_AUTHOR_CHARS = 30
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
"""Device names of Windows, with any ending: https://learn.microsoft.com/windows/win32/fileio/naming-a-file"""


def file_name(metadata: Metadata, otherwise: str) -> str:
    """First author's family name, year and short title, in ASCII; without author and title, the words of `otherwise`.

    Always a plain file name of at most 110 characters that ends in ".pdf", without a folder, a blank, a leading dot
    or a name that Windows reserves; "paper.pdf" where nothing of all that can be written in ASCII.
    """
    author = _slug(last_name(metadata.authors[0]), _AUTHOR_CHARS) if metadata.authors else ""
    title = _slug(metadata.title, _TITLE_CHARS)
    if author or title:
        name = "-".join(filter(None, (author, str(metadata.year or ""), title)))
    else:
        name = _slug(re.sub(r"(?i)(?<!\.pdf)(?:\.pdf)++$", "", otherwise), _TITLE_CHARS) or "paper"
    return f"{name}-paper.pdf" if _RESERVED.fullmatch(name) else f"{name}.pdf"


def suggested_name(disposition: str, url: httpx.URL) -> str:
    """The file name of a Content-Disposition header (RFC 6266), else the last part of the URL's path, as it is sent."""
    message = Message()
    message["Content-Disposition"] = disposition.replace("\r", " ").replace("\n", " ")
    try:
        named = message.get_filename("")
    except (ValueError, LookupError, TypeError):
        # An unknown charset, or parameters that the standard library's parser does not accept.
        named = ""
    path = unquote(url.raw_path.decode("ascii", "replace").partition("?")[0].rpartition("/")[2])
    return re.split(r"[/\\]", named or path)[-1]


def numbered(name: str) -> Iterator[str]:
    """`name`, then `name` with -2, -3, … before its ending, without end."""
    yield name
    yield from (f"{name.removesuffix('.pdf')}-{number}.pdf" for number in count(2))


def _slug(text: str, longest: int) -> str:
    """Lower-case ASCII letters and digits with a hyphen for all else, at most `longest` chars, cut between words."""
    joined = ""
    for word in re.findall(r"[a-z0-9]+", re.sub(r"['’]", "", plain_letters(text))):
        longer = f"{joined}-{word}" if joined else word[:longest]
        if len(longer) > longest:
            break
        joined = longer
    return joined
