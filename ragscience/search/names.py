"""Which papers a text names: by what their own text and metadata say they are called.

The names of a paper are found once (`names_of_paper`) and kept in the file `names.json`; how surely one means its paper
depends on who else uses the word, which the keyword index tells when a text has it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

from ragscience.core.tokenizing import tokenize
from ragscience.library.store import term_counts
from ragscience.search.kept_names import KeptNames, KeptPaper, Row, kept_names, name_of
from ragscience.search.names_of_paper import AUTHORS, PaperName, is_shaped, key_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragscience.library.store import Store

__all__ = ["MentionedPaper", "PaperNames"]

MOST_WORDS = 400
"""How many words of a text are looked at."""
LONGEST = 24
"""Words of a text that are looked up together."""
SURELY_OWN = 3.0
"""A word so many times as frequent in a paper as elsewhere is its own; one as frequent elsewhere is nobody's."""
LONG = 5
"""Words of a title that names its paper whatever they are."""
NOT_OWNED, OWNED = 0.25, 0.5
"""The share of a word's passages that are the paper's own: up to which it is not its name, and from which on it is."""
FEWEST = 3
"""Passages of a paper with a name from which on its frequency there tells something."""
STATED_AT_LEAST = 0.5
"""The least factor of usage of a name of several words that the paper states, or that is its whole title."""
SHAPED_AT_LEAST = 0.8
"""The least factor of usage of a name that is written as only names are: others use it because they mean the paper."""
IN_SMALL_LETTERS, ALL_SMALL = 0.6, 0.8
"""Factors of a name without its capitals, in a text that has others ("a raft") and in one without any."""
ALONE, ALONE_OF_ONE = 0.5, 0.8
"""Strength of a family name without "et al.", a second author or a year: of several authors, of a single one."""
RARE, FEWEST_PASSAGES = 0.02, 500
"""A family name that a larger share of the passages has is a common word: "Page". A small library counts as larger."""
LEAST = 0.2
"""Names that are less sure than this are left out."""
_WORD = re.compile(r"[^\W_]++")
_NO_BLANK = re.compile(r"\S++")
_MARKS = "\"'“”‘’`()[]{}<>,.;:!?"
"""What may stand around the name of a file."""
_SIZE = re.compile(r"(?<=[A-Z0-9])(?:BASE|SMALL|MEDIUM|LARGE|BIG|XL)$")
"""BERTLARGE: a name with its subscript, as a PDF gives it."""
_MORE_LETTERS = len("MEDIUM")
"""What a text may have behind a name: a plural's s, or the subscript of a size."""
_BESIDE_AUTHOR = re.compile(
    r"(?:[’']s)?+,?+ ?+(et al\b\.?+|and (?:others|colleagues|co-?authors)|(?:and|&) ([^\W\d_][\w’'-]{1,30}+))?+"
    r"(?:[’']s)?+,?+ ?+[(\[]?+((?:19|20)\d\d\b)?+"
)


@dataclass(frozen=True, slots=True)
class MentionedPaper:
    """A paper that a text names."""

    paper_id: int
    file: str
    name: str
    """As the text has it: `text[start:end]`."""
    start: int
    end: int
    strength: float
    """How surely the name means this paper, 0 to 1."""


