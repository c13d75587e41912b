"""The authors of a paper: names of people in a line of words, and the lines of names between its title and its text."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragscience.reading.first_page import MARKS, Segment
from ragscience.reading.text_cleaning import plain_letters, plain_text

_SEPARATOR = re.compile(
    rf" ?(?:[,;&|/·•+#$=°^<>\[\]{re.escape(MARKS)}⋄◦○●■□▲△◇]|\b(?:and|AND|And|und|et)\b|"
    r"(?<=[^\W\d_]{2})\d{1,2}(?!\w)) ?"
)
_ASIDE = re.compile(r"\([^()]{0,60}\)|\{[^{}]{0,60}\}|[\w.+-]{1,60}@[\w.-]{1,60}")
"""What stands in brackets, and e-mail addresses."""
_TITLES = re.compile(
    r"^(?:(?:Dr|Prof|Mr|Mrs|Ms|Sir|Professor|DR|PROF)\b[. ]*){0,3}(?:(?i:by|authors?:?|written by|presented by) )?"
)
_FOOTNOTE_ENDS = re.compile(r"(?:(?<=[^\W\d_])[\d'\"’”“]+| [a-z]| [1-9*]|[-–:]){1,6}$")
"""Footnote marks on the line itself: digits after a word, a single small letter, quotation marks of an OCR."""
_GLUED = re.compile(r"([A-Z][a-z]{2,})([A-Z][a-z]{2,})")
_NOT_GLUED = ("Mac", "Fitz", "Von", "Van", "Del", "Des", "Ter", "Ben", "Abu", "San")
_LONGEST_ABBREVIATION = 4
"""Letters before a point within a name: "Chr.", "Alex."."""
_SWAPPED = re.compile(r"[^,;\s]{2,40}(?: [^,;\s]{1,40}){0,2}, ?[^,;]{1,60}")
"""Lovelace, Ada"""
_JOINTS = str.maketrans("", "", "-'’‘`ʼ‐‑–·")

PARTICLES = frozenset(
    """
    al bin da das de del della den der des di do dos du el ibn la las le los st ten ter van vom von y zu zum zur
    """.split()  # noqa: SIM905 - a list of so many would fill the page
)
GENERATIONS = frozenset(["jr", "sr", "ii", "iii", "iv"])
DEGREES = frozenset(
    """
    aaai acm bsc dphil drph dsc esq facc faha fellow frcp frcpath frs ieee mbbs md member mph mrcp msc phd scd senior
    siam student
    """.split()  # noqa: SIM905 - as above
)
"""Degrees and memberships printed after a name, without points."""
NO_NAMES = frozenset(
    """
    abstract academie academy accepted address affairs after against agency ai algorithms all an analysis and applied
    approach archive are article articles artificial as asia assistant associate association at author authors
    available ave avenue berkeley between beyond biology biomedical brain building bureau by california cambridge
    campus canada care cedex center centre centro chair chemistry china city clinic cloud college committee
    communicated communications community company computation computer computing conference contact contents copyright
    corp corporation correspondence corresponding council data deepmind demo departamento departement department dept
    design development division draft ecole edited editor editors electronics email engineering epidemiology equal
    escola escuela eth europe extended facebook facolta factor faculdade facultad faculty federal figure for foundation
    france from general genetics germany gmbh google government graduate group health high hochschule hogskola hospital
    how ibm impact in inc india indian informatica informatics information infrastructure innovation inria institut
    institute institutes institution instituto integrated integrative intelligence intelligent international into
    introduction investigation is issue istituto italy japan journal keywords klinik klinikum korea lab laboratoire
    laboratoires laboratories laboratory labs language learning letters library limited llc llp ltd machine management
    massachusetts materials mathematical mathematics medical medicine meta method methods microsoft ministry model
    models museum national nationale nature nazionale network networks neural normale notes nvidia of office on open
    openai optimization organization original oxford paper pennsylvania perspective physics planck politecnico
    polytechnic polytechnique preprint princeton proceedings process program project projects public published quality
    quantum received regional report reports research review revised road samsung school schools science sciences
    scientific search security senior service services singapore social society software solutions spain speech
    stanford state statistics street studies study submitted superieure supplementary surgery sweden switzerland system
    systems taiwan team technical technion technique techniques technische technologies technology tekniska texas the
    their theoretical theory thesis this to tokyo toward towards tutorial unit united universidad universidade
    universita universitaet universitat universite universities university unversity usa using vaccine version via
    vision volume washington web what when why with without work working workshop yale zentrum
    """.split()  # noqa: SIM905 - as above
)
"""Words of affiliations, banners and titles without accents, none of which is part of a name."""


@dataclass(frozen=True, slots=True)
class NameLine:
    """The names in a line of a first page."""

    names: tuple[str, ...] = ()
    half: str = ""
    """The first half of a name that continues in the next line, or empty."""
    is_whole: bool = True
    """Whether every piece up to the affiliation could be read as a name."""
    goes_on: bool = False
    """Whether the line ends with a comma or "and": the list continues below."""


def is_name(text: str) -> bool:
    """Whether a text reads like the name of one person: "Jan van der Berg", "D. E. Knuth", "李明"."""
    tokens = text.replace(".", ". ").split()
    if any(len(token) > _LONGEST_ABBREVIATION + 1 and token.endswith(".") for token in tokens[:-1]):
        return False
    words = [token.strip(".'’-") for token in tokens]
    if len(tokens) == 1 and 2 <= len(text) <= 4 and all(map(str.isalpha, text)):
        return not any(char.islower() or char.isupper() for char in text)
    if not 2 <= len(tokens) <= 7 or any(plain_letters(word) in NO_NAMES for word in words):
        return False
    if not all(_is_name_word(token) for token in tokens) or not _is_name_word(tokens[0]):
        return False
    whole = [word for word in words if len(word) > 1 and word.casefold() not in PARTICLES]
    return bool(whole) and not all(word.casefold() in DEGREES for word in whole)


def _is_name_word(token: str) -> bool:
    letters = token.strip(".").translate(_JOINTS)
    if not letters or not all(char.isalpha() or unicodedata.category(char) == "Mn" for char in letters):
        return False
    if letters.casefold() in PARTICLES:
        return True
    if letters[0].islower():
        # d'Alembert, al-Khwarizmi
        return bool(re.match(r"(?:[dlo]['’`‘]|al-|el-|bin-)[A-Z]", token))
    return True


def names_in(parts: Sequence[str], carried: str = "", *, in_list: bool = False) -> NameLine:
    """The names at the beginning of a line.

    `parts` is the line split at raised marks, `carried` the half name at the end of the line above, and `in_list` says
    that the line above ended with a comma or "and". A piece of the list that is no name is left out, and the
    names after it are read; with a word of an affiliation the list ends.
    """
    if swapped := _swapped("".join(parts)):
        return NameLine(tuple(swapped))
    pieces = [piece for part in parts for piece in _pieces(part)]
    if carried and pieces:
        pieces[0] = f"{carried} {pieces[0]}"
    goes_on = bool(parts) and bool(re.search(r"(?:[,;&]|\band)\s*$", parts[-1]))
    names: list[str] = []
    is_whole = True
    for place, piece in enumerate(pieces):
        if is_name(piece):
            names.append(piece)
            continue
        if (glued := _GLUED.fullmatch(piece)) and not piece.startswith(_NOT_GLUED):
            names.append(f"{glued[1]} {glued[2]}")
            is_whole = False
            continue
        is_word = _is_name_word(piece) and plain_letters(piece) not in NO_NAMES
        if place == len(pieces) - 1 and is_word and (place > 0 or in_list):
            return NameLine(tuple(names), piece, is_whole, goes_on)
        is_house = piece.isupper() and bool(names) and not names[-1].isupper()
        if not (names or in_list) or is_house or any(plain_letters(word) in NO_NAMES for word in piece.split()):
            return NameLine(tuple(names), "", is_whole, False)
        is_whole = False
    return NameLine(tuple(names), "", is_whole, goes_on)


def _pieces(text: str) -> list[str]:
    """The parts between commas, footnote marks and "and", without degrees, titles and marks at their ends."""
    pieces = []
    for raw in _SEPARATOR.split(_ASIDE.sub(" , ", text)):
        piece = raw.strip(' .:()_~%!?<>"“”') if len(raw) < 3 else raw.strip(' :()_~%!?<>"“”')
        piece = _FOOTNOTE_ENDS.sub("", _TITLES.sub("", piece)).strip(" ,")
        words = piece.split()
        while words and len(words) != 2 and words[-1].replace(".", "").casefold() in DEGREES:
            words.pop()
        if words:
            pieces.append(" ".join(words))
    return pieces


def names_of_file(author: str) -> list[str]:
    """The names in the file's property "author", which has many forms; maybe none."""
    author = plain_text(author)
    if swapped := _swapped(author):
        return swapped
    return written_alike([piece for piece in _pieces(author) if is_name(piece)])


