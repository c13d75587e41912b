"""What a person means by an argument of `fetch`: an arXiv id, a DOI, the address of a PDF, or a topic to search for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from ragscience.core.errors import UsageError, shown_address

_NEW = r"\d{4}\.\d{4,5}"
_OLD = r"[a-z]+(?:-[a-z]+)?(?:\.[a-z]{2})?/\d{7}"
_ARXIV = re.compile(rf"(?:arxiv:\s*)?(?P<base>{_NEW}|{_OLD})(?:v(?P<version>[1-9]\d{{0,2}}))?", re.IGNORECASE)
_DOI = re.compile(r"(?:(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*)?(?P<doi>10\.\d{4,9}/\S+)", re.IGNORECASE)
_OF_ARXIV = re.compile(r"10\.48550/arxiv\.(?P<rest>.+)", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PAGES = ("abs", "pdf", "html", "format", "ps", "e-print", "src")
_ARXIV_HOSTS = frozenset(["arxiv.org", "www.arxiv.org", "export.arxiv.org"])
LONGEST = 2000
"""Characters of an argument."""


@dataclass(frozen=True, slots=True)
class ArxivId:
    """A paper on arXiv, or one version of it."""

    base: str
    """Without its version: "1706.03762", "hep-th/9901001"."""
    version: int | None = None
    """None is the newest."""

    def __str__(self) -> str:
        return self.base if self.version is None else f"{self.base}v{self.version}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one argument asks for; exactly one of the three is there."""

    said: str
    """The argument as it was given."""
    arxiv: ArxivId | None = None
    url: str = ""
    topic: str = ""


def identify(said: str) -> Wanted:
    """What `said` means.

    Raises UsageError for an empty or endless argument, and for a DOI that is not arXiv's own: its API has no search
    for those (https://info.arxiv.org/help/api/user-manual.html, 5.1).
    """
    text = said.strip()
    if not text or len(text) > LONGEST:
        raise UsageError(
            f"{shown(said)!r} is not a topic.", "Name a topic, an arXiv id, a DOI or the address of a PDF."
        )
    if (found := arxiv_id(text)) is not None:
        return Wanted(said, arxiv=found)
    if match := _DOI.fullmatch(unquote(text)):
        return Wanted(said, arxiv=_arxiv_of(match["doi"]))
    if _SCHEME.match(text):
        return Wanted(said, arxiv=found) if (found := _at_arxiv(text)) else Wanted(said, url=text)
    if re.match(r"(?:www\.|export\.)?arxiv\.org/", text, re.IGNORECASE) and (found := _at_arxiv(f"https://{text}")):
        return Wanted(said, arxiv=found)
    return Wanted(said, topic=text)


def arxiv_id(text: str) -> ArxivId | None:
    """The id that `text` is, with or without "arXiv:" and a version, or None."""
    match = _ARXIV.fullmatch(text.strip())
    if match is None:
        return None
    archive, slash, number = match["base"].rpartition("/")
    base = f"{archive.partition('.')[0].lower()}{slash}{number}"  # math.GT/0309136 is math/0309136 today
    return ArxivId(base, int(match["version"]) if match["version"] else None)


def _at_arxiv(url: str) -> ArxivId | None:
    """The paper that a page of arXiv's is about; None for another address."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".").lower()
    except ValueError:
        return None
    if host not in _ARXIV_HOSTS or parts.scheme.lower() not in ("http", "https"):
        return None
    kind, _, rest = unquote(parts.path).lstrip("/").partition("/")
    rest = rest.rstrip("/")
    return arxiv_id(rest[:-4] if rest.lower().endswith(".pdf") else rest) if kind.lower() in _PAGES else None


def _arxiv_of(doi: str) -> ArxivId:
    match = _OF_ARXIV.fullmatch(doi)
    found = arxiv_id(match["rest"]) if match else None
    if found is None:
        raise UsageError(
            f"{shown(doi)} is not one of arXiv's own DOIs (10.48550/arXiv.…), and arXiv cannot be asked for others.",
            'Look for its title (`fetch --title "…"`), or give the address of its PDF.',
        )
    return found


def shown(text: str) -> str:
    """The text on one line, cut after 80 characters; an address without credentials and query."""
    flat = shown_address(text) if _SCHEME.match(text.strip()) else " ".join(text.split())
    return flat if len(flat) <= 80 else f"{flat[:79]}…"
