"""Which papers a text names: by what their own text and metadata say they are called.

The names of a paper are found once (`names_of_paper`) and kept in the file `names.json`; how surely one means its paper
depends on who else uses the word, which the keyword index tells when a text has it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import prod
from pathlib import PurePath

from ragscience.core.paper_records import ENDING
from ragscience.core.tokenizing import terms, tokenize
from ragscience.library.store import Store
from ragscience.search.kept_names import KeptNames, kept_names
from ragscience.search.names_of_paper import AUTHORS, PaperName, is_shaped, key_of

MOST_WORDS = 400
"""How many words of a text are looked at."""
LONGEST = 24
"""Words of a text that are looked up together."""
DESCRIBED, MOST_OF_TOLD = 0.8, 0.6
"""Strength of "the sepsis paper", and the least share of its words that the paper has in its title, file or author."""
MOST_OF_SHORT = 4
"""Words of a short name."""
LEAST_SURE = 0.5
"""A name of this strength keeps its place from what a weaker rule would find there."""
LEAST = 0.2
"""Names that are less sure than this are left out."""
_WORD = re.compile(r"[^\W_]++")
NOUN = (
    r"(?:(?:paper|article|preprint|manuscript|publication|review|survey|report|trial)s?|stud(?:y|ies)"
    r"|meta-?analys[ie]s|thes[ie]s)"
)
_DESCRIBED = re.compile(rf"\b(?:the|that|this|my|our)\s++((?:[\w'’.-]+\s++){{1,6}}?){NOUN}\b", re.IGNORECASE)
""" "The sepsis paper"."""
_NOT_TELLING = frozenset(
    terms("first second third last other same whole original current new old previous earlier latest next one two only")
)
_FILE = re.compile(rf"(?<![^\s()\[\]<>\"“”,;:])[^\s()\[\]<>\"“”,;:]{{1,255}}?{ENDING}", re.IGNORECASE)
_ARXIV = re.compile(r"(?<![\d.])\d{4}\.\d{4,5}(?!\d)")


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

    def __init__(self, library: Store, names: KeptNames) -> None:
        self._library = library
        self._names = names
        self._kept = names.papers
        self._usage = Usage()

    @cached_property
    def _by_key(self) -> dict[str, list[int]]:
        """The papers that have a name, by what it is looked up by."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for paper_id, paper in self._kept.items():
            for key in paper.keys.split():
                found[key].append(paper_id)
        return dict(found)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._by_key), default=0)

    @cached_property
    def _by_term(self) -> dict[str, set[int]]:
        """The papers that have a term in title, file's name or first author's, or that arXiv id in their file's."""
        found: defaultdict[str, set[int]] = defaultdict(set)
        for paper_id, paper in self._kept.items():
            author = " ".join(name.name for name in paper.names if name.how in AUTHORS)
            stem = " ".join(_WORD.findall(PurePath(paper.file).stem))
            for term in (*terms(f"{paper.title.replace('-', ' ')} {stem} {author}"), *_ARXIV.findall(paper.file)):
                found[term].add(paper_id)
        return found

    @cached_property
    def _by_file(self) -> dict[str, int]:
        return {paper.file.casefold(): paper_id for paper_id, paper in self._kept.items()}

    @classmethod
    def of(cls, library: Store) -> PaperNames:
        """The names of the papers that are in the library now; thread-safe, read once for each of its generations."""
        return library.derived(cls._made)

    @classmethod
    def _made(cls, library: Store, before: PaperNames | None) -> PaperNames:
        names = cls(library, kept_names(library, before._names if before else None))
        if before is None:
            names.write()
        return names

    def write(self) -> None:
        """Keep the names on disk, where they are not: a process that only reads leaves that to the one that writes."""
        self._names.write(self._library)

    def of_paper(self, paper_id: int) -> tuple[PaperName, ...]:
        """The names of a paper, the surest first; none for an unknown one."""
        paper = self._kept.get(paper_id)
        return paper.names if paper else ()

    def short(self, file: str) -> str:
        """What to call a paper in a sentence: the short name that it uses most, else its file's."""
        paper_id = self.id_of(file)
        short = [
            name
            for name in self.of_paper(paper_id)
            if name.how not in AUTHORS and len(name.name.split()) <= MOST_OF_SHORT
        ]
        for name in sorted(short, key=lambda name: (name.how == "file", -name.share)):
            if [one.paper_id for one in self.in_text(name.name) if one.strength >= LEAST_SURE] == [paper_id]:
                return name.name
        return file

    def id_of(self, file: str) -> int:
        """The id of the paper with that file; -1 for none."""
        return self._by_file.get(file.casefold(), -1)

    def files_in(self, text: str) -> list[MentionedPaper]:
        """The papers whose files a text of any length names, in its order."""
        named = [(match[0].lstrip("'‘’`{"), match.end()) for match in _FILE.finditer(text)]
        known = [(self.id_of(name), end - len(name), end) for name, end in named]
        return [self._mentioned(paper_id, text, start, end) for paper_id, start, end in known if paper_id >= 0]

    def _mentioned(self, paper_id: int, text: str, start: int, end: int, strength: float = 1.0) -> MentionedPaper:
        return MentionedPaper(paper_id, self._kept[paper_id].file, text[start:end], start, end, strength)

    def in_text(self, text: str) -> tuple[MentionedPaper, ...]:
        """The papers that the text names, in its order, the longest name at each place; several that share a name.

        A name may be written in other case, with other hyphens and blanks, and as a plural. Of an author's name the
        words beside it count: "Vaswani et al.", "Kingma and Ba", "Devlin 2018". A file's whole name always means it, as
        its arXiv id does; a name may be a description: "the sepsis paper".
        """
        files = self._files(text)
        words = list(islice(_WORD.finditer(text), MOST_WORDS))
        keys = [key_of(word.group()) for word in words]
        owners: dict[tuple[int, int], list[tuple[int, PaperName]]] = {}
        for at in range(len(words)):
            for length in range(1, min(LONGEST, len(words) - at) + 1):
                key = "".join(keys[at : at + length])
                if len(key) > self._longest + 1:  # a plural
                    break
                found = self._owners(key)
                if found:
                    owners[at, length] = found
        looked_up = {term for found in owners.values() for _, name in found for term in tokenize(name.name)}
        self._usage.count(looked_up, self._library)
        named: list[MentionedPaper] = []
        for at, length in sorted(owners, key=lambda place: (place[0], -place[1])):
            start, end = words[at].start(), words[at + length - 1].end()
            in_file = any(start < file.end and file.start < end for file in files)
            if not in_file and (not named or start >= named[-1].end):
                named += self._meant(text, start, end, owners[at, length])
        named += files
        for each in self._described(text):
            there = [one for one in named if each.start < one.end and one.start < each.end]
            if all(one.strength < LEAST_SURE for one in there):
                named = [*(one for one in named if one not in there), each]
        return tuple(sorted(named, key=lambda one: one.start))

    def _described(self, text: str) -> Iterator[MentionedPaper]:
        """The papers that "the … paper" describes."""
        for match in _DESCRIBED.finditer(text):
            paper_id = self.described_by(match[1])
            if paper_id is not None:
                whole = self._mentioned(paper_id, text, match.start(1), match.end(), DESCRIBED)
                yield replace(whole, name=match[1].strip())

    def described_by(self, words: str) -> int | None:
        """The paper that alone has most of the words in its title, file or author; rare ones weigh more."""
        told = [term for term in dict.fromkeys(terms(words.replace("-", " "))) if term not in _NOT_TELLING]
        weights: defaultdict[int, float] = defaultdict(float)
        having: defaultdict[int, int] = defaultdict(int)
        for term in told:
            for paper_id in self._by_term.get(term, ()):
                weights[paper_id] += 1 / len(self._by_term[term])
                having[paper_id] += 1
        best = max(weights.values(), default=0.0)
        fitting = [key for key in weights if weights[key] == best and having[key] >= MOST_OF_TOLD * len(told)]
        return fitting[0] if len(fitting) == 1 else None

    def _files(self, text: str) -> list[MentionedPaper]:
        """The papers that are named by their files: "bert_1810.04805.pdf"."""
        found = self.files_in(text)
        for match in _ARXIV.finditer(text):
            if not any(one.start <= match.start() < one.end for one in found):
                owners = self._by_term.get(match[0], ())
                found += [self._mentioned(paper_id, text, match.start(), match.end()) for paper_id in owners]
        return found

    def _owners(self, key: str) -> list[tuple[int, PaperName]]:
        """The names that a key means; else without a plural's s."""
        meant = key if key in self._by_key else key.removesuffix("s")
        papers = sorted(self._by_key.get(meant, ()), key=lambda paper_id: self._kept[paper_id].file)
        return [
            (paper_id, name) for paper_id in papers for name in self._kept[paper_id].names if key_of(name.name) == meant
        ]

    def _meant(self, text: str, start: int, end: int, owners: list[tuple[int, PaperName]]) -> list[MentionedPaper]:
        """The papers that a name at a place means, each once."""
        best: dict[int, tuple[float, int]] = {}
        for paper_id, name in owners:
            usage = self._usage.of(name, self._kept[paper_id].passages)
            strength, stop = strength_of(name, usage, text, start, end)
            if strength >= LEAST and strength > best.get(paper_id, (0.0, 0))[0]:
                best[paper_id] = strength, stop
        longest = max((stop for _, stop in best.values()), default=end)
        sharing = sum(stop == longest for _, stop in best.values())
        return [
            self._mentioned(paper_id, text, start, longest, strength / sharing)
            for paper_id, (strength, stop) in best.items()
            if stop == longest
        ]


