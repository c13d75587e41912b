"""Turns filters and patterns of names into papers, and into the ids of the chunks that a search may find."""

import fnmatch
import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from ragscience.core.errors import NothingFound
from ragscience.core.paper_records import years_of
from ragscience.core.records import ASKED_KINDS, Filters, Paper, title_of
from ragscience.core.serialization import slashed
from ragscience.library.dense_index import Ids
from ragscience.library.snapshots import Database, Snapshot
from ragscience.reading.text_cleaning import plain_letters

_ALIKE = 75.0
"""The least likeness of a suggested name, 0 to 100."""
_MUCH_LESS = 10.0
"""A name that is so much less alike than the best one is no suggestion."""
_LEAST_CHARS = 3
"""Shorter words are like too many names."""
_SUGGESTED = 3


def match_papers(papers: Sequence[Paper], patterns: Sequence[str]) -> set[int]:
    """The ids of the papers that any pattern fits. Raises NothingFound, with similar names, for one that fits none."""
    found: set[int] = set()
    for pattern in patterns:
        fitting = papers_fitting(papers, pattern)
        if not fitting:
            raise no_such_paper(pattern, papers)
        found.update(paper.paper_id for paper in fitting)
    return found


def papers_fitting(papers: Sequence[Paper], pattern: str) -> list[Paper]:
    """The papers that a pattern fits, in their order; case is ignored where it tells no two papers apart.

    A paper's listed name, MD5, path or citation key means that paper alone; so does a pattern with a slash that is the
    end of its path, cut at a folder. Any other is a shell pattern for the file's name, its path or its title, or a part
    of name or title; with a slash in it, a part of the path. An empty pattern fits none.
    """
    if not pattern.strip():
        return []
    folded = fold(pattern)
    return papers_exactly(papers, pattern) or [paper for paper in papers if _fits(folded, paper)]


def papers_exactly(papers: Sequence[Paper], pattern: str) -> list[Paper]:
    """The papers whose listed name, MD5, path or citation key it is; more than one only where case tells none apart."""
    full, folded = os.path.abspath(pattern), fold(pattern)  # noqa: PTH100  # as find_pdfs does

    def named(wanted: str, *names: str) -> bool:
        return wanted in names or ("/" in wanted and names[0].endswith(f"/{wanted}"))

    def key(paper: Paper) -> str:  # a supplement has that of its paper
        return paper.md5 if paper.metadata.part else fold(paper.metadata.citation_key) or paper.md5

    return [paper for paper in papers if named(pattern, paper.path, paper.file) or paper.path == full] or [
        paper for paper in papers if named(folded, fold(paper.path), fold(paper.file), paper.md5, key(paper))
    ]


def _fits(pattern: str, paper: Paper) -> bool:
    name, path = fold(PurePath(paper.path).name), fold(paper.path)
    titles = {fold(paper.title), fold(title_of(paper))}
    if any(pattern in text for text in ((path,) if "/" in pattern else (name, *titles))):
        return True
    return any(fnmatch.fnmatchcase(text, pattern) for text in (name, fold(paper.file), path, *titles))


def no_such_paper(pattern: str, papers: Sequence[Paper], called: Iterable[tuple[str, Paper]] = ()) -> NothingFound:
    """The error for a pattern that fits none of `papers`; `called` are more names that may have been meant."""
    names = {text: paper.file for text, paper in called}
    for paper in papers:
        names |= dict.fromkeys((paper.file, PurePath(paper.path).stem, title_of(paper)), paper.file)
    hint = did_you_mean(pattern, names)
    return NothingFound(f"No paper matches {pattern!r}.", f"{hint} `python ingest.py list` shows all papers.".strip())


def did_you_mean(wanted: str, names: dict[str, str]) -> str:
    """`Did you mean a.pdf or b.pdf?`: what those of `names` stand for that have words most like `wanted`, else ""."""
    from rapidfuzz import fuzz

    folded = fold(wanted.strip())
    best: dict[str, float] = {}
    for name, shown in names.items():
        text = fold(name)
        alike = fuzz.partial_ratio(folded, text) if len(text) >= len(folded) else fuzz.ratio(folded, text)
        if alike >= _ALIKE and len(folded) >= _LEAST_CHARS:
            best[shown] = max(alike, best.get(shown, 0.0))
    least = max(best.values(), default=0.0) - _MUCH_LESS
    near = sorted((shown for shown in best if best[shown] > least), key=lambda shown: -best[shown])[:_SUGGESTED]
    return f"Did you mean {', '.join(near[:-1])}{' or ' if near[1:] else ''}{near[-1]}?" if near else ""


def fold(text: str) -> str:
    """For comparing names and paths: ignoring case, and how accents are encoded; with "/" between folders."""
    return unicodedata.normalize("NFC", slashed(text)).casefold()


_NUMBER = re.compile(r"\d+(?:\.\d+)*\.?")


def is_in_section(part: str, section: str) -> bool:
    """Whether a part of a heading is in a passage's headings, both folded; "3" is in "3.1 Data", not in "5.3"."""
    if not _NUMBER.fullmatch(part):
        return part in section
    headings = (name.removeprefix("section ").removeprefix("appendix ") for name in section.split(" › "))
    numbers = (found.group().rstrip(".") for name in headings if (found := _NUMBER.match(name)))
    return any(f"{number}.".startswith(f"{part.rstrip('.')}.") for number in numbers)


EVERY_KIND = "all"
"""In `Filters.kinds`: every kind, references and figures included."""
_LAST_YEAR = 9999
_KNOWN = "`python ingest.py show PAPER` shows a paper's {}."
_FILTERS_KEPT = 4
"""Filters whose passages stay in memory until the library changes."""


