"""What the text of a line tells about whether it is a heading: its number, its name, the form of a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragscience.reading.text_rows import Row, gaps_of

LETTER = re.compile(r"[^\W\d_]")
_NUMBERED = re.compile(
    r"(?:(?P<word>appendix|annex)\s+)?(?P<number>(?:\d{1,2}|[A-Z]|[IVX]{2,5})(?:\.\d{1,2}){0,4})(?P<dot>[.:)]?)\s+(?P<rest>\S.*)",
    re.IGNORECASE,
)
REFERENCES = re.compile(r"references(?: and notes)?|bibliography|literature cited|works cited", re.IGNORECASE)
_CORE = re.compile(
    r"(?:general )?introduction|background|(?:materials? and )?methods?|methodology|results?|results and discussion|"
    r"discussion|(?:discussion and )?conclusions?",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"""abstract | (?:executive\ )?summary | (?:general\ )?introduction | background | related\ works? | preliminaries
    | (?:materials?\ and\ )?methods? | methodology | experiments? | evaluation | results? | results\ and\ discussion
    | discussion | (?:discussion\ and\ )?conclusions? | conclusions?\ and\ .{3,40} | future\ work | limitations
    | acknowledge?ments? | appendix | appendices | supplementary\ materials? | ethics\ statement | broader\ impacts?
    | references(?:\ and\ notes)? | bibliography | literature\ cited | works\ cited | contents | table\ of\ contents
    | (?:competing|conflicts?\ of|declarations?\ of)\ interests?
    | authors?[’']?\ (?:contributions?|details) | funding | additional\ files? | data\ availability(?:\ statement)?
    | abbreviations | key\ ?words | general\ terms""",
    re.IGNORECASE | re.VERBOSE,
)
_LABEL = re.compile(
    r"(?:theorem|lemma|proposition|corollary|definition|remark|claim|example|exercise|conjecture|observation|fact)"
    r"\s\d+(?:\.\d+)*\b.*|proof(?: of .*)?[.:]?|"
    r"(?:figure|fig\.|table|algorithm|listing|scheme)\s?\d.*|.*(?:\w@\w|https?://|\bwww\.).*|[^@]*+@.*\.\w.*",
    re.IGNORECASE,
)
"""The label of a theorem or a proof, of a float, or an address."""
_SENTENCE_END = re.compile(r"[^\W\d_]{3,}[)\"”’]?[.!?]\s+[\"“(]?[A-Z]")
_LONGEST = 130
"""Characters of a heading without a number."""
_LONG_NAME = 8
"""Blanks in a name that ends with a full stop or a colon, at most."""


def number_match(text: str) -> re.Match[str] | None:
    """The match of a line that begins with a number or a letter, with the groups word, number, dot and rest."""
    return _NUMBERED.fullmatch(text)


def is_known_heading(text: str) -> bool:
    """Whether a line is nothing but a usual section name."""
    return bool(_KNOWN.fullmatch(without_number(text).strip(" .:—–-")))


def is_core_section(text: str) -> bool:
    """Whether a line without a number is the name of a section that has a number where sections have numbers."""
    return bool(_CORE.fullmatch(text.strip(" .:—–-")))


def is_label(text: str) -> bool:
    """Whether a line is the label of a theorem, a proof or a float, or has an e-mail or web address."""
    return bool(_LABEL.fullmatch(text))


def is_sentence(text: str) -> bool:
    """Whether a line without a number reads as a sentence or as several rather than as a name."""
    is_closed = text[-1] in ",;!" or (text[-1] in ".:" and text.count(" ") >= _LONG_NAME)
    return is_closed or len(text) > _LONGEST or bool(_SENTENCE_END.search(text))


def without_number(text: str) -> str:
    """The text without the number that it begins with."""
    match = number_match(text)
    return match["rest"] if match else text


def heading_number(text: str) -> str:
    """The number of a heading, "3.2" or "A.1", or ""."""
    match = number_match(text)
    return match["number"] if match else ""


def sign_after(text: str) -> str:
    """The sign after the number of a heading: ".", ":" or ")", or ""."""
    match = number_match(text)
    return match["dot"] if match else ""


_ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
_FIRST = 3
"""The third part of a section may be the first that was found."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A line that begins with a number."""

    index: int
    """Of its row in the document."""
    number: str
    """As printed, without the sign after it: "3.2" or "A.1"."""
    sign: str
    """The sign after it, ".", ":" or ")", or ""."""
    style: Style
    level: int = 1
    """From 1; a letter below a Roman number has level 2."""


def without_articles(found: Sequence[Numbered], references: int) -> list[Numbered]:
    """The lines but for those whose number is the first word of a title or the letter of a name.

    "A Page Behind …" stands above section 1, "I" has no "II", "D. Author" no "C". Sections with letters are appendices:
    there are two of them, or one has parts, or they come after the index `references` of the list of references.
    """
    first = min((one.index for one in found if one.number == "1"), default=-1)
    numbers = {one.number for one in found}

    def is_section(one: Numbered) -> bool:
        if one.number[0].isdigit() or len(one.number) > 1:
            return True
        is_article = one.number == "A" and one.index < first
        if not one.sign and (is_article or (one.number == "I" and not numbers & {"H", "II"})):
            return False
        near = {chr(ord(one.number) - 1), chr(ord(one.number) + 1)}
        has_near = any(other.number in near and other.sign == one.sign for other in found)
        is_roman = one.number in _ROMAN and numbers & {"II", "III"}
        return bool(has_near or is_roman or f"{one.number}.1" in numbers or one.index > references)

    return [one for one in found if is_section(one)]


def without_lists(found: Sequence[Numbered], core: Sequence[Style]) -> list[Numbered]:
    """The lines but for those of lists and tables of a paper whose sections have no numbers.

    `core` are the styles of such as "Introduction" and "Methods" that stand there without a number.
    """
    if len(core) < 3 or len(set(core)) > 2:
        return list(found)
    size = min(style[1] for style in core)
    return [one for one in found if one.style[1] > size]


def in_sequence(found: Sequence[Numbered], known: Sequence[Style]) -> list[Numbered]:
    """The lines whose numbers follow the one before or are the first below it, and others in the style of such.

    `known` are the styles of headings that are known by their name.
    """
    strict = _chain(found, {})
    counts = Counter([*(one.style for one in strict), *known])
    usual = {0: set(known)}
    for one in strict:
        if counts[one.style] >= 2:
            usual.setdefault(one.number.count("."), set()).add(one.style)
    return _chain(found, usual)


def _chain(found: Sequence[Numbered], usual: dict[int, set[Style]]) -> list[Numbered]:
    """The lines in sequence, and those in a style that is `usual` at the depth of their number."""
    kept: list[Numbered] = []
    seen: set[str] = set()
    common = Counter(one.sign for one in found if one.number.isdigit()).most_common(1)
    sign = common[0][0] if common else ""
    is_roman = {"I", "II"} <= {one.number for one in found}
    for one in found:
        if one.number in seen or (len(found) >= 6 and one.number.isdigit() and one.sign != sign):
            continue
        *above, last = one.number.split(".")
        is_usual = one.style in usual.get(one.number.count("."), ()) and len(last) <= 2
        if is_usual or _is_first(above, last, seen) or seen.intersection(_earlier(above, last)):
            level = one.number.count(".") + 1
            if is_roman and last in _ROMAN and not above:
                # The letters below a Roman number begin anew.
                seen = {number for number in seen if len(number) > 1 or number in _ROMAN}
            elif is_roman and not above and last.isalpha():
                level = 2
            kept.append(replace(one, level=level))
            seen.add(one.number)
    return kept


def _is_first(above: Sequence[str], last: str, seen: set[str]) -> bool:
    """Whether a number is the first below a section that is there, or the section before which is there."""
    if last not in ("1", "A", "I"):
        return False
    return not above or ".".join(above) in seen or bool(seen.intersection(_earlier(above[:-1], above[-1])))


def _earlier(above: Sequence[str], last: str) -> list[str]:
    """The numbers before one: up to two may have been missed, and the section above may be the last that was seen."""
    if last.isdigit():
        before = [str(int(last) - step) for step in (1, 2)]
        found = [".".join([*above, number]) for number in before]
        return [*found, ".".join(above)] if above and int(last) <= _FIRST else found
    before = [chr(ord(last) - 1)] if len(last) == 1 else []
    at = _ROMAN.index(last) if last in _ROMAN else 0
    return [".".join([*above, number]) for number in (*before, *_ROMAN[max(at - 2, 0) : at])]


Style = tuple[str, float, bool, bool, bool]
"""Font, size in half points, bold, italic, capitals."""
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_WIDE = 2.5
"""In font sizes: more than the word spaces of a stretched line."""
_SECTION_NUMBER = re.compile(r"(?:\d{1,2}|[A-Z]|[IVX]+)(?:\.\d{1,2}|\.[IVX]+)*[.:)]?")


def style_of(row: Row) -> Style:
    """The style of a row: its most used font, the size of its largest letters, its weight, slant and capitals."""
    letters = [span for piece in row.pieces for span in piece.spans if LETTER.search(span.text)]
    size = max((span.size for span in letters), default=row.size)
    return row.font, round(size * 2) / 2, row.bold, row.italic, _is_in_capitals(row.text)


def _is_in_capitals(text: str) -> bool:
    """Whether a line is in capitals, but for a symbol or a name like "LoRA"."""
    if text.upper() == text:
        return True
    letters = [letter for word in _LONG_WORD.findall(text) for letter in word]
    return len(letters) >= 5 and sum(map(str.islower, letters)) <= 0.1 * len(letters)


def has_wide_gap(row: Row) -> bool:
    """Whether a row has white as between columns, or before a page number; not after the number of a section."""
    is_numbered = bool(_SECTION_NUMBER.fullmatch(row.pieces[0].text.strip()))
    return any(gap > _WIDE * row.size for gap in [*gaps_of(row)][is_numbered:])


def is_raised(row: Row) -> bool:
    """Whether a row begins with a small or raised sign, as affiliations and footnotes do."""
    first = next(span for piece in row.pieces for span in piece.spans if not span.text.isspace())
    return first.size < 0.8 * row.size or first.base < row.base - 0.15 * row.size