# How surely a name at a place of a text means its paper: by how it is written there, by what stands beside it, and
# by who else uses the word.

SURELY_OWN = 3.0
"""A word so many times as frequent in a paper as elsewhere is its own; one as frequent elsewhere is nobody's."""
LONG = 5
"""Words of a title that names its paper whatever they are."""
SHAPED_AT_LEAST = 0.8
"""The least factor of usage of a name that is written as only names are, or before "paper": others use it because they
mean the paper."""
RARE, FEWEST_PASSAGES = 0.02, 500
"""A family name that a larger share of the passages has is a common word: "Page". A small library counts as larger."""
PART_OF_WORD = 0.5
"""Factor of a name that is a common word in small letters and a part of a longer one: "zero-shot"."""
_HYPHENS = ("-", "‐", "–")
ALONE, ALONE_OF_ONE = 0.5, 0.8
"""Strength of a family name without "et al.", a second author or a year: of several authors, of a single one."""
OF_FILE = 0.7
"""Strength of a file's name of one word that is written as names are, or before "paper": "HITS"."""
_PAPER_AFTER = re.compile(rf"[’']?s?\s++(?:[a-z]+\s++)?{NOUN}\b|\s++(?:algorithm|method|model|authors?)\b")
_BESIDE_AUTHOR = re.compile(
    r"(?:[’']s)?+,?+ ?+(et al\b\.?+|and (?:others|colleagues|co-?authors)|(?:and|&) ([^\W\d_][\w’'-]{1,30}+))?+"
    r"(?:[’']s)?+,?+ ?+[(\[]?+((?:19|20)\d\d\b)?+"
)


