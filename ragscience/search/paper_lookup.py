"""Which papers are meant by what a person types: the one rule of every command, filter, tool and question file.

What is typed is a paper's listed name, path or MD5, which means that paper alone; else a part of its file's name or of
its title, a pattern with `*`, or what the paper calls itself ("BERT", "Devlin et al."), in any case.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath

from ragscience.core.errors import NothingFound, RagScienceError, UsageError
from ragscience.core.records import Paper, title_of
from ragscience.core.tokenizing import some_of
from ragscience.library.filter_selection import fold, no_such_paper, papers_exactly, papers_fitting
from ragscience.library.store import Store
from ragscience.search.names import MentionedPaper, PaperNames

_SURE = 0.7
"""Strength from which a name that is all of what was typed means its paper rather than others that also fit."""
_LISTED = 10
"""How many papers an error names."""


def find_papers(library: Store, patterns: Sequence[str]) -> list[Paper]:
    """The papers that the patterns fit, each once. Raises NothingFound, with similar names, for one that fits none."""
    papers, found = library.papers(), dict[int, Paper]()
    for pattern in patterns:
        fitting = papers_matching(library, pattern, papers)
        if not fitting:
            raise _no_such_paper(library, papers, pattern)
        found |= {paper.paper_id: paper for paper in fitting}
    return list(found.values())


def find_paper(library: Store, pattern: str) -> Paper:
    """The one paper that is meant; of several that fit, the one of which `pattern` is a whole name.

    Raises NothingFound where none fits, UsageError, which names them, where several do.
    """
    found = find_papers(library, [pattern])
    whole = found if len(found) == 1 else _by_whole_name(library, found, pattern)
    if len(whole) == 1:
        return whole[0]
    listed = some_of([paper.file for paper in found], _LISTED)
    raise UsageError(f"{len(found):,} papers match {pattern!r}: {listed}.", "Give more of the name.")


def papers_matching(library: Store, pattern: str, papers: Sequence[Paper] | None = None) -> list[Paper]:
    """The papers that a pattern fits, in their order; none where none does. Without `papers` those of the library."""
    papers = library.papers() if papers is None else papers
    exact = papers_exactly(papers, pattern)
    if exact:
        return exact
    ids = {paper.paper_id for paper in papers_fitting(papers, pattern)}
    ids |= {named.paper_id for named in _named(library, pattern)}
    return [paper for paper in papers if paper.paper_id in ids]


def _by_whole_name(library: Store, found: Sequence[Paper], pattern: str) -> list[Paper]:
    """Those whose title, file's name without its suffix, or own name the pattern is."""
    wanted = fold(pattern.strip())
    sure = {named.paper_id for named in _named(library, pattern) if named.strength >= _SURE}
    titled = [paper for paper in found if wanted in (fold(title_of(paper)), fold(PurePath(paper.path).stem))]
    return titled or [paper for paper in found if paper.paper_id in sure]


def _named(library: Store, pattern: str) -> list[MentionedPaper]:
    """The papers that call themselves just that; none where their names cannot be read."""
    try:
        return [named for named in PaperNames.of(library).in_text(pattern) if named.name == pattern.strip()]
    except RagScienceError:
        return []


def _no_such_paper(library: Store, papers: Sequence[Paper], pattern: str) -> NothingFound:
    called: list[tuple[str, Paper]] = []
    with suppress(RagScienceError):
        names = PaperNames.of(library)
        called = [(name.name, paper) for paper in papers for name in names.of_paper(paper.paper_id)]
    return no_such_paper(pattern, papers, called)
