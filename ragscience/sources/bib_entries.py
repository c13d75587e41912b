"""A paper as an entry of a bibliography, before it has a format: only what is known, and what of it is doubtful.

An entry has a citation key that stays the same for the same paper and that no other paper of the library has.
"""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import PurePath

from ragscience.core.records import Answer, Citation, Metadata, Paper
from ragscience.reading.author_names import last_name
from ragscience.reading.paper_metadata import says_nothing
from ragscience.reading.text_cleaning import plain_letters

UNCERTAIN = 0.7
"""A field below this confidence is marked as uncertain."""
LEFT_OUT = 0.4
"""A field below this confidence is more likely wrong than right, as a year from the file's date, and is left out."""
_FIELDS = ("title", "authors", "year", "venue", "doi", "arxiv_id")

_MEETING = re.compile(
    r"\b(?:conf(?:erence)?|proc(?:eedings)?|workshops?|symposi(?:um|a)|meeting|congress|colloquium|summit)\b",
    re.IGNORECASE,
)
_JOURNAL = re.compile(
    r"\b(?:journal|j|transactions|trans|letters|lett|annals|ann|review|rev|magazine|bulletin|bull|archives|arch|"
    r"quarterly|reports|nature|science|lancet|cell|acta|zeitschrift|revue|plos|bmj|jama)\b",
    re.IGNORECASE,
)
_ACRONYM = re.compile(r"[A-Z]\S{2,7}")
_ARXIV = re.compile(r"\barxiv\b|\bcorr\b|preprint", re.IGNORECASE)
_PUBLIC_URL = re.compile(r"https?://[^/@\s]+(?:/\S*)?", re.IGNORECASE)
"""A URL that others can open, without user or password."""
_VERSION = re.compile(r"v\d{1,3}$")
_YEAR_OF_ID = re.compile(r"(?:[a-zA-Z.-]{1,20}/)?(\d\d)\d\d")
_CALLED = {"arxiv_id": "arXiv id", "doi": "DOI"}
_SUFFIX = re.compile(r"(?:Jr|Sr|II|III|IV)\.?", re.IGNORECASE)
_ORGANISATION = re.compile(
    r"\b(?:and|agency|association|authors?|board|center|centre|collaboration|collaborators|college|commission|"
    r"committee|company|consortium|corporation|council|department|foundation|group|hospital|inc|initiative|institute|"
    r"laboratories|laboratory|labs?|llc|ltd|ministry|network|of|office|organi[sz]ation|project|research|society|"
    r"taskforce|team|technologies|the|union|university|working)\b",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"[\\{}~^&%$#_\"]")
_NO_KEYWORDS = frozenset(["a", "an", "and", "at", "by", "for", "from", "in", "is", "of", "on", "the", "to", "with"])
_SUFFIX_LETTERS = 2


@dataclass(frozen=True, slots=True)
class Author:
    """An author. Either `literal` or `family` is filled."""

    family: str = ""
    given: str = ""
    particle: str = ""
    """ "van den" of "George van den Driessche"."""
    suffix: str = ""
    """ "Jr."."""
    literal: str = ""
    """An organisation, or a name whose parts are not clear."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One paper of a bibliography."""

    key: str
    known: Metadata
    """Its fields, each on one line. The kind is BibTeX's, or "misc"; a year that is not printed is that of the arXiv
    id, which has no version: that is in `url`; of the categories it is the first."""
    people: tuple[Author, ...]
    note: str
    """Uncertain and unknown fields, and the file's name where there is no title; empty for a complete entry."""


def entries_of(papers: Iterable[Paper], library: Sequence[Paper]) -> list[Entry]:
    """The entries of `papers`, in their order; the keys depend on all papers of `library`.

    A supplement has no entry beside its paper's.
    """
    keys = citation_keys(library)
    wanted = list(papers)
    whole = {keys[paper.paper_id] for paper in wanted if not paper.metadata.part}
    kept = (paper for paper in wanted if not paper.metadata.part or keys[paper.paper_id] not in whole)
    return [_entry(paper, keys[paper.paper_id]) for paper in kept]