class Usage:
    """How often the passages of a library have the words of names."""

    def __init__(self) -> None:
        self._frequencies: dict[str, int] = {}
        self._passages = 0

    def count(self, terms: set[str], library: Store) -> None:
        """Look up how many passages of the library have each term."""
        if new := [term for term in terms if term not in self._frequencies]:
            known = library.keywords.frequencies(new)
            self._passages = known.passages
            self._frequencies |= known.having

    def of(self, name: PaperName, passages: int) -> float:
        """0 to 1: how far its use makes a name that of its paper, which has so many passages.

        A family name is one where few passages have it; a title, and a long part of one, always. Any other is the
        more its own the more frequent its words are in the paper than elsewhere, by the geometric mean of the ratios.
        """
        used = list(zip(dict.fromkeys(tokenize(name.name)), name.indexed, strict=False))
        if name.how in AUTHORS:
            having = max((self._frequencies[term] for term in tokenize(name.name)), default=self._passages)
            return 1.0 if having <= RARE * max(self._passages, FEWEST_PASSAGES) else 0.0
        if len(name.name.split()) >= {"title": 2, "short title": LONG}.get(name.how, LONGEST):
            return 1.0
        if not used:
            return 0.0
        others = max(self._passages - passages, 1)
        elsewhere = [(self._frequencies[term] - own) / others for term, own in used]
        unseen = 0.5 / max(others, FEWEST_PASSAGES)  # a small library counts as larger
        ratios = [own / passages / (one if one > 0 else unseen) for one, (_, own) in zip(elsewhere, used, strict=True)]
        least = SHAPED_AT_LEAST if name.how == "introduced" and is_shaped(name.name) else 0.0
        return max(least, min(1.0, (prod(ratios) ** (1 / len(ratios)) - 1) / (SURELY_OWN - 1)))


def strength_of(name: PaperName, usage: float, text: str, start: int, end: int) -> tuple[float, int]:
    """(strength, end) of a name at `text[start:end]`: 0 to 1, and where the words that belong to it end."""
    if name.how in AUTHORS:
        strength, stop = _as_author(name, text, start, end)
        return strength * (usage if stop == end else 1.0), stop
    if name.how == "file" and " " not in name.name:
        is_name = not _is_word(text[start:end]) or _PAPER_AFTER.match(text, end)
        return max(OF_FILE, name.base * usage) if is_name else 0.0, end
    usage = max(usage, SHAPED_AT_LEAST) if _PAPER_AFTER.match(text, end) else usage
    return name.base * usage * _case_factor(name.name, text, start, end), end


def _as_author(name: PaperName, text: str, start: int, end: int) -> tuple[float, int]:
    """A family name with the words beside it: who else, and the year."""
    second, *years = name.detail
    beside = _BESIDE_AUTHOR.match(text, end)
    others, other, year = (beside[1], beside[2], beside[3]) if beside else (None, None, None)
    is_beside = bool(others or year or _PAPER_AFTER.match(text, end))
    if not (text[start].isupper() or is_beside) or (year and years and year not in years):
        return 0.0, end
    is_second = bool(other and second) and key_of(other or "") == key_of(second)
    if beside is None or not (is_second or (others and not other) or (year and not others)):
        return (ALONE if name.how == AUTHORS[0] else ALONE_OF_ONE), end
    return name.base if years or not year else ALONE, len(text[: beside.end()].rstrip(" ,(["))


def _case_factor(name: str, text: str, start: int, end: int) -> float:
    """PART_OF_WORD where the text has a common word that is joined to another one, though the name has capitals."""
    is_part = not name.islower() and text[end : end + 1] in _HYPHENS and _is_word(text[start:end])
    return PART_OF_WORD if is_part else 1.0


def _is_word(written: str) -> bool:
    """Whether a common word is written in small letters."""
    from ragscience.models.minilm import common_words

    return written.islower() and written in common_words()
