"""Entries as BibTeX and as CSL-JSON.

BibTeX is written in UTF-8, as biber reads it; characters that LaTeX takes for commands are escaped. Identifiers (doi,
eprint, url) are read verbatim by biblatex and the url package and are not escaped.
CSL-JSON follows https://docs.citationstyles.org/en/stable/specification.html, version 1.0.2.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from ragscience.sources.bib_entries import Author, Entry

_LATEX = {
    "\\": r"{\textbackslash}",
    "{": r"{\textbraceleft}",
    "}": r"{\textbraceright}",
    "~": r"{\textasciitilde}",
    "^": r"{\textasciicircum}",
    **{char: f"\\{char}" for char in "&%$#_"},
}
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_ENDS = (":", ".", "?", "!", "–", "—")
_SMALL_CHARS = 3
"""Only words of more letters than this show whether a title capitalises all its words."""
_FIELD = "  {name:13} = {{{value}}},"
_CSL_TYPES = {
    "article": "article-journal",
    "inproceedings": "paper-conference",
    "phdthesis": "thesis",
    "mastersthesis": "thesis",
    "techreport": "report",
}
_VENUE_FIELDS = {
    "article": "journal",
    "inproceedings": "booktitle",
    "phdthesis": "school",
    "mastersthesis": "school",
    "techreport": "institution",
}
_PUBLISHERS = frozenset(["phdthesis", "mastersthesis", "techreport"])
"""Kinds whose venue is a school or an institution."""


def as_bibtex(entries: Iterable[Entry]) -> str:
    """The entries in BibTeX with a blank line between them."""
    return "\n".join(map(_bibtex, entries))


def as_csl(entries: Iterable[Entry]) -> str:
    """The entries as one JSON array in CSL-JSON."""
    text = json.dumps([_csl(entry) for entry in entries], ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    return text.encode("utf-8", "replace").decode()


def latex(text: str) -> str:
    """The text with LaTeX's special characters escaped; braces are always balanced."""
    return "".join(_LATEX.get(char, char) for char in text)


def title_latex(title: str) -> str:
    """A title, escaped, with braces around the words whose capitals a style must keep.

    Those are words with a capital after their first letter, single letters, and in a title of mostly lower-case words
    every capitalised word but the first of a sentence. A title in capitals only gets no braces.
    """
    words = list(_WORD.finditer(title))
    in_small = [word for word in words[1:] if len(word[0]) > _SMALL_CHARS]
    is_sentence = sum(word[0][0].islower() for word in in_small) * 2 > len(in_small)
    tells = not title.isupper()
    done, at = "", 0
    for word in words:
        before = title[: word.start()].rstrip()
        begins = not before or before.endswith(_SENTENCE_ENDS)
        is_letter = len(word[0]) == 1 and word[0] not in ("A", "I")
        named = (is_sentence or is_letter) and word[0][0].isupper() and not begins
        held = tells and (any(char.isupper() for char in word[0][1:]) or named)
        done += latex(title[at : word.start()]) + (f"{{{latex(word[0])}}}" if held else latex(word[0]))
        at = word.end()
    return done + latex(title[at:])


def _bibtex(entry: Entry) -> str:
    known = entry.known
    fields = {
        "title": title_latex(known.title),
        "author": " and ".join(map(_name, entry.people)),
        "year": str(known.year or ""),
        _VENUE_FIELDS.get(known.kind, "howpublished"): latex(known.venue),
        "volume": latex(known.volume),
        "number": latex(known.number),
        "pages": latex(known.pages.replace("-", "--")),
        "doi": _verbatim(known.doi),
        "eprint": _verbatim(known.arxiv_id),
        "archivePrefix": "arXiv" if known.arxiv_id else "",
        "primaryClass": _verbatim("".join(known.categories)),
        "url": _verbatim(known.url),
        "note": latex(entry.note),
    }
    lines = [_FIELD.format(name=name, value=value) for name, value in fields.items() if value]
    return "\n".join([f"@{known.kind}{{{entry.key},", *lines, "}\n"])


def _name(person: Author) -> str:
    """The name, given name first where BibTeX splits it as we do, else with commas."""
    if person.literal:
        return f"{{{latex(person.literal)}}}"
    family = " ".join(filter(None, (person.particle, person.family)))
    if person.suffix:
        return ", ".join(map(latex, filter(None, (family, person.suffix, person.given))))
    words = person.given.split()
    is_plain = words and words[0][0].isupper() and not any(word[0].islower() for word in words)
    one_family = bool(person.particle) or " " not in person.family
    if is_plain and one_family and person.family[0].isupper():
        return latex(f"{person.given} {family}")
    return f"{latex(family)}, {latex(person.given)}" if person.given else f"{{{latex(family)}}}"


def _verbatim(text: str) -> str:
    """The text with braces, quotes and backslashes percent-encoded, so that nothing ends the field."""
    return re.sub(r"[{}\\\"]", lambda found: quote(found[0]), text)


def _csl(entry: Entry) -> dict[str, Any]:
    known = entry.known
    values: dict[str, Any] = {
        "id": entry.key,
        "type": _CSL_TYPES.get(known.kind, "article" if known.arxiv_id else "document"),
        "title": known.title,
        "author": [_csl_name(person) for person in entry.people],
        "issued": {"date-parts": [[known.year]]} if known.year else None,
        "publisher" if known.kind in _PUBLISHERS else "container-title": known.venue,
        "genre": "Master's thesis" if known.kind == "mastersthesis" else "",
        "volume": known.volume,
        "number" if known.kind == "techreport" else "issue": known.number,
        "page": known.pages,
        "DOI": known.doi,
        "archive": "arXiv" if known.arxiv_id else "",
        "archive_location": known.arxiv_id,
        "URL": known.url,
        "note": entry.note,
    }
    return {name: value for name, value in values.items() if value}


def _csl_name(person: Author) -> dict[str, str]:
    parts = {"non-dropping-particle" if name == "particle" else name: value for name, value in asdict(person).items()}
    return {name: value for name, value in parts.items() if value}