def _swapped(text: str) -> list[str]:
    """The names of a list with semicolons and family names first: "Lovelace, Ada; van Berg, Jan"."""
    pieces = [piece.strip() for piece in text.split(";") if piece.strip()]
    if ";" not in text or not all(_SWAPPED.fullmatch(piece) for piece in pieces):
        return []
    halves = (piece.partition(",") for piece in pieces)
    return [name for last, _, first in halves if is_name(name := f"{first.strip()} {last.strip()}")]


def last_name(name: str) -> str:
    """The family name without particles: "Driessche" of "George van den Driessche"."""
    words = [word for word in name.split() if word.strip(".").casefold() not in GENERATIONS]
    return words[-1] if words else ""


def written_alike(names: Sequence[str]) -> list[str]:
    """The names with capitals and small letters: JANE DOE and Jane DOE as Jane Doe."""
    return [" ".join(_titled(word, 2 if name.isupper() else 3) for word in name.split()) for name in names]


def _titled(word: str, least: int) -> str:
    """LOVELACE as Lovelace, MCDONALD as McDonald, O'HARA as O'Hara; initials stay."""
    if not word.isupper() or "." in word or len(word) < least:
        return word
    return re.sub(r"^Mc([a-z])", lambda match: "Mc" + match[1].upper(), word.title().replace("’S", "’s"))