class Selecting:
    """The filters of one library; keeps the latest selections until the library changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._chosen: dict[tuple[int, Filters], Ids | None] = {}

    def select(self, filters: Filters) -> Ids | None:
        """The ids of the passages that `filters` allows, ascending, int64; None if it allows all. Do not change them.

        Raises NothingFound for a paper pattern, an author or a span of years that fits no paper.
        """
        with self._database.now() as at:
            if not at.listing.rows:
                if filters.papers:
                    raise NothingFound(f"No paper matches {filters.papers[0]!r}.", "The library has no papers yet.")
                return None
            key = (at.version, filters)
            kept = dict(self._chosen)
            chosen = kept.pop(key) if key in kept else _select(at, filters)
            self._chosen = dict([*kept.items(), (key, chosen)][-_FILTERS_KEPT:])  # a search asks for some several times
            return chosen

    def section_names(self) -> list[str]:
        """The headings above each passage, outermost first, each once: "3 Model › 3.2 Attention"."""
        with self._database.now() as at:
            return list(dict.fromkeys(name for _, outline in at.outlines(at.listing.rows) for name in outline.section))


def _select(at: Snapshot, filters: Filters) -> Ids | None:
    kinds = {fold(kind) for kind in filters.kinds}
    is_of_papers = replace(filters, pages=None, kinds=(), sections=(), paper_ids=()) != Filters()
    paper_ids = papers_allowed(at.papers() if is_of_papers else (), filters)
    if filters.pages or filters.sections or (kinds and EVERY_KIND not in kinds):
        return _by_passage(at, filters, at.listing.rows.keys() if paper_ids is None else paper_ids, kinds)
    if kinds:
        return None if paper_ids is None else at.listing.chunk_ids_of(paper_ids)
    return at.listing.unasked if paper_ids is None else at.listing.unasked_of(paper_ids)


def _by_passage(at: Snapshot, filters: Filters, paper_ids: Collection[int], kinds: set[str]) -> Ids:
    """The filters that need a look at each passage: pages, kinds (folded), sections; within the papers."""
    first, last = filters.pages or (0, 0)
    parts = [fold(part) for part in filters.sections]
    fits: dict[str, bool] = {}

    def is_in(section: str) -> bool:
        if section not in fits:
            fits[section] = any(is_in_section(part, fold(section)) for part in parts)
        return fits[section]

    found = []
    for first_chunk, outline in at.outlines(paper_ids):
        rows = zip(outline.page_start, outline.page_end, outline.kind, outline.section, strict=True)
        found += [
            first_chunk + number
            for number, (start, end, kind, section) in enumerate(rows)
            if (not filters.pages or (start <= last and end >= first))
            and (kind not in ASKED_KINDS if not kinds else EVERY_KIND in kinds or fold(kind) in kinds)
            and (not parts or is_in(section))
        ]
    return np.array(found, np.int64)


def papers_allowed(papers: Sequence[Paper], filters: Filters) -> set[int] | None:
    """The ids of the papers that the filters of papers leave together; None if none of these is set.

    Raises NothingFound for a paper pattern, an author, a span of years or a collection that fits no paper.
    """
    groups: list[set[int]] = []
    if filters.papers:
        groups.append(match_papers(papers, filters.papers))
    if filters.paper_ids:
        groups.append(set(filters.paper_ids))
    if filters.years:
        groups.append(_of_years(papers, *filters.years))
    labels = {"author": filters.authors, "collection": filters.collections, "tag": filters.tags}
    for name, wanted in (labels | {"type": filters.item_types}).items():
        if wanted:
            groups.append(_labelled(papers, name, wanted))
    return set.intersection(*groups) if groups else None


def _of_years(papers: Sequence[Paper], first: int, last: int) -> set[int]:
    found = {paper.paper_id for paper in papers if any(first <= year <= last for year in years_of(paper))}
    if not found:
        years = sorted({year for paper in papers for year in years_of(paper)})
        have = f"The papers are from {years[0]} to {years[-1]}." if years else "No paper has a known year."
        span = str(first) if first == last else f"{first} to {last}" if last < _LAST_YEAR else f"{first} or later"
        raise NothingFound(f"No paper is of {span}.", f"{have} {_KNOWN.format('authors and year')}")
    return found


def _labels(paper: Paper, name: str) -> tuple[str, ...]:
    """A paper's authors, collections, tags, or its type of item."""
    known = paper.metadata
    every = {"author": known.authors, "collection": known.collections, "tag": known.tags, "type": (known.item_type,)}
    return every[name]


def _labelled(papers: Sequence[Paper], name: str, wanted: Sequence[str]) -> set[int]:
    """The papers with any of the labels; a part of an author's or a collection's name is enough."""
    plain, is_part = plain_name if name == "author" else fold, name in ("author", "collection")
    labels = [(paper.paper_id, text, plain(text)) for paper in papers for text in _labels(paper, name) if text]
    found: set[int] = set()
    for label in wanted:
        part = plain(label.strip())
        fitting = {paper_id for paper_id, _, text in labels if (part in text if is_part else part == text)}
        if not fitting:
            hint = did_you_mean(label, {text: text for _, text, _ in labels})
            article, known = ("an", "authors and year") if name == "author" else ("the", "collections and tags")
            fix = f"{hint} {_KNOWN.format(known)}".strip()
            raise NothingFound(f"No paper has {article} {name} {label!r}.", fix)
        found |= fitting
    return found


def plain_name(name: str) -> str:
    """Ignoring case, accents and repeated spaces."""
    return " ".join(plain_letters(name).split())
