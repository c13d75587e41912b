"""What the library is about: its papers in groups, with the terms that tell each group from the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ragscience.ask.paper_conditions import year_of
from ragscience.ask.papers_meant import counted, label, listed
from ragscience.ask.question_words import bare
from ragscience.ask.route_records import RouteContext, Routed
from ragscience.core.records import Block, Paper

if TYPE_CHECKING:
    from ragscience.ask.paper_groups import PaperGroup

__all__ = ["answer"]

_MINE = r"(?:my|the|this|our) (?:paper )?(?:library|papers|pdfs|collection|documents)|these (?:papers|pdfs|documents)"
_ABOUT = re.compile(
    rf"(?:what(?: is|['’]s| are| do| does)? (?:{_MINE})(?: all)? (?:about|on|cover|contain|deal with)|"
    rf"what (?:topics?|subjects?|fields?|areas?|themes?)(?: (?:do|does|are|is|of research))*(?: in| of|"
    rf" covered (?:by|in))? (?:{_MINE})(?: (?:cover|about|on|deal with|have|contain))?|"
    rf"what (?:topics?|subjects?|fields?|areas?) (?:are|is)(?: there| covered| treated)? (?:in|by) (?:{_MINE})|"
    rf"what(?: is|['’]s| do i have| kinds? of papers (?:are|do i have))?(?: there)? in (?:my|the|this) (?:library|"
    rf"collection)|"
    rf"(?:give me |show me )?an? (?:overview|summary|description) of (?:{_MINE})|(?:describe|summari[sz]e|"
    rf"overview of) (?:(?:my|the|this|our) (?:paper )?(?:library|collection)|my papers))",
    re.IGNORECASE,
)
_ASKABLE = re.compile(
    rf"what (?:can|could|should|may) (?:i|we) ask(?: you)?(?: (?:about|of|here))?(?: (?:{_MINE}))?|"
    r"what (?:kinds? of )?questions (?:can|could) (?:i|you) (?:ask|answer)(?: you)?(?: about .{1,40})?|"
    r"what can you (?:answer|tell me)(?: about .{1,40})?",
    re.IGNORECASE,
)
_MOST_LISTED = 30
_MOST_OF_GROUP = 3
"""Papers that are named of each group of a library with more than _MOST_LISTED."""


def answer(question: str, context: RouteContext) -> Routed | None:
    """The library in groups of papers, or what can be asked of it; None for other questions."""
    text = bare(question)
    if _ASKABLE.fullmatch(text):
        return _askable(context)
    if not _ABOUT.fullmatch(text) or not context.papers:
        return None
    from ragscience.ask.paper_groups import groups_of

    groups = groups_of(context)
    every = len(context.papers) <= _MOST_LISTED
    blocks = [Block("text", _counts(context.papers))]
    for group in groups:
        blocks.append(Block("heading", _called(group)))
        shown = group.papers if every else group.papers[:_MOST_OF_GROUP]
        blocks += [Block("item", f"{label(paper)} · {paper.file}") for paper in shown]
        if len(shown) < len(group.papers):
            blocks.append(Block("item", f"and {len(group.papers) - len(shown):,} more"))
    note = f"Grouped {counted(len(context.papers), 'paper')} by how alike their passages are."
    return Routed("library", note, tuple(blocks))


def _counts(papers: tuple[Paper, ...]) -> str:
    years = sorted(year for year in (year_of(paper)[0] for paper in papers) if year)
    span = f", from {years[0]} to {years[-1]}" if years and years[0] < years[-1] else ""
    pages = counted(sum(paper.pages for paper in papers), "page")
    return f"{counted(len(papers), 'paper')} with {pages}{span}. In groups, with the words that stand out in each:"


def _called(group: PaperGroup) -> str:
    return f"{', '.join(group.terms) or 'Others'} ({counted(len(group.papers), 'paper')})"


def _askable(context: RouteContext) -> Routed:
    """Kinds of questions, each with an example of this library."""
    from ragscience.ask.paper_groups import groups_of

    papers = [paper for paper in context.papers if paper.metadata.authors] or list(context.papers)
    if not papers:
        return Routed("library", "The library is empty.", (Block("text", "The library has no papers."),))
    groups = groups_of(context)
    terms = [term for group in groups for term in group.terms[:1]] or ["dropout"]
    one, other = papers[0], papers[-1]
    titles = [label(paper, year=False).partition(":")[0] for paper in (one, other)]
    author = one.metadata.authors[0].split()[-1] if one.metadata.authors else ""
    year = next((year_of(paper)[0] for paper in papers if year_of(paper)[0]), None)
    examples = (
        ("what a paper says", f"What does {titles[0]} say about {terms[0]}?"),
        ("a summary", f"Summarize {titles[1]}"),
        ("a table, figure, equation or section", f"What does Table 1 of {titles[0]} report?"),
        ("which papers have something", f"Which papers mention {terms[-1]}?"),
        ("two papers side by side", f"Compare {titles[0]} and {titles[1]}"),
        ("who, when and where", f"Which papers are by {author}?" if author else f"Who wrote {titles[0]}?"),
        ("by year", f"Which papers are from {year}?" if year else "What is the newest paper?"),
        ("the library", "What is my library about?"),
        ("the program", "How do I add a paper?"),
    )
    about = listed([group.terms[0] for group in groups if group.terms])
    blocks = [
        Block("text", f"Anything that the {counted(len(context.papers), 'paper')} may say, on {about}. For example:")
    ]
    blocks += [Block("item", f"{kind}: “{text}”") for kind, text in examples]
    return Routed("library", "Made examples from the papers of the library.", tuple(blocks))