_TEXT_BEGINS = re.compile(
    r"(?:\d+\.?\s+)?(?:abstract|a b s t r a c t|summary|introduction|keywords|key words|contents|index terms|"
    r"article info|background|objectives?|purpose)\b.*",
    re.IGNORECASE,
)
_SENTENCE_WORDS = 6
"""Lower-case words of a line of running text, at least; no line of names has so many."""
_SENTENCE_SHARE = 0.55
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
"""No line of names has one: a date, or the journal."""
UNSURE = 0.45
"""Confidence of a list from which a name may be missing."""


def find_authors(segments: Sequence[Segment], title_at: int, file_author: str) -> tuple[tuple[str, ...], float]:
    """The authors below the title, which ends at segment `title_at` (-1: no title), and a confidence from 0 to 1.

    The first line of names decides the type of the others; without names on the page, `file_author` is parsed.
    """
    block = list(_block(segments, title_at)) if title_at >= 0 else []
    printed, is_whole = _printed(block)
    own = names_of_file(file_author)
    if not printed:
        return tuple(own), 0.6 if own else 0.0
    agree = {last_name(name).casefold() for name in own} & {last_name(name).casefold() for name in printed}
    sure = 0.95 if agree else 0.85
    return tuple(printed), sure if is_whole or len(own) == len(printed) else UNSURE


def _block(segments: Sequence[Segment], title_at: int) -> Iterator[Segment]:
    """The segments between the title and the text; a column may stand beside the title."""
    title = segments[title_at]
    same = [title, *(segment for segment in segments[:title_at] if segment.looks_like(title))]
    left, right = min(segment.box[0] for segment in same), max(segment.box[2] for segment in same)
    for segment in segments[title_at + 1 :]:
        if not _begins_text(segment.text):
            yield segment
        elif segment.box[0] <= right and segment.box[2] >= left:
            return


def _begins_text(text: str) -> bool:
    if _TEXT_BEGINS.fullmatch(text):
        return True
    words = [word.strip(".,;:()") for word in text.split()]
    small = sum(word.islower() and word.isalpha() for word in words)
    return "@" not in text and small >= _SENTENCE_WORDS and small >= _SENTENCE_SHARE * len(words)


def _printed(block: Sequence[Segment]) -> tuple[list[str], bool]:
    """The names in the block, and whether every name of it could be read."""
    found: list[tuple[Segment, NameLine]] = []
    others: list[Segment] = []
    last = NameLine()
    for segment in block:
        line = NameLine()
        if _is_candidate(segment, found, others):
            line = names_in(segment.parts, last.half, in_list=last.goes_on or bool(last.half))
        if line.names or line.half:
            found.append((segment, line))
            last = line
        else:
            others.append(segment)
            last = NameLine()
    names = dict.fromkeys(name for _, line in found for name in line.names)
    return written_alike(list(names)), all(line.is_whole for _, line in found)


def _is_candidate(segment: Segment, found: Sequence[tuple[Segment, NameLine]], others: Sequence[Segment]) -> bool:
    """Whether a segment may be a line of names: set as the first one, or beside one."""
    if _hangs_below(segment, others) or _YEAR.search(segment.text):
        return False
    if not found or segment.looks_like(found[0][0]):
        return True
    beside = [one for one, _ in found if abs(one.box[3] - segment.box[3]) < 0.3 * segment.size]
    return any(abs(one.size - segment.size) < 0.2 * one.size and one.bold == segment.bold for one in beside)


def _hangs_below(segment: Segment, others: Sequence[Segment]) -> bool:
    """Whether the segment continues a line without names, as a city continues a university."""
    return any(
        other.looks_like(segment)
        and 0 < segment.box[1] - other.box[1] < 1.3 * segment.size
        and min(segment.box[2], other.box[2]) > max(segment.box[0], other.box[0])
        for other in others[-8:]
    )
