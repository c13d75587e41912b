"""What a paper's file and first page say of it: title, authors, arXiv id, DOI, publication and year."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from ragscience.core.records import Document, Metadata
from ragscience.reading.author_names import find_authors, names_in
from ragscience.reading.first_page import Segment, body_size, find_publication, find_year, segments_of, stamps_of
from ragscience.reading.text_cleaning import plain_text, sensible_title
from ragscience.reading.text_spans import PageSpans

Found = tuple[str, float]
"""A value, maybe "", and a confidence from 0 to 1."""
_ARXIV = r"(?:\d{4}\.\d{4,5}|[a-z]+(?:-[a-z]+)?(?:\.[A-Z]{2})?/\d{7})(?:v\d{1,2})?"
_STAMP = re.compile(rf"\barXiv:\s?({_ARXIV})(?!\d)", re.IGNORECASE)
_DOI = re.compile(r"(?<![\d.])(10\.\d{4,9}/[^\s\"<>{}|\\^]+)")
_GLUED = re.compile(
    r"https?:|(?<=[\w)])doi(?:\.org|:)?(?=$|10\.|https?:)|(?<=.)10\.\d{4,9}/|"
    r"(?<=\d)(?:Received|Accepted|Published|Copyright|Abstract|Article|Citation|Editor|License|ISSN|ISBN|PII|www\.)",
    re.IGNORECASE,
)
"""What no blank parts from the end of a DOI, as in "10.1109/x.49DOI 10.1109/x.49"."""
_CITE_THIS = re.compile(r"\bcite this (?:article|paper)\b", re.IGNORECASE)
_BEFORE, _AFTER = 80, 500
"""Characters around "Cite this article" in which the DOI is the paper's own."""
_LEAST = 0.5
"""A DOI with a lower confidence may be a cited paper's."""
_BANNER = re.compile(
    r"\bjournal of\b|\bjournal$|proceedings of|procedia|transactions on|annals of|bulletin of|elsevier|springer|"
    r"sciencedirect|contents lists|available online|https?:|www\.|\bissn\b|\bvol(?:ume)?\b|\bdoi\b|published|"
    r"(?:original|research|review|position|invited) (?:article|paper|research)|open access|technical report|preprint|"
    r"accepted|received|copyright|©|arxiv|\blecture notes\b|^letters?$|permission to|proper attribution|under review|"
    r"running head|terms of use",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"(?:\d+\.?\s+)?(?:abstract|a b s t r a c t|summary|introduction|contents|references|keywords)\b.?", re.I
)
_NO_SUBTITLE = re.compile(
    r"@|\b(?:19|20)\d\d\b|^\(|\b(?:universit|institut|department|laborator|college|school|version|draft|thesis|"
    r"dissertation|invited|extended abstract|inc\.|corporation|by\b)",
    re.IGNORECASE,
)
_CITED_YEAR = re.compile(r"(?<![\d.:–-])(?:19|20)\d\d(?![\d–:-])")
"""No number of a page, and no arXiv id."""
_SHORTEST = 6
"""Letters and digits of a title in a file's properties, at least."""
_FIRST_PART = 0.65
"""Share of the page's height: no title begins below it."""
_STANDS_OUT = 1.12
"""How many times larger than the running text a title is, if its size alone shows it."""


def find_arxiv_id(stamps: Iterable[str], segments: Sequence[Segment], file_values: Iterable[str]) -> Found:
    """The paper's own arXiv id: from the stamp in the margin, the beginning of a line, or the file's properties.

    Ids within a line belong to cited papers and do not count.
    """
    tried: tuple[tuple[float, Iterable[re.Match[str] | None]], ...] = (
        (0.99, map(_STAMP.search, stamps)),
        (0.9, (_STAMP.match(segment.text) for segment in segments)),
        (0.9, map(_STAMP.search, file_values)),
    )
    return next(((match[1], sure) for sure, matches in tried for match in matches if match), ("", 0.0))