class PaperNames:
    """The names of a library's papers."""

    def __init__(self, library: Store, names: KeptNames, before: PaperNames | None = None) -> None:
        """`before`: those of an earlier generation."""
        self._library = ref(library)  # strong, it would keep the library in `_known` for ever
        self._names = names
        self._kept = names.papers
        self._frequencies: dict[str, int] = {}
        self._passages = 0
        if before is not None and "_by_key" in before.__dict__:
            self._by_key = _followed(before._by_key, before._kept, self._kept)

    @cached_property
    def _by_key(self) -> dict[str, tuple[int, ...]]:
        """The papers that have a name, by what it is looked up by."""
        return _followed({}, {}, self._kept)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._by_key), default=0)

    @cached_property
    def _by_file(self) -> dict[str, int]:
        return {paper.file.casefold(): paper_id for paper_id, paper in self._kept.items()}

    @classmethod
    def of(cls, library: Store) -> PaperNames:
        """The names of the papers that are in the library now; thread-safe, read once for each of its generations."""
        with library.snapshot():
            state = (library.about.library_id, library.about.version)
            with _lock:
                known = _known.get(library)
            if known is not None and known[0] == state:
                return known[1]
            before = _before(library)
            kept = kept_names(library, before._names if before else None)
            if before is None:
                kept.write(library)
            names = cls(library, kept, before)
            with _lock:
                _known[library] = state, names
            return names

    def write(self) -> None:
        """Keep the names on disk, where they are not: a process that only reads leaves that to the one that writes."""
        library = self._library()
        if library is not None:
            self._names.write(library)

    def of_paper(self, paper_id: int) -> tuple[PaperName, ...]:
        """The names of a paper, the surest first; none for an unknown one."""
        paper = self._kept.get(paper_id)
        return tuple(name_of(row) for row in paper.rows) if paper else ()

    def in_text(self, text: str) -> tuple[MentionedPaper, ...]:
        """The papers that the text names, in its order, the longest name at each place; several that share a name.

        A name may be written in other case, with other hyphens and blanks, and as a plural. Of an author's name the
        words beside it count: "Vaswani et al.", "Kingma and Ba", "Devlin 2018". A file's whole name always means it.
        """
        files = self._files(text)
        words = list(islice(_WORD.finditer(text), MOST_WORDS))
        keys = [key_of(word.group()) for word in words]
        owners: dict[tuple[int, int], list[tuple[int, Row]]] = {}
        for at in range(len(words)):
            for length in range(1, min(LONGEST, len(words) - at) + 1):
                key = "".join(keys[at : at + length])
                if len(key) > self._longest + _MORE_LETTERS:
                    break
                written = text[words[at].start() : words[at + length - 1].end()]
                found = self._owners(key, written)
                if found:
                    owners[at, length] = found
        self._count({term for found in owners.values() for _, row in found for term in tokenize(row[1])})
        named: list[MentionedPaper] = []
        for at, length in sorted(owners, key=lambda place: (place[0], -place[1])):
            start, end = words[at].start(), words[at + length - 1].end()
            in_file = any(start < file.end and file.start < end for file in files)
            if not in_file and (not named or start >= named[-1].end):
                named += self._meant(text, start, end, owners[at, length])
        return tuple(sorted((*named, *files), key=lambda one: one.start))

    def _files(self, text: str) -> list[MentionedPaper]:
        """The papers that are named by their files: "bert_1810.04805.pdf"."""
        found = []
        for match in islice(_NO_BLANK.finditer(text), MOST_WORDS):
            name = match.group().strip(_MARKS)
            paper_id = self._by_file.get(name.casefold())
            if paper_id is not None:
                start = match.start() + match.group().index(name)
                found.append(MentionedPaper(paper_id, self._kept[paper_id].file, name, start, start + len(name), 1.0))
        return found

    def _owners(self, key: str, written: str) -> list[tuple[int, Row]]:
        """The names that a key means; else without a plural's s, or the subscript of a size."""
        meant = key if key in self._by_key else key.removesuffix("s")
        if meant not in self._by_key and _SIZE.search(written):
            meant = key_of(_SIZE.sub("", written))
        papers = sorted(self._by_key.get(meant, ()), key=lambda paper_id: self._kept[paper_id].file)
        return [(paper_id, row) for paper_id in papers for row in self._kept[paper_id].rows if row[0] == meant]

    def _count(self, terms: set[str]) -> None:
        """Look up how many passages of the library have each term."""
        new = [term for term in terms if term not in self._frequencies]
        if new:
            library = self._library()
            if library is None:
                raise RuntimeError("the library of these names is no longer open")
            counts = term_counts(library, new, (), None)
            self._passages = counts.passages
            self._frequencies |= zip(counts.terms, counts.frequencies.tolist(), strict=True)

    def _meant(self, text: str, start: int, end: int, owners: list[tuple[int, Row]]) -> list[MentionedPaper]:
        """The papers that a name at a place means, each once."""
        best: dict[int, tuple[float, int]] = {}
        for paper_id, row in owners:
            name = name_of(row)
            if name.how in AUTHORS:
                strength, stop = _as_author(name, text, start, end)
                strength *= self._rarity(name) if stop == end else 1.0
            else:
                strength, stop = name.base * self._usage(paper_id, name) * _case(name.name, text, start, end), end
            if strength >= LEAST and strength > best.get(paper_id, (0.0, 0))[0]:
                best[paper_id] = strength, stop
        longest = max((stop for _, stop in best.values()), default=end)
        sharing = sum(stop == longest for _, stop in best.values())
        return [
            MentionedPaper(paper_id, self._kept[paper_id].file, text[start:longest], start, longest, strength / sharing)
            for paper_id, (strength, stop) in best.items()
            if stop == longest
        ]

    def _usage(self, paper_id: int, name: PaperName) -> float:
        """0 to 1: how far the paper's own use of a name makes it the paper's.

        A long title is always. What a paper says that it introduces is the more its own the more frequent it is there
        than elsewhere; of all else, most passages that have its most characteristic word must be the paper's own.
        """
        words, is_introduced = len(name.name.split()), name.how == "introduced"
        if words >= LONG and name.how in ("title", "short title"):
            return 1.0
        used = list(zip(dict.fromkeys(tokenize(name.name)), name.indexed, strict=True))
        if not used:
            return 0.0
        if is_introduced and words == 1 and used[0][1] >= FEWEST:
            others = min(self._frequencies[term] - own for term, own in used)
            elsewhere = max(others, 0) / max(self._passages - self._kept[paper_id].passages, 1)
            usage = (name.share / elsewhere - 1) / (SURELY_OWN - 1) if elsewhere else 1.0
            return max(SHAPED_AT_LEAST if is_shaped(name.name) else 0.0, min(1.0, usage))
        owned = max(own / max(self._frequencies[term], own, 1) for term, own in used)
        least = STATED_AT_LEAST if is_introduced or (name.how == "title" and words > 1) else 0.0
        return max(least, min(1.0, (owned - NOT_OWNED) / (OWNED - NOT_OWNED)))

    def _rarity(self, name: PaperName) -> float:
        """1 for a family name that few passages have, 0 for one that is a common word."""
        having = max((self._frequencies[term] for term in tokenize(name.name)), default=self._passages)
        return 1.0 if having <= RARE * max(self._passages, FEWEST_PASSAGES) else 0.0


