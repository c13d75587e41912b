"""Where a paper was published, as printed on its first page: journal, proceedings, thesis or report, and the year."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragscience.reading.first_page import Segment

_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[A-Za-z]{0,6}\.?"
_DATE = re.compile(rf"\b(?:\d{{1,2}}\s{_MONTH}|{_MONTH}(?:\s\d{{1,2}})?),?\s((?:19|20)\d\d)\b", re.IGNORECASE)
_DATE_LINE = re.compile(rf"\(?(?:[A-Za-z]{{1,20}}:? ){{0,3}}{_DATE.pattern}\)?\.?", re.IGNORECASE)
_WORD = r"(?:[A-Z][\w.&’'-]{0,30}|of|on|in|and|the|for|de|für|der|&)"
_NAME = rf"(?P<venue>[A-Z][\w.&’'-]{{0,30}}(?:(?: |: ){_WORD}){{0,11}})"
_VOL = r"(?P<volume>\d{1,4}[A-Z]?)"
_NUM = r"(?P<number>\d{1,3}(?:[-–/]\d{1,3})?)"
_PAGES = r"(?P<pages>[A-Z]{0,2}e?\d{1,9}(?: ?[-–—e] ?[A-Z]?\d{1,7})?)"
_PP = r"(?:[Pp]p?\. ?|[Pp]ages? )?"
_WHEN = rf"(?:(?:\d{{1,2}} )?{_MONTH}(?:[-/]{_MONTH})?(?: \d{{1,2}})?,? )?"
_VOLUME = r"(?:[Vv]ol(?:ume)?|VOL(?:UME)?)\.? ?"
_NUMBER = r"(?:[Nn]o|[Nn]umber|[Ii]ssue|NO|ISSUE|NUMBER)\.? ?"

_JOURNALS = tuple(
    (re.compile(pattern), sure)
    for pattern, sure in (
        # Clinical Science (2014) 126, 305–313 · International Psychogeriatrics (2014), 26:1, 147–154
        (rf"{_NAME},? \({_YEAR}\),? (?:{_VOLUME})?{_VOL}(?:(?: ?\(|:){_NUM}(?:\)|(?=,)))?[,:;] ?{_PP}{_PAGES}", 0.9),
        # Postgrad Med J 2010;86:272–278
        (rf"{_NAME}[.,]? {_YEAR}(?: {_MONTH})? ?; ?{_VOL} ?(?:\({_NUM}\))?(?: ?: ?{_PAGES})?", 0.9),
        # BMC Health Services Research 2014, 14:1
        (rf"{_NAME},? {_YEAR}, ?{_VOL} ?(?:\({_NUM}\))?[:,] ?{_PAGES}", 0.9),
        # Journal of Machine Learning Research 3 (2003) 993-1022
        (rf"{_NAME},? (?:{_VOLUME})?{_VOL} ?(?:\({_NUM}\))?,? \({_WHEN}{_YEAR}\)[,:]? {_PP}{_PAGES}", 0.9),
        # Z. Naturforsch. 54 a, 272-273 (1999)
        (rf"{_NAME},? {_VOL}(?: [a-z])?(?: ?\({_NUM}\))?[,:] ?{_PP}{_PAGES},? \({_WHEN}{_YEAR}\)", 0.9),
        # Bioinformatics, 34(9), 2018, 1547–1554
        (rf"{_NAME},? {_VOL} ?\({_NUM}\),? {_YEAR}(?:,? {_PP}{_PAGES})?", 0.9),
        # Communications of the ACM, Vol. 21, No. 8, August 1978, pages 666-677
        (
            rf"{_NAME}[,.]? {_VOLUME}{_VOL}(?:[,.] {_NUMBER}{_NUM})?[,.]? (?:{_PP}{_PAGES}[,.] )?"
            rf"(?:Copyright )?\(?{_WHEN}{_YEAR}(?:[,.]? {_PP}{_PAGES.replace('pages', 'last')})?",
            0.9,
        ),
        # Machine Learning, 45, 5–32, 2001
        (rf"{_NAME},? {_VOL}(?: ?\({_NUM}\))?[,:] ?{_PP}{_PAGES}, {_WHEN}{_YEAR}", 0.85),
        # Journal of Statistical Software, March 2007, Volume 18, Issue 3
        (rf"{_NAME},? \(?{_WHEN}{_YEAR}\)?,? {_VOLUME}{_VOL}(?:, {_NUMBER}{_NUM})?(?:, {_PAGES})?", 0.9),
    )
)
"""References to an article at the beginning of a line."""
_CITATION = re.compile(
    rf"(?:Citation|[Cc]ite this (?:article|paper)(?: as)?):.{{4,600}}?\({_YEAR}\).{{10,400}}?[.?] {_NAME} {_VOL}"
    rf"(?:\({_NUM}\))?: ?{_PAGES}"
)
_MEETINGS = tuple(
    (re.compile(pattern), sure)
    for pattern, sure in (
        (rf"\bPublished as an? .{{0,20}}paper at (?:the )?(?P<venue>[A-Z][\w&/ -]{{1,60}}?),? {_YEAR}\b", 0.95),
        (
            rf"\b(?:Conference|Symposium|Workshop) [^.()]{{0,120}}\((?P<venue>[A-Z][\w&/-]{{0,30}}[A-Z]\w{{0,20}})"
            rf"[ ’']{_YEAR}\)",
            0.95,
        ),
        (
            r"\b(?:[Tt]o appear|[Pp]resented|[Aa]ccepted) (?:in|at|to) (?:the )?"
            rf"(?P<venue>[A-Z][\w&/’' -]{{1,60}}?),? (?:in )?{_YEAR}\b",
            0.9,
        ),
        # A. Editor (Ed.): CAV 2004, LNCS 3114, pp. 1–15, 2004
        (
            rf"\(Eds?\.\): ?(?P<venue>[A-Z][\w&/ -]{{1,40}}?),? {_YEAR}(?:[^,]{{0,30}})?, "
            rf"(?:LN\w{{2,3}}|CCIS|IFIP\b.{{0,20}}?) (?P<volume>\d{{1,5}}), pp\. ?{_PAGES}",
            0.95,
        ),
        # SIGIR’01, September 9-12, 2001
        (
            r"^(?P<venue>[A-Z][\w&/+-]{0,20}[A-Z]\w{0,10}) ?[’'‘`]\s?(?P<short>\d\d) ?[,:.] ?"
            rf".{{0,60}}?\b{_YEAR}\b",
            0.9,
        ),
        (
            r"(?<!appear in the )\bProceedings of (?:the )?"
            rf"(?P<venue>[A-Z\d][^.,()]{{4,120}}?)(?:[,.(][^©]{{0,100}}?| ){_YEAR}\b",
            0.85,
        ),
        # 2010 International Conference on Data Engineering
        (
            rf"^{_YEAR} (?P<venue>(?:\w{{2,20}} ){{0,6}}(?:Conference|Symposium|Workshop|Congress)\b[^.,;()]{{0,120}})",
            0.85,
        ),
    )
)
"""Patterns of a meeting with its year, each with a confidence."""
_BEFORE_JOURNAL = re.compile(r"^(?:[^.]{2,60} et al\.?,? |Cite (?:this article )?as:? )")
_NO_JOURNAL = re.compile(
    r"\b(?:figure|fig|table|section|chapter|received|accepted|revised|published|copyright|university|department|page|"
    r"pages|draft|version|downloaded|printed|available|institute|equation|theorem|lemma|isbn|issn)\b|"
    r"^(?:vol|january|february|march|april|may|june|july|august|september|october|november|december)\b|"
    r"(?:\b[a-z]\. ){2}|\band [a-z]\. ",
    re.IGNORECASE,
)
"""What no journal is called; initials are of people, in a footnote that cites them."""
_SIGLA = frozenset("ACM AIP AMS BMC BMJ IBM IEEE IET IFAC IFIP IOP JAMA PLOS SIAM USENIX".split())  # noqa: SIM905
_SMALL = frozenset(["OF", "ON", "IN", "AND", "THE", "FOR"])
_MONTH_LAST = re.compile(rf",? {_MONTH}$")
_MEETING = re.compile(r"\b(?:Proceedings|Conference|Symposium|Workshop)\b", re.IGNORECASE)
_PAGES_OF = re.compile(r"\b(?:pp?\.|[Pp]ages) ?(\d{1,6} ?[-–—] ?\d{1,6})\b")
_ORDINAL = re.compile(r"(\d) (st|nd|rd|th)\b")
_THESIS = re.compile(
    r"\b(?:thesis|dissertation)\b.{0,200}?\b(?:submitted|degree|requirements|presented|fulfil+ment)\b|"
    r"\b(?:ph\.? ?d\.?|doctoral|master['’]?s|diploma) (?:thesis|dissertation)\b",
    re.IGNORECASE,
)
_MASTER = re.compile(r"\bmaster|\bm\. ?s\.|\bm\. ?sc\b|diploma", re.IGNORECASE)
_REPORT = re.compile(
    r"\b(?:Technical|Research|TECHNICAL|RESEARCH) (?:Report|REPORT|Memorandum|MEMORANDUM)\b[ :#,]{0,3}"
    r"(?:(?:No|Number|NO|N)[.°o]* ?)?(?P<number>[A-Z]{0,12}[A-Za-z./ -]{0,12}\d[\w./-]{0,16})?"
)
_SCHOOL = re.compile(r"\b(?:universit|institut|college|school of|hochschule|laborator)", re.IGNORECASE)
_PREPRINTS = re.compile(r"\b(bioRxiv|medRxiv|ChemRxiv|PsyArXiv|EarthArXiv|SocArXiv|Research Square|SSRN)\b")
_COPYRIGHT = re.compile(r"(?:©|\(c\)|copyright|c⃝)[, ]{0,2}(?:\(c\) |© )?((?:19|20)\d\d)\b", re.IGNORECASE)
_ISSUED = re.compile(
    r"\b(published|posted|available online|advance access|accepted)\b[^;]{0,60}?\b((?:19|20)\d\d)\b", re.IGNORECASE
)
_ANY_YEAR = re.compile(r"(?<![\d/.:-])((?:19[5-9]|20[0-4])\d)(?![\d/-])")
_FROM_STYLE = 0.3
_TOP, _NOTES, _BOTTOM = 0.1, 0.85, 0.9
"""Shares of the page's height: above and below are running heads and notes of the publisher."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Where and when a paper was published; fields are empty where they are not printed."""

    kind: str = ""
    """ "article", "inproceedings", "phdthesis", "mastersthesis" or "techreport"."""
    venue: str = ""
    """Journal or meeting without its year; school or institution of a thesis or report."""
    year: int | None = None
    volume: str = ""
    number: str = ""
    pages: str = ""
    """ "305-313", or an article's number: "e85777"."""
    confidence: float = 0.0


