"""Which papers of the library a question is about: by name, by a description, or because there is only one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.ask.router import RouteContext
from ragscience.core.records import Citation, Filters, Paper, title_of
from ragscience.core.tokenizing import terms, tokenize
from ragscience.library.filter_selection import match_papers
from ragscience.library.store import Store

if TYPE_CHECKING:
    from ragscience.ask.router import RouteContext

__all__ = [
    "PRONOUN",
    "AskedPapers",
    "bare",
    "carried",
    "counted",
    "first_named",
    "is_only_name",
    "label",
    "listed",
    "once",
    "papers_meant",
    "printed_at",
    "says_paper",
    "short_label",
    "terms_of",
]

_FILLER = frozenset(
    """
    the a an this that these those my our their its paper papers article articles publication study preprint manuscript
    work works pdf file report thesis original by of on about for from in called titled named entitled et al and s
    """.split()  # noqa: SIM905  # a list of forty strings reads worse
)
_PAPER = re.compile(
    r"\b(?:papers?|articles?|pdfs?|publications?|preprints?|manuscripts?|stud(?:y|ies)|thesis)\b", re.IGNORECASE
)
_LONGEST_NAME = 40
_MOST_BY_TITLE = 3
"""Words that more titles than these have in common name none of them."""


def papers_meant(text: str, context: RouteContext) -> tuple[Paper, ...]:
    """The papers within the filters that the text names and nothing besides; empty where it says more, or names none.

    A text that names no paper may have words of its title: "the sepsis paper".
    """
    named, rest = _named(text, context)
    if named:
        return () if _content(rest) else tuple(paper for paper in context.papers if paper.paper_id in named)
    words = set(tokenize(" ".join(_content(text))))
    if not words or not says_paper(text):
        return ()
    having = [paper for paper in context.papers if words <= set(tokenize(f"{title_of(paper)} {Path(paper.file).stem}"))]
    return tuple(having) if len(having) <= _MOST_BY_TITLE else ()


def first_named(text: str, context: RouteContext) -> tuple[Paper, ...]:
    """The papers within the filters that the first name in the text means, whatever else it says."""
    found = context.names.in_text(text)
    first = [name for name in found if name.start == found[0].start]
    most = max((name.strength for name in first), default=0.0)
    named = {name.paper_id for name in first if name.strength >= most}
    return tuple(paper for paper in context.papers if paper.paper_id in named)


def is_only_name(text: str, context: RouteContext) -> bool:
    """Whether the text is the name of a paper, and nothing besides."""
    named, rest = _named(text, context)
    return bool(named) and not _content(rest)


def says_paper(text: str) -> bool:
    """Whether the text speaks of a paper by that word."""
    return bool(_PAPER.search(text)) or ".pdf" in text.casefold()


def _named(text: str, context: RouteContext) -> tuple[set[int], str]:
    """The ids of the papers that the text names, those of each name that it means most; and the rest of the text."""
    found = context.names.in_text(text)
    best: dict[tuple[int, int], float] = {}
    for name in found:
        best[name.start, name.end] = max(best.get((name.start, name.end), 0.0), name.strength)
    rest, at = [], 0
    for start, end in sorted(best):
        rest.append(text[at:start])
        at = max(at, end)
    rest.append(text[at:])
    ids = {name.paper_id for name in found if name.strength >= best[name.start, name.end]}
    return ids, " ".join(rest).replace(".pdf", " ")


def _content(text: str) -> list[str]:
    words = re.findall(r"[^\W_]++", text.casefold())
    return [word for word in words if word not in _FILLER]


def label(paper: Paper, *, year: bool = True) -> str:
    """`Title (2017)`; the file's name where the title is not known."""
    title = " ".join(title_of(paper).split()) or paper.file
    return f"{title} ({paper.metadata.year})" if year and paper.metadata.year else title


def short_label(paper: Paper) -> str:
    """`BERT (2019)`: the title up to its colon, where it has one soon, with the year."""
    title = label(paper, year=False)
    name, colon, _ = title.partition(":")
    year = f" ({paper.metadata.year})" if paper.metadata.year else ""
    return f"{name if colon and len(name) <= _LONGEST_NAME else title}{year}"


def counted(number: int, noun: str) -> str:
    """`1 paper`, `1,200 papers`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(items: Sequence[str], joint: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f"{', '.join(items[:-1])} {joint} {items[-1]}" if len(items) > 1 else "".join(items)


def printed_at(library: Store, paper: Paper, words: Iterable[str]) -> tuple[Citation, ...]:
    """The line of the paper's first page that has the first of the words that it has at all; empty without any."""
    page = next((page for page in library.contents(paper.paper_id).pages if page.number == 1), None)
    if page is None:
        return ()
    text = library.contents(paper.paper_id).text(1)
    for word in words:
        at = text.find(word) if word else -1
        if at < 0:
            continue
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        span = page.start + start, page.start + end
        boxes = library.contents(paper.paper_id).boxes(1, *span)
        return (Citation(paper.file, 1, " ".join(text[start:end].split()), True, paper.path, *span, boxes),)
    return ()


_POLITE = re.compile(
    r"(?:(?:please|hi|hello|hey|ok(?:ay)?|so|and|but|then|now|also|well|just|thanks|i (?:want|would like|need) to know|"
    r"i ?['’]?d like to know|i wonder|(?:can|could|would|will) you (?:please )?(?:tell|show|give|list|find|"
    r"name)(?: me)?|"
    r"do you know|tell me|show me|give me|let me know|quickly)(?:\s|,)++)++",
    re.IGNORECASE,
)
_END = re.compile(r"[\s?.!,;]++(?:(?:please|thanks|thank you|exactly|then|again|for me)[\s?.!]*+)?+$", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:who|when|where|what|which|how|does|do|did|is|are|list|cite|bibtex)\b", re.IGNORECASE)
PRONOUN = re.compile(r"(?:it|its|the|their|they|them|this|that|these|those|he|she)(?: one)?", re.IGNORECASE)
"""What stands for a thing that was named before."""


def bare(question: str) -> str:
    """The question on one line, without polite words before it and marks behind it."""
    text = _END.sub("", " ".join(question.split()) + " ")
    polite = _POLITE.match(text)
    return text[polite.end() :] if polite and polite.end() < len(text) else text


def carried(question: str) -> tuple[str, str]:
    """(what stands before the word that asks, the question from there): a rewritten follow-up begins with names."""
    asks = _ASKS.search(question)
    return (question[: asks.start()].strip(), question[asks.start() :]) if asks else ("", question)


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
