"""A paper as an entry of a bibliography, before it has a format: only what is known, and what about it is doubtful."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ragscience.bibliography.author_parts import Person, person_of
from ragscience.bibliography.citation_keys import citation_keys, unused
from ragscience.bibliography.trusted_fields import LEFT_OUT, UNCERTAIN, doubtful, sure_enough
from ragscience.records import Answer, Citation, Paper

__all__ = ["LEFT_OUT", "UNCERTAIN", "Entry", "entries_cited", "entries_of", "kind_of"]

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
"""A place that others can read, without a name or password in it."""
_CALLED = {"arxiv_id": "arXiv id", "doi": "DOI"}


@dataclass(frozen=True, slots=True)
class Entry:
    """What is printed of one paper, as plain text on one line each; empty where it is not known."""

    key: str
    kind: str
    """ "article" in a journal, "inproceedings" of a conference, or "misc"."""
    title: str
    people: tuple[Person, ...]
    year: int | None
    venue: str
    doi: str
    arxiv_id: str
    primary_class: str
    """arXiv's, as "cs.CL"."""
    url: str
    note: str
    """What is uncertain, what is not known, and the file's name where there is no title; empty where all is well."""


def entries_of(papers: Iterable[Paper], library: Sequence[Paper]) -> list[Entry]:
    """The entries of some papers of a library, in their order; `library` has all of them, which decides the keys."""
    keys = citation_keys(library)
    return [_entry(paper, keys[paper.paper_id]) for paper in papers]


def entries_cited(answers: Iterable[Answer], library: Sequence[Paper]) -> list[Entry]:
    """The entries of the papers that the answers cite, each once, in the order of their first citation.

    A citation is of the paper at its full path, whatever that paper is called by now. One whose paper has left the
    library has the file's name and nothing else.
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
    """Without anything unseen, and with single blanks."""
    kept = (" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text)
    return " ".join("".join(char for char in kept if unicodedata.category(char)[0] != "C").split())


def _entry(paper: Paper, key: str) -> Entry:
    known = sure_enough(paper)
    title, venue, doi = one_line(known.title), one_line(known.venue), _joined(known.doi)
    people = tuple(person_of(name) for name in map(one_line, known.authors) if name)
    missing = [name for name, value in (("title", title), ("authors", people), ("year", known.year)) if not value]
    arxiv_id = _joined(known.arxiv_id)
    url = f"https://arxiv.org/abs/{arxiv_id}" if arxiv_id else "" if doi else _joined(known.url)
    return Entry(
        key=key,
        kind=kind_of(venue) if venue else "misc",
        title=title,
        people=people,
        year=known.year,
        venue=venue,
        doi=doi,
        arxiv_id=arxiv_id,
        primary_class=_joined(known.categories[0]) if arxiv_id and known.categories else "",
        url=url if _PUBLIC_URL.fullmatch(url) else "",
        note=_note("" if title else paper.file, [_CALLED.get(name, name) for name in doubtful(known)], missing),
    )


def _gone(citation: Citation, place: str, taken: set[str]) -> Entry:
    """What is left of a paper that is cited and is no longer there."""
    note = f"{_note(citation.file, (), ())}; no longer in the library"
    return Entry(unused("gone", place, taken), "misc", "", (), None, "", "", "", "", "", note)


def _note(file: str, uncertain: Sequence[str], missing: Sequence[str]) -> str:
    """`file` with no more of its folders than tell it apart, or of a path none at all: where papers lie is private."""
    name = PurePath(file).name if PurePath(file).is_absolute() else file
    parts = (
        f"file {one_line(name)}" if file else "",
        f"uncertain: {', '.join(uncertain)}" if uncertain else "",
        f"not known: {', '.join(missing)}" if missing else "",
    )
    return "; ".join(part for part in parts if part)


def _joined(text: str) -> str:
    """Without blanks and anything unseen."""
    return one_line(text).replace(" ", "")
