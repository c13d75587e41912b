"""A first page as segments of lines, and the journal or proceedings and the year that are printed there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragscience.core.records import Box
from ragscience.reading.text_cleaning import plain_text
from ragscience.reading.text_rows import TOUCHING, Row, make_segments, runs
from ragscience.reading.text_spans import PageSpans, Span

MARKS = "*∗⁎⋆★✩✶✻☆†‡§¶‖♯♮♭♦♣♠"
"""Signs that point to a footnote."""
_RAISED = re.compile(rf"(?:[\s\d,;.{re.escape(MARKS)}]|[a-z](?![a-z])){{1,8}}")

_DASH = re.compile(r"(?<=[^\W\d_])\{(?=\d)")
"""Old TeX fonts have the dash at the code of the brace: "TREC{3"."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Text of one line without a wide gap in it."""

    text: str
    parts: tuple[str, ...]
    """The text, split at raised marks."""
    size: float
    """Of its largest letters, in points."""
    bold: bool
    box: Box

    def looks_like(self, other: Segment) -> bool:
        """Whether both are set in the same size and weight."""
        return self.bold == other.bold and abs(self.size - other.size) <= 0.04 * max(self.size, other.size)


def stamps_of(page: PageSpans) -> tuple[str, ...]:
    """The lines that run up or down the page."""
    return tuple(plain_text(piece.text) for piece in page.pieces if piece.turn % 2)


def segments_of(page: PageSpans) -> tuple[Segment, ...]:
    """The horizontal text of a page from top to bottom, and from left to right on one line."""
    rows = make_segments([piece for piece in page.pieces if not piece.turn])
    lines = runs(rows, lambda line, row: row.base - line[0].base < 0.35 * max(row.size, line[0].size))
    ordered = (row for line in lines for row in sorted(line, key=lambda row: row.x0))
    return tuple(segment for row in ordered if (segment := _segment(row)).text)


def body_size(segments: Sequence[Segment]) -> float:
    """The most common type size, in points; 10 without letters."""
    letters: Counter[float] = Counter()
    for segment in segments:
        letters[round(segment.size * 2) / 2] += len(segment.text)
    return max(letters.items(), key=lambda item: (item[1], item[0]))[0] if letters else 10.0


def _segment(row: Row) -> Segment:
    spans = [span for piece in row.pieces for span in piece.spans]
    size = _size(spans)
    small = _is_small_caps(spans, size)
    parts, text, right = [""], "", row.x0
    for span in spans:
        blank = " " if span.x0 - right > TOUCHING * size else ""
        piece = blank + (span.text.lower() if small and span.size < 0.95 * size else span.text)
        right = span.x1
        if span.size < 0.8 * size and span.base < row.base + 0.05 * size and _RAISED.fullmatch(span.text):
            parts.append("")
            text += " " if piece != piece.strip() else ""
        else:
            parts[-1] += piece
            text += piece
    text = _DASH.sub("–", text)
    return Segment(
        plain_text(text).rstrip(MARKS + " "), tuple(filter(None, map(plain_text, parts))), size, row.bold, row.box
    )


def _size(spans: Sequence[Span]) -> float:
    """The largest size that a tenth of the letters have; single signs come from larger fonts."""
    letters: Counter[float] = Counter()
    for span in spans:
        letters[span.size] += sum(map(str.isalpha, span.text))
    return max(size for size, count in letters.items() if count >= 0.08 * letters.total())


def _is_small_caps(spans: Sequence[Span], size: float) -> bool:
    """Whether capitals of two sizes stand for capitals and small letters."""
    letters = [span for span in spans if any(map(str.isalpha, span.text))]
    is_small = any(0.65 * size < span.size < 0.9 * size for span in letters)
    return is_small and not any(map(str.islower, "".join(span.text for span in letters)))


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
_MONTH_LAST = re.compile(rf",? {_MONTH}$")
_MEETING = re.compile(r"\b(?:Proceedings|Conference|Symposium|Workshop)\b", re.IGNORECASE)
_PAGES_OF = re.compile(r"\b(?:pp?\.|[Pp]ages) ?(\d{1,6} ?[-–—] ?\d{1,6})\b")
_ORDINAL = re.compile(r"(\d) (st|nd|rd|th)\b")
_COPYRIGHT = re.compile(r"(?:©|\(c\)|copyright|c⃝)[, ]{0,2}(?:\(c\) |© )?((?:19|20)\d\d)\b", re.IGNORECASE)
_YEAR_WORD = re.compile(r"\b(?:19|20)\d\d\b")
_TOP, _NOTES = 0.1, 0.85
"""Shares of the page's height: above and below are running heads and notes of the publisher."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Where and when a paper was published; fields are empty where they are not printed."""

    kind: str = ""
    """ "article" or "inproceedings"."""
    venue: str = ""
    """Journal or meeting without its year."""
    year: int | None = None
    volume: str = ""
    number: str = ""
    pages: str = ""
    """ "305-313", or an article's number: "e85777"."""
    confidence: float = 0.0


def find_publication(segments: Sequence[Segment], height: float) -> Publication:
    """The publication that the first text to name one tells.

    References to an article count in the margins and above the text alone: elsewhere they are cited ones.
    """
    front = _front(segments)
    margins = [_undoubled(one.text) for one in segments if not _TOP * height < one.box[3] < _NOTES * height]
    below = [(one, _below(one, segments[place + 1 : place + 6])) for place, one in enumerate(segments)]
    printed = [_undoubled(segment.text) for segment in segments]
    joined = [f"{one.text} {other.text}" for one, other in below if other]
    for text in (*margins, *(one.text for one in front), *joined):
        if found := _journal(text):
            return found
    for text in (*printed, *joined):
        if found := _meeting(text):
            return found
    return Publication()


def find_year(
    segments: Sequence[Segment], stamps: Iterable[str], publication: Publication, stated: Iterable[str], created: str
) -> tuple[int | None, float]:
    """The year of the publication, a date on its own line, a stamp or a copyright, in order, or None.

    The year in what the file's properties state is taken where the file was made in it.
    """
    if publication.year:
        return publication.year, publication.confidence
    sources = (
        (0.85, _DATE_LINE.fullmatch, [segment.text for segment in _front(segments)]),
        (0.8, _DATE.search, list(stamps)),
        (0.7, _COPYRIGHT.search, [segment.text for segment in segments]),
    )
    for sure, find, texts in sources:
        if match := next(filter(None, map(find, texts)), None):
            return int(match[1]), sure
    agreed = (match for text in stated for match in _YEAR_WORD.finditer(text) if match[0] in created[:6])
    return next(((int(match[0]), 0.6) for match in agreed), (None, 0.0))


def _below(segment: Segment, others: Sequence[Segment]) -> Segment | None:
    """The line that goes on below a line."""
    near = (one for one in others if min(one.box[2], segment.box[2]) > max(one.box[0], segment.box[0]))
    return next((one for one in near if 0 < one.box[1] - segment.box[1] < 2 * segment.size), None)


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
                    venue if "." not in venue else name.strip(" ,"),
                    int(fields["year"]),
                    fields.get("volume", ""),
                    number,
                    pages,
                    sure,
                )
    return None


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