def entries_cited(answers: Iterable[Answer], library: Sequence[Paper]) -> list[Entry]:
    """The entries of the papers that the answers cite, each once, in the order of their first citation.

    A citation names a paper by its full path. Where the paper is no longer in the library, the entry has only the
    file's name.
    """
    by_path = {paper.path: paper for paper in library}
    by_name = {paper.file: paper for paper in library}
    cited: dict[str, Citation] = {}
    for answer in answers:
        for citation in answer.citations:
            cited.setdefault(citation.path or citation.file, citation)
    keys = citation_keys(library)
    taken = set(keys.values())
    entries: dict[str, Entry] = {}
    for place, citation in cited.items():
        paper = by_path.get(citation.path) or (None if citation.path else by_name.get(citation.file))
        entry = _entry(paper, keys[paper.paper_id]) if paper else _gone(citation, place, taken)
        entries.setdefault(entry.key, entry)
    return list(entries.values())


def kind_of(venue: str) -> str:
    """The type of entry for a venue: "article" for a journal, "inproceedings" for a conference, "misc" if unclear."""
    if _ARXIV.search(venue):
        return "misc"
    if _MEETING.search(venue):
        return "inproceedings"
    if _JOURNAL.search(venue):
        return "article"
    is_acronym = _ACRONYM.fullmatch(venue) and sum(letter.isupper() for letter in venue) > 2
    return "inproceedings" if is_acronym else "misc"


