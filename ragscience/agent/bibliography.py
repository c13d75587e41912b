"""A BibTeX entry from what the library knows of a paper."""

from __future__ import annotations

import re
from pathlib import PurePath

from ragscience.metadata.bibtex import bibtex_key
from ragscience.records import Paper

__all__ = ["bibtex_entry"]

_SPECIAL = re.compile(r"([&%$#_])")
_FIELD = "  {name:9} = {{{value}}},"


def bibtex_entry(paper: Paper) -> str:
    """An entry with title, authors, year, venue, DOI and arXiv id as far as they are known.

    A line before it, which BibTeX skips, says what is not.
    """
    known = paper.metadata
    meeting = bool(known.venue and _is_meeting(known.venue))
    fields = {
        "title": f"{{{_escaped(known.title or paper.title)}}}" if known.title or paper.title else "",
        "author": " and ".join(_escaped(author) for author in known.authors),
        "year": str(known.year or ""),
        "booktitle" if meeting else "journal": _escaped(known.venue),
        "doi": _plain(known.doi),
        "eprint": _plain(known.arxiv_id),
        "archivePrefix": "arXiv" if known.arxiv_id else "",
    }
    kind = "misc" if not known.venue else "inproceedings" if meeting else "article"
    missing = [name for name in ("title", "author", "year") if not fields[name]]
    lines = [f"% {PurePath(paper.file).name}" + (f": not known: {', '.join(missing)}" if missing else "")]
    lines.append(f"@{kind}{{{bibtex_key(known)},")
    lines += [_FIELD.format(name=name, value=value) for name, value in fields.items() if value]
    return "\n".join([*lines, "}"])


def _is_meeting(venue: str) -> bool:
    short = venue.isupper() or (len(venue) <= 8 and sum(letter.isupper() for letter in venue) > 2)
    return short or bool(re.search("conference|proceedings|workshop|symposium|meeting", venue, re.IGNORECASE))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", _plain(text))


def _plain(text: str) -> str:
    """On one line, and with nothing in it that opens or closes a field."""
    return " ".join(re.sub(r"[{}\\]", "", text).split())
