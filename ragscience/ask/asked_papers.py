"""Which papers of the library a question is about: by name, by a description, or because there is only one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.records import Filters, Paper, title_of
from ragscience.core.tokenizing import terms
from ragscience.library.paper_patterns import match_papers

if TYPE_CHECKING:
    from ragscience.ask.route_records import RouteContext

__all__ = ["AskedPapers", "once", "terms_of"]

_MARK = "@"
"""Stands for the name of a paper, with its number behind it."""
_NUMBERED_MARK = re.compile(_MARK + r"(\d{1,2})(?!\d)")
_POINTS = re.compile(
    r"(?:this|the|that|my|our)?\s?(?:paper|article|study|work|preprint|manuscript|pdf|document|it|its authors?)",
    re.IGNORECASE,
)
_AROUND = frozenset(
    """
    the a an this that these those paper papers article articles study studies work works authors author original
    preprint report meta-analysis review survey trial and or both of in by from s to with versus vs et al
    model method pdf
    """.split()  # noqa: SIM905
)
_NO_WORD = re.compile(r"[\W_\d]+")
_NEARLY_ALL = 0.7
"""Share of a description's terms."""
_QUESTION_WORDS = frozenset(("how", "why", "what", "which", "when", "where", "whether", "who"))
_KIND_OF_PAPER = re.compile(
    r"\b(?:paper|article|study|preprint|report|meta-?analysis|review|survey|trial|manuscript)s?\b", re.IGNORECASE
)
_DESCRIBED = re.compile(
    r"\b(?:of|in|from) (?:the )?[^@?.]{3,120}?\b(?:paper|article|study|meta-?analysis|review|survey|trial)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]++(?:[-’'][^\W_]++)*+")


@dataclass(frozen=True)
class AskedPapers:
    """A question with its papers."""

    question: str
    """Where a paper is named, "@0" stands for the first one, "@1" for the second."""
    papers: tuple[Paper, ...]
    """Those that it names, in its order, each once for every name."""
    library: tuple[Paper, ...]
    """Those that it may be about: all that the filters leave."""

    @classmethod
    def of(cls, question: str, context: RouteContext) -> AskedPapers:
        """The papers that a question names. Raises NothingFound for filters that fit no paper."""
        allowed = _allowed(context.library.papers(), context.filters)
        by_id = {paper.paper_id: paper for paper in allowed}
        places: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for named in context.names.in_text(question):
            if named.paper_id in by_id:
                places.setdefault((named.start, named.end), []).append((named.strength, named.paper_id))
        papers: list[Paper] = []
        marked, at = "", 0
        for (start, end), fitting in sorted(places.items()):
            best = max(strength for strength, _ in fitting)
            meant = [paper_id for strength, paper_id in fitting if strength == best]
            if start >= at and len(meant) == 1:
                marked += f"{question[at:start]}{_MARK}{len(papers)}"
                papers.append(by_id[meant[0]])
                at = end
        marked += question[at:]
        return cls(" ".join(marked.split()), tuple(papers), tuple(allowed))

    def meant_by(self, words: str) -> tuple[Paper, ...]:
        """The papers that these words of `question` mean and say nothing else; none where they say more.

        They may be names ("the @0 paper and @1"), "this paper" where there is only one, or a description whose words
        are all in the title of one paper alone.
        """
        numbers = [int(number) for number in _NUMBERED_MARK.findall(words)]
        left = [word for word in _WORD.findall(_NUMBERED_MARK.sub(" ", words)) if word.casefold() not in _AROUND]
        if any(word.casefold() in _QUESTION_WORDS for word in left):
            return ()
        if numbers:
            named = once(self.papers[n] for n in numbers if n < len(self.papers))
            titles = {term for paper in named for term in terms(title_of(paper))}
            return named if {term for word in left for term in terms(word)} <= titles else ()
        if _POINTS.fullmatch(words.strip()):
            return self.library if len(self.library) == 1 else ()
        by_stem = [
            paper for paper in self.library if paper.file.rpartition(".")[0].casefold() == words.strip().casefold()
        ]
        if len(by_stem) == 1:
            return (by_stem[0],)
        described = {term for word in left for term in terms(word)}
        is_enough = len(described) >= 3 or (described and _KIND_OF_PAPER.search(words))
        return self.fitting(described, _NEARLY_ALL) if is_enough else ()

    def fitting(self, described: set[str], least: float = 1.0) -> tuple[Paper, ...]:
        """The one paper whose title, file name and authors have the most of the terms, and that share of them."""
        if not described:
            return ()
        shares = [(len(described & terms_of(paper)) / len(described), paper) for paper in self.library]
        most = max((share for share, _ in shares), default=0.0)
        best = [paper for share, paper in shares if share == most]
        return (best[0],) if most >= least and len(best) == 1 else ()

    def described(self) -> tuple[Paper, ...]:
        """The paper that the question describes as "… the sepsis paper"; empty for none."""
        return next(filter(None, (self.meant_by(match.group()) for match in _DESCRIBED.finditer(self.question))), ())

    def without_names(self, words: str) -> str:
        """`words` of `question` without the names of papers."""
        return _NUMBERED_MARK.sub(" ", words)


def terms_of(paper: Paper) -> set[str]:
    """The terms of a paper's title, file name and authors."""
    file = _NO_WORD.sub(" ", paper.file.rpartition(".")[0])
    return set(terms(" ".join((title_of(paper), file, *paper.metadata.authors))))


def once(papers: Iterable[Paper]) -> tuple[Paper, ...]:
    """Each paper once."""
    return tuple({paper.paper_id: paper for paper in papers}.values())


def _allowed(papers: list[Paper], filters: Filters) -> list[Paper]:
    if filters.papers:
        fitting = match_papers(papers, filters.papers)
        papers = [paper for paper in papers if paper.paper_id in fitting]
    if filters.paper_ids:
        papers = [paper for paper in papers if paper.paper_id in filters.paper_ids]
    return papers