def find_publication(
    segments: Sequence[Segment], blocks: Iterable[str], file_values: Iterable[str], height: float
) -> Publication:
    """The publication that the first text to name one tells.

    References to an article count in the margins and above the text alone: elsewhere they are cited ones. Proceedings
    that only the file's properties name have a low confidence: a conference's LaTeX style puts them into every paper,
    accepted or not.
    """
    front = _front(segments)
    margins = [_undoubled(one.text) for one in segments if not _TOP * height < one.box[3] < _NOTES * height]
    printed = [*map(_undoubled, (segment.text for segment in segments)), *blocks]
    joined = [f"{above} {below}" for above, below in itertools.pairwise(margins) if above != below]
    heads = [f"{above.text} {below.text}" for above, below in itertools.pairwise(front[:8])]
    for text in (*margins, *(one.text for one in front), *joined, *heads):
        if found := _journal(text):
            return found
    for text in (*printed, *joined):
        if found := _meeting(text) or _cited_article(text):
            return found
    if found := _thesis_or_report(front):
        return found
    for text in file_values:
        if found := _journal(text) or _meeting(text):
            return replace(found, confidence=_FROM_STYLE) if _MEETING.search(text) else found
    return Publication()


def find_year(
    segments: Sequence[Segment], stamps: Iterable[str], publication: Publication, created: str, height: float
) -> tuple[int | None, float]:
    """The year of the publication, a date on its own line, a stamp, a copyright, a note or a running head, in order.

    Only printed years count: None where there is none. One that only the file's properties name is taken where the
    file's date agrees.
    """
    if publication.year and publication.confidence > _FROM_STYLE:
        return publication.year, publication.confidence
    front = _front(segments)
    margins = [one for one in segments if one.box[3] < _TOP * height or one.box[1] > _BOTTOM * height]
    sources = (
        (0.85, _DATE_LINE.fullmatch, [segment.text for segment in front]),
        (0.8, _DATE.search, list(stamps)),
        (0.7, _COPYRIGHT.search, [segment.text for segment in segments]),
    )
    for sure, find, texts in sources:
        if match := next(filter(None, map(find, texts)), None):
            return int(match[1]), sure
    issued = [match for segment in (*front, *margins) for match in _ISSUED.finditer(segment.text)]
    if issued:
        return int(min(issued, key=lambda match: match[1].casefold() == "accepted")[2]), 0.65
    years = {int(match[1]) for one in margins for match in _ANY_YEAR.finditer(one.text)}
    if len(years) == 1:
        return years.pop(), 0.6
    made = re.match(r"(?:D:)?(199\d|20\d\d)[01]\d", created)
    if publication.year and made and int(made[1]) == publication.year:
        return publication.year, 0.6
    return None, 0.0


