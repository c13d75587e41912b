"""What the filters of a question leave: the papers that they name, and whether any passage is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.core.errors import NothingFound
from ragscience.core.records import Filters
from ragscience.engine.requests import described
from ragscience.library.filter_selection import did_you_mean, fold, is_in_section, papers_fitting
from ragscience.search.paper_lookup import papers_matching

if TYPE_CHECKING:
    from ragscience.library.store import Store


_NUMBER = "0123456789. "
"""What a heading may begin with."""
_HEADINGS = "`python ingest.py show PAPER` lists a paper's headings."


def filters_by_name(library: Store, filters: Filters) -> Filters:
    """The same filters, with the files of papers that only their own names lead to beside the patterns or for them."""
    if not filters.papers:
        return filters
    papers, patterns = library.papers(), list[str]()
    for pattern in filters.papers:
        plain = papers_fitting(papers, pattern)
        named = [paper for paper in papers_matching(library, pattern, papers) if paper not in plain]
        patterns += [pattern] if plain or not named else []
        patterns += [paper.file for paper in named]
    return replace(filters, papers=tuple(dict.fromkeys(patterns)))


def check_filters(library: Store, filters: Filters) -> None:
    """Raise NothingFound where filters leave no passage, or have a paper, author, year or heading that is not there.

    Nothing is checked of an empty library.
    """
    if filters == Filters() or not library.about.chunks:
        return
    if filters.sections:
        _check_sections(library.section_names(), filters.sections)
    allowed = library.select(filters_by_name(library, filters))
    if allowed is None or allowed.size:
        return
    hint = "Give fewer filters, or others."
    if not filters.kinds:
        references = library.select(filters_by_name(library, replace(filters, kinds=("reference",))))
        if references is not None and references.size:
            hint = "Only references match; --kind reference searches them."
    raise NothingFound(f"No passage fits the filters: {described(filters)}.", hint)


def _check_sections(names: Sequence[str], parts: Sequence[str]) -> None:
    """Raise NothingFound where none of the parts is in a heading."""
    if any(is_in_section(fold(part), fold(name)) for part in parts for name in names):
        return
    headings = {fold(heading.lstrip(_NUMBER)) for name in names for heading in name.split(" › ")}
    hint = did_you_mean(parts[0], {heading: heading for heading in sorted(headings)})
    said = " or ".join(map(repr, parts))
    raise NothingFound(f"No heading has {said}.", f"{hint} {_HEADINGS}".strip())