def _as_author(name: PaperName, text: str, start: int, end: int) -> tuple[float, int]:
    """(strength, end) of a family name with the words beside it: who else, and the year."""
    second, *years = name.detail
    beside = _BESIDE_AUTHOR.match(text, end)
    others, other, year = (beside[1], beside[2], beside[3]) if beside else (None, None, None)
    if not text[start].isupper() or (year and years and year not in years):
        return 0.0, end
    is_second = bool(other and second) and key_of(other or "") == key_of(second)
    if beside is None or not (is_second or (others and not other) or (year and not others)):
        return (ALONE if name.how == AUTHORS[0] else ALONE_OF_ONE), end
    return name.base if years or not year else ALONE, len(text[: beside.end()].rstrip(" ,(["))


def _case(name: str, text: str, start: int, end: int) -> float:
    """The factor of a name that is written in small letters though its own are not."""
    if text[start:end] != text[start:end].lower() or name == name.lower():
        return 1.0
    long = is_shaped(name) and len(name) > 3
    has_capitals = any(letter.isupper() for letter in text[1:])
    return 1.0 if long else IN_SMALL_LETTERS if has_capitals else ALL_SMALL


def _followed(
    by_key: Mapping[str, tuple[int, ...]], before: Mapping[int, KeptPaper], now: Mapping[int, KeptPaper]
) -> dict[str, tuple[int, ...]]:
    """`by_key`, which is of the papers `before`, for those of `now`."""
    found = dict(by_key)
    for paper_id, paper in before.items():
        if now.get(paper_id) is not paper:
            for key in set(paper.keys.split()):
                found[key] = tuple(one for one in found[key] if one != paper_id)
    new: defaultdict[str, list[int]] = defaultdict(list)
    for paper_id, paper in now.items():
        if before.get(paper_id) is not paper:
            for key in set(paper.keys.split()):
                new[key].append(paper_id)
    for key, ids in new.items():
        found[key] = (*found.get(key, ()), *ids)
    return found


def _before(library: Store) -> PaperNames | None:
    """The names of this library that this process knew last, those of another opening of it where it knew none."""
    with _lock:
        known = _known.get(library)
        others = [known] if known else list(_known.values())
    return next((names for (library_id, _), names in others if library_id == library.about.library_id), None)


_known: WeakKeyDictionary[Store, tuple[tuple[str, int], PaperNames]] = WeakKeyDictionary()
"""The names of each open library, and its id and generation when they were read."""
_lock = Lock()
"""For `_known`."""