def find_doi(segments: Sequence[Segment], file_values: Iterable[str], height: float, other_text: str = "") -> Found:
    """The DOI of the file's properties, of the first page, or beside "Cite this article" in `other_text`.

    On the page one in a margin or after "doi" comes first; of several in its middle none is taken.
    """
    for value in file_values:
        if match := _DOI.search(value):
            return _trimmed(match[1]), 0.95
    found: list[tuple[float, str]] = []
    for segment in segments:
        if match := _DOI.search(segment.text):
            in_margin = segment.box[3] < 0.12 * height or segment.box[1] > 0.88 * height
            is_named = "doi" in segment.text[: match.start()].casefold()
            found.append((0.3 + 0.4 * is_named + 0.25 * in_margin, _trimmed(match[1])))
    sure, doi = max(found, key=lambda one: one[0], default=(0.0, ""))
    if sure >= _LEAST and (sure > 0.7 or len({other.casefold() for _, other in found}) == 1):
        return doi, round(sure, 2)
    for mention in _CITE_THIS.finditer(other_text):
        if match := _DOI.search(other_text[max(0, mention.start() - _BEFORE) : mention.end() + _AFTER]):
            return _trimmed(match[1]), 0.8
    return "", 0.0


def _trimmed(doi: str) -> str:
    """The DOI without what is glued to it and the punctuation of its sentence."""
    if match := _GLUED.search(doi, len("10.")):
        doi = doi[: match.start()]
    doi = doi.rstrip(".,;:'\"”’*†/")
    while doi.endswith((")", "]")) and doi.count(doi[-1]) > doi.count("(" if doi[-1] == ")" else "["):
        doi = doi[:-1].rstrip(".,;:")
    return doi


def metadata_of(
    page: PageSpans | None, file_metadata: Mapping[str, str | None], first_pages_text: str, last_page_text: str = ""
) -> Metadata:
    """Title, authors, year, publication and identifiers, each with a confidence.

    `page` is the first one, None where nothing is printed on it; `file_metadata` is `document.metadata`. The words of
    `first_pages_text` decide whether a hyphen in the title belongs to its word; in it and in `last_page_text` a note
    "Cite this article" may tell the DOI.
    """
    page = page or PageSpans(0.0, 0.0, (), "")
    height = page.height
    segments, stamps = segments_of(page), stamps_of(page)
    file_values = {name: plain_text(value) for name, value in file_metadata.items() if isinstance(value, str)}
    stated = [file_values[name] for name in ("subject", "keywords", "title") if file_values.get(name)]

    title = find_title(segments, height, body_size(segments), file_values.get("title", ""), first_pages_text)
    authors, author_confidence = find_authors(segments, title.last, file_values.get("author", ""))
    arxiv_id, arxiv_confidence = find_arxiv_id(stamps, segments, stated)
    doi, doi_confidence = find_doi(segments, stated, height, f"{first_pages_text}\n{last_page_text}")
    publication = find_publication(segments, height)
    dated = [*stamps, *(segment.text for segment in segments if _STAMP.match(segment.text))]
    year, year_confidence = find_year(segments, dated, publication, stated, file_values.get("creationDate", ""))
    confidence = {
        "title": title.confidence,
        "authors": author_confidence,
        "year": year_confidence,
        "venue": publication.confidence if publication.venue else 0.0,
        "doi": doi_confidence,
        "arxiv_id": arxiv_confidence,
    }
    return Metadata(
        title.text,
        authors,
        year,
        publication.venue,
        doi,
        arxiv_id,
        {name: sure for name, sure in confidence.items() if sure},
        kind=publication.kind,
        volume=publication.volume,
        number=publication.number,
        pages=publication.pages,
    )


def dated(document: Document) -> Document:
    """The document with the newest year in its list of references, up to this year."""
    cited = (document.text[one.start : one.end] for one in document.elements if one.kind == "reference")
    year = newest_year(cited, date.today().year)
    return replace(document, metadata=replace(document.metadata, newest_reference=year))


def newest_year(references: Iterable[str], this_year: int) -> int | None:
    """The newest year in lists of references, not after `this_year`: of 42 papers 39 are from it or the next one."""
    years = (int(year) for entry in references for year in _CITED_YEAR.findall(entry))
    return max((year for year in years if year <= this_year), default=None)


@dataclass(frozen=True, slots=True)
class Title:
    """A title and where it ends; the authors are below."""

    text: str
    confidence: float
    last: int
    """Index of its last segment on the page; -1 where it is not from the page."""


def squashed(text: str) -> str:
    """Letters and digits alone, case aside."""
    return "".join(char for char in plain_text(text).casefold() if char.isalnum())


def says_nothing(file_title: str) -> bool:
    """Whether the title in a file's properties is a placeholder of a program, or too short."""
    own = plain_text(file_title)
    return " " not in own or not sensible_title(own) or len(squashed(own)) < _SHORTEST


