"""arXiv's API: a search becomes a query, and its Atom feed becomes papers.

The query language and the feed are those of https://info.arxiv.org/help/api/user-manual.html (3.1, 3.3, 3.4 and 5.1).
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from ragscience.core.errors import SourceError, UsageError
from ragscience.core.records import Metadata
from ragscience.sources.fetch_arguments import ArxivId, arxiv_id, shown

__all__ = ["FEED_KINDS", "LARGEST_FEED", "Arxiv", "Candidate", "Search", "parse_feed", "search_query"]

FEED_KINDS = ("application/atom+xml", "application/xml", "text/xml")
LARGEST_FEED = 16 * 2**20
"""Bytes of one answer of the API; a hundred papers take about 0.3 MB."""
PAGE = 100
"""Papers per request."""
LONGEST_FIELD = 500
"""Most characters of a search."""
_SORT = {"relevance": "relevance", "newest": "submittedDate"}
_FIRST, _LAST = "199101010000", "299912312359"
_DEEPEST = 40
"""Elements within each other; a feed has five."""
_LONGEST_TAG = 4000
"""Bytes of a tag with its attributes."""
_MOST_TAGS = 300_000
"""A hundred papers of a thousand authors each have two thirds of that; a parser takes about 10 s for as many."""
_MOST_ODD = 100
"""Namespaces, and ampersands that begin no entity: a parser's time grows with their square."""
_NAMESPACE = re.compile(rb"\bxmlns[^\s>]{0,200}")
_BARE_AMPERSAND = re.compile(rb"&(?!#?\w{1,10};)")
_TAG = re.compile(rb"<[^<>]*+>?+")
_DECLARED = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_ENCODING = re.compile(rb"^\s*<\?xml[^>]{0,1000}?encoding\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
_ENCODINGS = frozenset([b"utf-8", b"us-ascii", b"ascii", b"iso-8859-1"])
_HERE = "Try again later, or name the papers by their arXiv ids."
_WORD_IT = "Check the id, or word it in another way."
_WITHDRAWN = re.compile(
    r"\b(?:this|the) (?:paper|article|submission|manuscript|preprint|work) (?:has been|is|was) withdrawn", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for; every field that is not empty narrows it."""

    topic: str = ""
    author: str = ""
    title: str = ""
    category: str = ""
    since: str = ""
    """"2023", "2023-05" or "2023-05-17": the first day that counts."""
    until: str = ""
    """The last one, likewise."""
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A paper that can be fetched."""

    metadata: Metadata
    url: str
    """Of its PDF."""
    arxiv: ArxivId | None = None
    """With its version; None where it is not from arXiv."""
    comment: str = ""
    """What its authors say to arXiv's readers: "12 pages", "withdrawn"."""

    @property
    def is_withdrawn(self) -> bool:
        """Whether the authors say that they took it back; arXiv has no PDF of such a version."""
        return "withdrawn" in self.comment.casefold() or bool(_WITHDRAWN.search(self.metadata.abstract))


def search_query(search: Search) -> str:
    """The value of `search_query`, not yet quoted for a URL: `all:"graph learning" AND cat:cs.LG`.

    Raises UsageError for a field without a word and for an invalid date.
    """
    parts = [
        f'{prefix}:"{_phrase(text)}"'
        for prefix, text in (("all", search.topic), ("au", search.author), ("ti", search.title))
        if text
    ]
    if search.category:
        if not re.fullmatch(r"[A-Za-z-]+(?:\.[A-Za-z*-]+)?", search.category):
            raise UsageError(
                f"--category {shown(search.category)!r} is not an arXiv category.", "Write it as cs.CL or cs.*."
            )
        parts.append(f"cat:{search.category}")
    if search.since or search.until:
        first = f"{_day(search.since, last=False)}0000" if search.since else _FIRST
        last = f"{_day(search.until, last=True)}2359" if search.until else _LAST
        if first > last:
            raise UsageError(f"--from {search.since} is after --to {search.until}.", "Swap the two dates.")
        parts.append(f"submittedDate:[{first} TO {last}]")
    if not parts:
        raise UsageError("Nothing to search for.", 'Name a topic: `python ingest.py fetch "graph neural networks"`.')
    return " AND ".join(parts)


def _phrase(text: str) -> str:
    """Without what ends a phrase; a colon or a bracket inside one has no meaning to the API."""
    phrase = " ".join(re.sub(r'["\\\x00-\x1f\x7f]', " ", text).split())
    if not any(char.isalnum() for char in phrase) or len(phrase) > LONGEST_FIELD:
        raise UsageError(f"{shown(text)!r} cannot be searched for.", f"Give words, {LONGEST_FIELD} characters at most.")
    return phrase


def _day(text: str, *, last: bool) -> str:
    """A day as YYYYMMDD; of a year or a month its first or last day."""
    match = re.fullmatch(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", text)
    try:
        if match is None:
            raise ValueError
        year, month = int(match[1]), int(match[2] or (12 if last else 1))
        day = int(match[3]) if match[3] else (_days_of(year, month) if last else 1)
        return date(year, month, day).strftime("%Y%m%d")
    except ValueError:
        raise UsageError(f"{shown(text)!r} is not a date.", "Write 2023, 2023-05 or 2023-05-17.") from None


def _days_of(year: int, month: int) -> int:
    following = date(year + month // 12, month % 12 + 1, 1)
    return (following - date(year, month, 1)).days


@dataclass(frozen=True)
class Feed:
    """One answer of the API."""

    candidates: tuple[Candidate, ...]
    entries: int
    """How many it listed, those included that were no papers."""
    total: int | None
    """Total number of results, if given."""


class Arxiv:
    """The API at `url`, asked through `get`, which gives the bytes of a feed for an address."""

    def __init__(self, url: str, get: Callable[[str], bytes], *, page: int = PAGE) -> None:
        self._url = url
        self._get = get
        self._page = page

    def search(self, search: Search, count: int) -> list[Candidate]:
        """The first `count` papers, each once. Raises SourceError where the API answers nothing of use."""
        asked = {
            "search_query": search_query(search),
            "sortBy": _SORT["newest" if search.newest_first else "relevance"],
            "sortOrder": "descending",
        }
        found: dict[str, Candidate] = {}
        start = 0
        while len(found) < count:
            feed = self._feed({**asked, "start": str(start), "max_results": str(min(self._page, count - len(found)))})
            for one in feed.candidates:
                found.setdefault(_key(one), one)
            start += feed.entries
            if not feed.entries or (feed.total is not None and start >= feed.total):
                break
        return list(found.values())[:count]

    def papers(self, ids: Sequence[ArxivId]) -> dict[ArxivId, Candidate]:
        """The papers with these ids, as far as arXiv has them. Raises SourceError as `search` does.

        One id that arXiv rejects makes the whole request fail: then each id is requested alone.
        """
        found: dict[ArxivId, Candidate] = {}
        for first in range(0, len(ids), self._page):
            some = ids[first : first + self._page]
            try:
                found |= self._listed(some)
            except SourceError as error:
                if error.reason != "arxiv":
                    raise
                for one in some if len(some) > 1 else ():
                    found |= self.papers([one])
        return found

    def _listed(self, ids: Sequence[ArxivId]) -> dict[ArxivId, Candidate]:
        feed = self._feed({"id_list": ",".join(map(str, ids)), "start": "0", "max_results": str(len(ids))})
        return {
            wanted: one
            for wanted in ids
            for one in feed.candidates
            if one.arxiv and one.arxiv.base == wanted.base and wanted.version in (None, one.arxiv.version)
        }

    def _feed(self, asked: Mapping[str, str]) -> Feed:
        address = f"{self._url}?{urlencode(asked, quote_via=quote, safe=':,')}"
        feed = parse_feed(self._get(address))
        candidates = (replace(one, url=self._pdf(one)) for one in feed.candidates)
        return replace(feed, candidates=tuple(candidates))

    def _pdf(self, candidate: Candidate) -> str:
        """Beside the API, on the host that arXiv has for programs, and never where a feed points to."""
        parts = urlsplit(self._url)
        return urlunsplit((parts.scheme, parts.netloc, f"/pdf/{quote(str(candidate.arxiv))}", "", ""))


def _key(candidate: Candidate) -> str:
    return candidate.arxiv.base if candidate.arxiv else candidate.url


def parse_feed(body: bytes) -> Feed:
    """The papers of an Atom feed, every field but the id optional; an entry without an id of arXiv's is left out.

    Raises SourceError for what is no feed, for one that declares entities, and for an error that it reports.
    """
    import feedparser

    _check_safe(body)
    parsed = feedparser.parse(
        io.BytesIO(body),  # bytes themselves would be tried as the name of a file
        response_headers={"content-type": "application/atom+xml"},
        resolve_relative_uris=False,
        sanitize_html=False,
    )
    if not parsed.entries and (parsed.bozo or not parsed.get("version")):
        cause = parsed.get("bozo_exception", "it is not a feed")
        raise SourceError(f"arXiv's answer cannot be read: {shown(str(cause))}.", _HERE, reason="not-a-feed")
    for entry in parsed.entries:
        if _text(entry, "title").casefold() == "error":
            said = _text(entry, "summary") or "without a reason"
            raise SourceError(f"arXiv reports an error: {shown(said)}.", _WORD_IT, reason="arxiv")
    total = _text(parsed.feed, "opensearch_totalresults")
    candidates = tuple(one for entry in parsed.entries if (one := _candidate(entry)) is not None)
    return Feed(candidates, len(parsed.entries), int(total) if total.isascii() and total.isdigit() else None)


def _check_safe(body: bytes) -> None:
    """Refuse what could make a parser work for ever: declarations, encodings that hide them, and odd tags."""
    declared = _ENCODING.match(body)
    hidden = b"\x00" in body or (declared is not None and declared[1].lower() not in _ENCODINGS)
    if hidden or _DECLARED.search(body):
        raise _not_plain("it declares entities or an odd encoding")
    if len(set(_NAMESPACE.findall(body))) > _MOST_ODD or len(_BARE_AMPERSAND.findall(body)) > _MOST_ODD:
        raise _not_plain(f"it has more than {_MOST_ODD} namespaces or bare ampersands")
    depth = 0
    for number, match in enumerate(_TAG.finditer(body), start=1):
        tag = match.group()
        if number > _MOST_TAGS or len(tag) > _LONGEST_TAG:
            raise _not_plain(f"it has more than {_MOST_TAGS:,} tags, or one longer than {_LONGEST_TAG:,} bytes")
        if tag.startswith(b"</"):
            depth -= 1
        elif not tag.startswith((b"<!", b"<?")) and not tag.endswith(b"/>"):
            depth += 1
            if depth > _DEEPEST:
                raise _not_plain(f"its elements are nested more than {_DEEPEST} deep")


def _not_plain(why: str) -> SourceError:
    return SourceError(f"arXiv's answer is not plain Atom: {why}.", _HERE, reason="not-a-feed")


def _candidate(entry: Mapping[str, Any]) -> Candidate | None:
    _, abs_page, identity = _text(entry, "id").partition("/abs/")
    found = arxiv_id(identity) if abs_page else None
    if found is None:
        return None
    published = _text(entry, "published")[:10]
    if not re.fullmatch(r"[12]\d{3}-\d{2}-\d{2}", published, re.ASCII):
        published = ""
    metadata = Metadata(
        title=_text(entry, "title"),
        authors=tuple(name for author in _dicts(entry, "authors") if (name := _text(author, "name"))),
        year=int(published[:4]) if published else None,
        venue=_text(entry, "arxiv_journal_ref"),
        doi=_doi(_text(entry, "arxiv_doi")),
        arxiv_id=str(found),
        abstract=_text(entry, "summary"),
        categories=tuple(dict.fromkeys(_categories(entry))),
        published=published,
    )
    return Candidate(metadata, "", found, _text(entry, "arxiv_comment"))


def _categories(entry: Mapping[str, Any]) -> Iterator[str]:
    """The primary one first; without ACM and MSC classes, which have commas, blanks or no archive's name."""
    terms = [_text(entry.get("arxiv_primary_category"), "term")]
    terms += [_text(tag, "term") for tag in _dicts(entry, "tags")]
    yield from (term for term in terms if re.fullmatch(r"[a-z][a-z-]+(?:\.[A-Za-z-]+)?", term))


def _doi(text: str) -> str:
    """The first one of several, without a resolver's address."""
    match = re.search(r"10\.\d{4,9}/\S+", text)
    return match[0] if match else ""


def _dicts(entry: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in entry.get(name) or () if isinstance(one, Mapping))


def _text(entry: object, name: str) -> str:
    """The field on one line, or ""."""
    value = entry.get(name) if isinstance(entry, Mapping) else None
    return " ".join(value.replace("\x00", " ").split()) if isinstance(value, str) else ""
