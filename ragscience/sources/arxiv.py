"""What a person means by an argument of `fetch`; arXiv's API: a search becomes a query, its Atom feed becomes papers.

The query language and the feed are those of https://info.arxiv.org/help/api/user-manual.html (3.1, 3.3, 3.4 and 5.1).
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ragscience.core.errors import SourceError, UsageError, shown_address
from ragscience.core.records import Metadata

_NEW = r"\d{4}\.\d{4,5}"
_OLD = r"[a-z]+(?:-[a-z]+)?(?:\.[a-z]{2})?/\d{7}"
_ID = re.compile(rf"(?:arxiv:\s*)?(?P<base>{_NEW}|{_OLD})(?:v(?P<version>[1-9]\d{{0,2}}))?", re.IGNORECASE)
_DOI = re.compile(r"(?:(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*)?(?P<doi>10\.\d{4,9}/\S+)", re.IGNORECASE)
_OF_ID = re.compile(r"10\.48550/arxiv\.(?P<rest>.+)", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_AT_ARXIV = re.compile(
    r"(?:https?://)?(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html|format|ps|e-print|src)/([^?#]+).*", re.IGNORECASE
)
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
    if (page := _AT_ARXIV.fullmatch(unquote(text))) and (
        found := arxiv_id(page[1].lower().rstrip("/").removesuffix(".pdf"))
    ):
        return Wanted(said, arxiv=found)
    return Wanted(said, url=text) if _SCHEME.match(text) else Wanted(said, topic=text)


def arxiv_id(text: str) -> ArxivId | None:
    """The id that `text` is, with or without "arXiv:" and a version, or None."""
    match = _ID.fullmatch(text.strip())
    if match is None:
        return None
    archive, slash, number = match["base"].rpartition("/")
    base = f"{archive.partition('.')[0].lower()}{slash}{number}"  # math.GT/0309136 is math/0309136 today
    return ArxivId(base, int(match["version"]) if match["version"] else None)


def _arxiv_of(doi: str) -> ArxivId:
    match = _OF_ID.fullmatch(doi)
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


# The API

LARGEST_FEED = 16 * 2**20
"""Bytes of one answer of the API; a hundred papers take about 0.3 MB."""
PAGE = 100
"""Papers per request."""
LONGEST_FIELD = 500
"""Most characters of a search."""
_FIRST, _LAST = "199101010000", "299912312359"
_DECLARED = re.compile(r"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ATOM, _ARXIV, _SEARCH = (
    f"{{{name}}}"
    for name in ("http://www.w3.org/2005/Atom", "http://arxiv.org/schemas/atom", "http://a9.com/-/spec/opensearch/1.1/")
)
_HERE = "Try again later, or name the papers by their arXiv ids."
_WORD_IT = "Check the id, or word it in another way."


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
    def key(self) -> str:
        """What its versions have in common: its id, else its address."""
        return self.arxiv.base if self.arxiv else self.url

    @property
    def is_withdrawn(self) -> bool:
        """Whether the authors say that they took it back; arXiv has no PDF of such a version."""
        return "withdrawn" in self.comment.casefold() or "has been withdrawn" in self.metadata.abstract.casefold()


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
        day = int(match[3]) if match[3] else (monthrange(year, month)[1] if last else 1)
        return date(year, month, day).strftime("%Y%m%d")
    except ValueError:
        raise UsageError(f"{shown(text)!r} is not a date.", "Write 2023, 2023-05 or 2023-05-17.") from None


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

    def __init__(self, url: str, get: Callable[[str], bytes]) -> None:
        self._url = url
        self._get = get

    def search(self, search: Search, count: int) -> list[Candidate]:
        """The first `count` papers, each once. Raises SourceError where the API answers nothing of use."""
        asked = {
            "search_query": search_query(search),
            "sortBy": "submittedDate" if search.newest_first else "relevance",
            "sortOrder": "descending",
        }
        found: dict[str, Candidate] = {}
        start = 0
        while len(found) < count:
            feed = self._feed({**asked, "start": str(start), "max_results": str(min(PAGE, count - len(found)))})
            for one in feed.candidates:
                found.setdefault(one.key, one)
            start += feed.entries
            if not feed.entries or (feed.total is not None and start >= feed.total):
                break
        return list(found.values())[:count]

    def papers(self, ids: Sequence[ArxivId]) -> dict[ArxivId, Candidate]:
        """The papers with these ids, as far as arXiv has them. Raises SourceError as `search` does.

        One id that arXiv rejects makes the whole request fail: then each id is requested alone.
        """
        found: dict[ArxivId, Candidate] = {}
        for first in range(0, len(ids), PAGE):
            some = ids[first : first + PAGE]
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


def parse_feed(body: bytes) -> Feed:
    """The papers of an Atom feed, every field but the id optional; an entry without an id of arXiv's is left out.

    Raises SourceError for what is no feed, for one that declares entities, and for an error that it reports.
    """
    try:
        text = body.decode()  # so that no declared encoding hides anything
        if _DECLARED.search(text):
            raise _no_feed("it declares entities")
        # `_DECLARED` has refused what could grow, and `LARGEST_FEED` bounds the rest.
        root = ElementTree.fromstring(_NOT_XML.sub("\ufffd", text))  # noqa: S314
    except (UnicodeDecodeError, ElementTree.ParseError) as error:
        raise _no_feed(str(error)) from error
    if root.tag != f"{_ATOM}feed":
        raise _no_feed("it is not Atom")
    entries = root.findall(f"{_ATOM}entry")
    for entry in entries:
        if _text(entry, f"{_ATOM}title").casefold() == "error":
            said = _text(entry, f"{_ATOM}summary") or "without a reason"
            raise SourceError(f"arXiv reports an error: {shown(said)}.", _WORD_IT, reason="arxiv")
    total = _text(root, f"{_SEARCH}totalResults")
    candidates = tuple(one for entry in entries if (one := _candidate(entry)) is not None)
    return Feed(candidates, len(entries), int(total) if total.isascii() and total.isdigit() else None)


def _no_feed(why: str) -> SourceError:
    return SourceError(f"arXiv's answer cannot be read: {shown(why)}.", _HERE, reason="not-a-feed")


def _candidate(entry: Element) -> Candidate | None:
    _, abs_page, identity = _text(entry, f"{_ATOM}id").partition("/abs/")
    found = arxiv_id(identity) if abs_page else None
    if found is None:
        return None
    published = _text(entry, f"{_ATOM}published")[:10]
    if not re.fullmatch(r"[12]\d{3}-\d{2}-\d{2}", published, re.ASCII):
        published = ""
    doi = re.search(r"10\.\d{4,9}/\S+", _text(entry, f"{_ARXIV}doi"))  # the first, without a resolver's address
    metadata = Metadata(
        title=_text(entry, f"{_ATOM}title"),
        authors=tuple(filter(None, (_text(author, f"{_ATOM}name") for author in entry.iter(f"{_ATOM}author")))),
        year=int(published[:4]) if published else None,
        venue=_text(entry, f"{_ARXIV}journal_ref"),
        doi=doi[0] if doi else "",
        arxiv_id=str(found),
        abstract=_text(entry, f"{_ATOM}summary"),
        categories=tuple(dict.fromkeys(_categories(entry))),
        published=published,
    )
    return Candidate(metadata, "", found, _text(entry, f"{_ARXIV}comment"))


def _categories(entry: Element) -> Iterator[str]:
    """The primary one first; without ACM and MSC classes, which have commas, blanks or no archive's name."""
    named = [*entry.iter(f"{_ARXIV}primary_category"), *entry.iter(f"{_ATOM}category")]
    terms = (one.get("term", "") for one in named)
    yield from (term for term in terms if re.fullmatch(r"[a-z][a-z-]+(?:\.[A-Za-z-]+)?", term))


def _text(element: Element, name: str) -> str:
    """The text of a part, on one line; "" where there is none."""
    found = element.find(name)
    return "" if found is None else " ".join("".join(found.itertext()).split())