def find_title(segments: Sequence[Segment], height: float, body: float, file_title: str, text: str) -> Title:
    """The title by its size, its place and what follows it, or the file's title where the page has none.

    `height` is the page's and `body` the size of its running text, in points; `text` decides about hyphens.
    """
    own = "" if says_nothing(file_title) else plain_text(file_title)
    best: tuple[float, list[int]] = (0.0, [])
    address = next((place for place, segment in enumerate(segments) if "@" in segment.text), len(segments))
    for places in _runs(segments):
        score = _score(segments, places, height, body, own) - 0.7 * (address < places[0])
        if score > best[0]:
            best = (score, places)
    score, places = best
    if not places:
        return Title(own, 0.5 if own else 0.0, -1)
    places = [*places, *_further_lines(segments, places)]
    title = _joined([segments[place].text for place in places], text)
    if own and squashed(own) == squashed(title):
        return Title(own if title.isupper() else title, 0.98, places[-1])
    ratio = segments[places[0]].size / body
    if own and ratio < _STANDS_OUT and squashed(own) in squashed(text):
        return Title(own, 0.8, places[-1])
    sure = min(0.95, 0.35 + 0.35 * score / 1.5) if ratio > _STANDS_OUT else 0.3
    return Title(title, round(sure, 2), places[-1])


def _runs(segments: Sequence[Segment]) -> list[list[int]]:
    """The indices of each run of segments of one type below each other."""
    runs: list[list[int]] = []
    for place, segment in enumerate(segments):
        run = next((run for run in reversed(runs[-6:]) if _continues(segments[run[-1]], segment)), None)
        if run is None:
            runs.append([place])
        else:
            run.append(place)
    return runs


def _continues(above: Segment, below: Segment) -> bool:
    step = below.box[1] - above.box[1]
    overlap = min(above.box[2], below.box[2]) - max(above.box[0], below.box[0])
    return above.looks_like(below) and 0.5 * above.size < step < 2.0 * above.size and overlap > 0


def _further_lines(segments: Sequence[Segment], places: list[int]) -> list[int]:
    """The indices of the title's lines in another size: a subtitle."""
    found: list[int] = []
    first, last = segments[places[0]], segments[places[-1]]
    for place in range(places[-1] + 1, min(places[-1] + 4, len(segments))):
        segment = segments[place]
        step = segment.box[1] - last.box[1]
        overlap = min(last.box[2], segment.box[2]) - max(last.box[0], segment.box[0])
        if step > 2.0 * first.size or overlap <= 0:
            continue
        if segment.size < 0.65 * first.size or not _may_be_title(segment):
            break
        found.append(place)
        last = segment
    return found


def _may_be_title(segment: Segment) -> bool:
    """Whether a line below a title may continue it: it is no line of names, no address, no date, no banner."""
    text = segment.text
    line = names_in(segment.parts, in_list=True)
    if line.names or line.half or _BANNER.search(text) or _NO_SUBTITLE.search(text) or _SECTION.fullmatch(text):
        return False
    return sum(map(str.isalpha, text)) > 5


def _score(segments: Sequence[Segment], places: list[int], height: float, body: float, own: str) -> float:
    """How much a run of segments resembles a title; 0 where it cannot be one."""
    first = segments[places[0]]
    text = " ".join(segments[place].text for place in places)
    letters, words = sum(map(str.isalpha, text)), len(text.split())
    if letters < 4 or words > 45 or first.box[1] > _FIRST_PART * height or _SECTION.fullmatch(text):
        return 0.0
    score = min(first.size / body, 2.5)
    if own and squashed(own) == squashed(text):
        score += 1.0
    if _BANNER.search(text) and words < 40:
        score -= 0.7
    score += 0.1 * first.bold
    below = segments[places[-1] + 1 : places[-1] + 5]
    if any(names_in(segment.parts).names for segment in below):
        score += 0.4
    return max(score, 0.0)


def _joined(lines: list[str], text: str) -> str:
    """The lines joined; a hyphen at a line's end stays where `text` has it in that word, or where it is two words."""
    joined = lines[0]
    for line in lines[1:]:
        if not joined.endswith("-"):
            joined = f"{joined} {line}"
            continue
        before, after = re.split(r"\s", joined)[-1], re.split(r"\s", line)[0]
        keeps = not after[:1].islower() or (before + after).casefold() in plain_text(text).casefold()
        joined = joined + line if keeps else joined[:-1] + line
    return joined