def one_line(text: str) -> str:
    """The text without invisible characters and with single blanks."""
    kept = (" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text)
    return " ".join("".join(char for char in kept if unicodedata.category(char)[0] != "C").split())


def _entry(paper: Paper, key: str) -> Entry:
    known = sure_enough(paper)
    title, venue, doi = one_line(known.title), one_line(known.venue), _joined(known.doi)
    people = tuple(person_of(name) for name in map(one_line, known.authors) if name)
    arxiv_id = _joined(known.arxiv_id)
    year = known.year or year_of_arxiv_id(arxiv_id)
    missing = [name for name, value in (("title", title), ("authors", people), ("year", year)) if not value]
    doubts = [_CALLED.get(name, name) for name in doubtful(known)]
    says_where = venue or known.kind == "techreport"
    is_of_id = year is not None and not known.year
    url = f"https://arxiv.org/abs/{arxiv_id}" if arxiv_id else "" if doi else _joined(known.url)
    known = Metadata(
        kind=known.kind or kind_of(venue) if says_where else "misc",
        title=title,
        year=year,
        venue=venue,
        doi=doi,
        arxiv_id=_VERSION.sub("", arxiv_id),
        categories=tuple(map(_joined, known.categories[:1])) if arxiv_id else (),
        url=url if _PUBLIC_URL.fullmatch(url) else "",
        volume=one_line(known.volume) if says_where else "",
        number=one_line(known.number) if says_where else "",
        pages=one_line(known.pages) if says_where else "",
    )
    return Entry(key, known, people, _note("" if title else paper.file, doubts, missing, from_id=is_of_id))


def _gone(citation: Citation, place: str, taken: set[str]) -> Entry:
    """The entry of a cited paper that is no longer in the library."""
    note = f"{_note(citation.file, (), ())}; no longer in the library"
    return Entry(unused("gone", place, taken), Metadata(kind="misc"), (), note)


def year_of_arxiv_id(arxiv_id: str) -> int | None:
    """The year in which an id was given: 2017 of "1706.03762v7", 1997 of "hep-th/9711200"; None without an id."""
    match = _YEAR_OF_ID.match(arxiv_id)
    return (1900 if int(match[1]) > 90 else 2000) + int(match[1]) if match else None


def _note(file: str, uncertain: Sequence[str], missing: Sequence[str], *, from_id: bool = False) -> str:
    """The note. `file` without folders if it is a full path: where papers are stored is private."""
    name = PurePath(file).name if PurePath(file).is_absolute() else file
    parts = (
        f"file {one_line(name)}" if file else "",
        f"uncertain: {', '.join(uncertain)}" if uncertain else "",
        "year of the arXiv id" if from_id else "",
        f"not known: {', '.join(missing)}" if missing else "",
    )
    return "; ".join(part for part in parts if part)


def _joined(text: str) -> str:
    """The text without blanks and invisible characters."""
    return one_line(text).replace(" ", "")


def sure_enough(paper: Paper) -> Metadata:
    """The paper's metadata without fields below LEFT_OUT; a field without a confidence is certain.

    Without a title from the page, the title in the file's properties is used and marked as uncertain.
    """
    known = paper.metadata
    confidence = {name: known.confidence.get(name, 1.0) for name in _FIELDS if getattr(known, name)}
    empty = Metadata()
    weak = {name: getattr(empty, name) for name, sure in confidence.items() if sure < LEFT_OUT}
    known = replace(known, **weak, confidence={name: sure for name, sure in confidence.items() if name not in weak})
    if not known.title and not says_nothing(paper.title):
        return replace(known, title=paper.title, confidence={**known.confidence, "title": LEFT_OUT})
    return known


def doubtful(known: Metadata) -> tuple[str, ...]:
    """The names of the fields to mark as uncertain, in the order of the record."""
    return tuple(name for name in _FIELDS if known.confidence.get(name, 1.0) < UNCERTAIN)


def citation_keys(papers: Sequence[Paper]) -> dict[int, str]:
    """The citation key of each paper of a whole library, by its id: what its source gave, or one made of its data.

    Those that are made do not depend on the order of the papers. Papers with the same stem get letters from their MD5,
    so a further paper with that stem changes no key. When a second paper with a stem is added, the key without letters
    is no longer used: a text that cites it fails to resolve, which is noticed; a key of another paper would not be.
    """
    by_stem: dict[str, list[Paper]] = defaultdict(list)
    keys = {paper.paper_id: key for paper in papers if (key := paper.metadata.citation_key)}
    for paper in papers:
        if paper.paper_id not in keys:
            by_stem[key_stem(paper)].append(paper)
    taken = {*by_stem, *keys.values()}
    for stem, alike in sorted(by_stem.items()):
        if len(alike) == 1 and stem not in keys.values():
            keys[alike[0].paper_id] = stem
            continue
        for paper in sorted(alike, key=lambda one: (one.md5, one.path)):
            keys[paper.paper_id] = unused(stem, paper.md5 or paper.path, taken)
    return keys


def key_stem(paper: Paper) -> str:
    """First author's family name, year, and first word of the title but for stop words: vaswani2017attention.

    Lower-case ASCII letters and digits. Unknown and doubtful parts are left out; without author and title the file's
    name is used, or "paper".
    """
    known = sure_enough(paper)
    author = _ascii(last_name(known.authors[0])) if known.authors else ""
    words = (_ascii(word) for word in known.title.replace("-", " ").replace("–", " ").split())
    word = next((word for word in words if word and word not in _NO_KEYWORDS), "")
    if not (author or word):
        word = _ascii(PurePath(paper.file).stem) or "paper"
    return f"{author}{known.year or year_of_arxiv_id(known.arxiv_id) or ''}{word}"


def unused(stem: str, source: str, taken: set[str]) -> str:
    """The stem with two letters made of `source`, or more where those are taken; the key is added to `taken`."""
    key = next(key for letters in _letters(source) if (key := f"{stem}{letters}") not in taken)
    taken.add(key)
    return key


def _letters(source: str) -> Iterator[str]:
    """Pseudo-random letters that depend on the source alone: two, then three, and so on."""
    for length in count(_SUFFIX_LETTERS):
        number = int.from_bytes(hashlib.sha256(f"{length} {source}".encode(errors="surrogateescape")).digest())
        yield "".join(chr(ord("a") + number // 26**place % 26) for place in range(length))


def _ascii(text: str) -> str:
    return "".join(char for char in plain_letters(text) if char.isascii() and char.isalnum())


def person_of(name: str) -> Author:
    """The parts of a name: given name first, or "Family, Given", or "Family, Jr., Given".

    Lower-case words between the others are a particle, as in BibTeX. A single word is kept whole, as is a name with
    "and", with a word of organisations or with a character that LaTeX takes for a command.
    """
    if _ORGANISATION.search(name) or _NO_NAME.search(name):
        return Author(literal=name)
    parts = [part.strip() for part in name.split(",")]
    suffix = parts.pop(1) if len(parts) in (2, 3) and _SUFFIX.fullmatch(parts[1]) else ""
    words = parts[0].split()
    if not all(parts) or len(parts) > 2:
        return Author(literal=name)
    if len(parts) == 2:
        small = next((place for place, word in enumerate(words) if not word[0].islower()), len(words) - 1)
        return Author(" ".join(words[small:]), parts[1], " ".join(words[:small]), suffix)
    if not suffix and len(words) > 2 and _SUFFIX.fullmatch(words[-1]):
        suffix = words.pop()
    if len(words) < 2:
        return Author(literal=name)
    lower = [place for place, word in enumerate(words[1:-1], 1) if word[0].islower()]
    first, last = (lower[0], lower[-1] + 1) if lower else (len(words) - 1, len(words) - 1)
    return Author(" ".join(words[last:]), " ".join(words[:first]), " ".join(words[first:last]), suffix)
