"""Keys that stay the same for the same paper, and of which no library has one twice."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import PurePath

from ragscience.bibliography.trusted_fields import sure_enough
from ragscience.metadata.ascii_names import plain_letters
from ragscience.metadata.person_names import last_name
from ragscience.records import Paper

__all__ = ["citation_keys", "key_stem", "unused"]

_NO_KEYWORDS = frozenset(["a", "an", "and", "at", "by", "for", "from", "in", "is", "of", "on", "the", "to", "with"])
_SUFFIX_LETTERS = 2


def citation_keys(papers: Sequence[Paper]) -> dict[int, str]:
    """The key of each paper of a library, by its id; give the whole library, whichever papers are wanted.

    A key depends on what the papers are and never on the order in which they came. Papers of one stem get letters that
    come from their own bytes (the MD5), so that a further one of that stem changes none of theirs. The first time that
    a second paper of a stem comes, the key without letters is nobody's any more: a text that cites it fails to
    resolve, which is seen, where a key that had gone over to another paper would not be.
    """
    by_stem: dict[str, list[Paper]] = defaultdict(list)
    for paper in papers:
        by_stem[key_stem(paper)].append(paper)
    taken = set(by_stem)
    keys: dict[int, str] = {}
    for stem, alike in sorted(by_stem.items()):
        if len(alike) == 1:
            keys[alike[0].paper_id] = stem
            continue
        for paper in sorted(alike, key=lambda one: (one.md5, one.path)):
            keys[paper.paper_id] = unused(stem, paper.md5 or paper.path, taken)
    return keys


def key_stem(paper: Paper) -> str:
    """The first author's family name, the year and the first word of the title that is not small: vaswani2017attention.

    Only ASCII letters and digits, in small letters. What is not known, or too uncertain to be given, is left out; a
    paper of which only the year is known is called by its file's name too, and "paper" where that has no such letter.
    """
    known = sure_enough(paper)
    author = _ascii(last_name(known.authors[0])) if known.authors else ""
    words = (_ascii(word) for word in known.title.replace("-", " ").replace("–", " ").split())
    word = next((word for word in words if word and word not in _NO_KEYWORDS), "")
    if not (author or word):
        word = _ascii(PurePath(paper.file).stem) or "paper"
    return f"{author}{known.year or ''}{word}"


def unused(stem: str, source: str, taken: set[str]) -> str:
    """The stem and two letters made of `source`, or more where those are taken; the key is taken then."""
    key = next(key for letters in _letters(source) if (key := f"{stem}{letters}") not in taken)
    taken.add(key)
    return key


def _letters(source: str) -> Iterator[str]:
    """Letters that look drawn but are always the same ones for a source: two, then three, without end."""
    for length in count(_SUFFIX_LETTERS):
        number = int.from_bytes(hashlib.sha256(f"{length} {source}".encode(errors="surrogateescape")).digest())
        yield "".join(chr(ord("a") + number // 26**place % 26) for place in range(length))


def _ascii(text: str) -> str:
    return "".join(char for char in plain_letters(text) if char.isascii() and char.isalnum())