def _front(segments: Sequence[Segment]) -> Sequence[Segment]:
    """The segments at the top of the page, title and authors among them."""
    return segments[: max(20, len(segments) // 6)]


def _journal(text: str) -> Publication | None:
    """The reference to an article at the beginning of a line."""
    text = _BEFORE_JOURNAL.sub("", _undoubled(text))
    text = re.sub(r" ?\| ?(?:www\S{1,60} ?\| ?(?:\d{1,4} ?\| ?)?)?", ", ", text)
    for pattern, sure in _JOURNALS:
        if (match := pattern.match(text)) and not _NO_JOURNAL.search(match["venue"]):
            fields = match.groupdict(default="")
            name = _MONTH_LAST.sub("", fields["venue"])
            venue = name.strip(" ,.’'&")
            pages = fields.get("pages") or fields.get("last", "")
            if sum(map(str.isalpha, venue)) > 3:
                number, pages = fields.get("number", ""), _range(pages)
                if not number and f"{fields['volume']}, {pages} " in f"{match[0]} " and len(pages) < 3:
                    number, pages = pages, ""
                is_meeting = _MEETING.search(venue) and not number
                return Publication(
                    "inproceedings" if is_meeting else "article",
                    _in_small_letters(venue if "." not in venue else name.strip(" ,")),
                    int(fields["year"]),
                    fields.get("volume", ""),
                    number,
                    pages,
                    sure,
                )
    return None


def _cited_article(text: str) -> Publication | None:
    """The reference after "Citation:"."""
    if not (match := _CITATION.match(text)):
        return None
    number = match["number"] or ""
    return Publication(
        "article", match["venue"], int(match["year"]), match["volume"], number, _range(match["pages"]), 0.9
    )


def _meeting(text: str) -> Publication | None:
    """The meeting that a text names."""
    text = _undoubled(text)
    for pattern, sure in _MEETINGS:
        if not (match := pattern.search(text)):
            continue
        fields = match.groupdict(default="")
        if fields.get("short") and fields["short"] != fields["year"][2:]:
            continue
        venue = _ORDINAL.sub(r"\1\2", fields["venue"]).strip(" ,.’'")
        after = _PAGES_OF.search(text, match.start())
        pages = fields.get("pages") or (after[1] if after else "")
        return Publication(
            "inproceedings", venue, int(fields["year"]), fields.get("volume", ""), "", _range(pages), sure
        )
    return None


def _thesis_or_report(front: Sequence[Segment]) -> Publication | None:
    """The thesis or technical report that a title page calls itself."""
    text = " ".join(segment.text for segment in front)
    school = next((found for one in front if (found := _school(one.text))), "")
    dated = next((match for one in front if len(one.text.split()) < 9 and (match := _ANY_YEAR.search(one.text))), None)
    year = int(dated[1]) if dated else None
    if _THESIS.search(text):
        kind = "mastersthesis" if _MASTER.search(text) else "phdthesis"
        return Publication(kind, school, year, confidence=0.8)
    for segment in front:
        match = _REPORT.search(segment.text)
        if match and len(segment.text.split()) < (10 if match["number"] else 4):
            return Publication("techreport", school, year, number=(match["number"] or "").strip(), confidence=0.8)
    for segment in front:
        if match := _PREPRINTS.search(segment.text):
            return Publication("", match[1], confidence=0.9)
    return None


def _school(text: str) -> str:
    """The university or institute in a line of an address, or empty."""
    pieces = _REPORT.sub("", text).split(",")
    named = (piece.strip(" .*") for piece in pieces if _SCHOOL.search(piece) and len(piece.split()) < 9)
    return _in_small_letters(next(named, ""))


def _in_small_letters(venue: str) -> str:
    """A name in capitals with small letters: IEEE TRANSACTIONS ON ROBOTICS as IEEE Transactions on Robotics."""
    if not venue.isupper() or " " not in venue:
        return venue
    words = (word.lower() if word in _SMALL else word if word in _SIGLA else word.title() for word in venue.split())
    return " ".join(words)


def _undoubled(text: str) -> str:
    """The text once where it stands twice in a row, as some publishers' stamps do."""
    half = len(text) // 2
    for middle in (half, half + 1):
        if half > 8 and text[:half] == text[middle:]:
            return text[:half]
    return text


def _range(pages: str) -> str:
    """A range of pages with a hyphen; "305–13" is 305-313, as is "305e313" of fonts that name the dash an e."""
    first, dash, last = re.sub(r" ?[-–—] ?|(?<=\d)e(?=\d)", "-", pages).partition("-")
    if dash and first.isdigit() and last.isdigit() and len(last) < len(first):
        last = first[: len(first) - len(last)] + last
    return f"{first}{dash}{last}"
