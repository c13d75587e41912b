"""What the library is about: its papers in groups, with the terms that tell each group from the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.ask.intents import help_topics
from ragscience.ask.route_records import RouteContext, Routed, label, listed, year_of
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import counted_places
from ragscience.core.records import Block, Paper, title_of
from ragscience.core.tokenizing import STOP_WORDS, counted, joined_lines, tokenize

_LEAST_ALIKE = 0.2
"""Cosine, without what all papers have in common, from which on two papers are joined."""
_MOST_TERMS = 4
_MOST_READ = 1_000
"""Papers whose abstracts are read for their words."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SAY_NOTHING = frozenset(
    """
    paper work show present propose new novel based using use used approach method results result model task system
    large performance improve data problem study two one three many several different high better best well first
    also however given set state art across recent dataset learning training provide abstract introduction
    university department author like make accuracy email number time simple including without toward research
    google conference published
    """.split()  # noqa: SIM905  # a list of eighty strings reads worse
)


@dataclass(frozen=True, slots=True)
class PaperGroup:
    """Papers that are alike."""

    terms: tuple[str, ...]
    """Words that stand out in them, the most telling first."""
    papers: tuple[Paper, ...]
    """The nearest to the group's middle first."""


def groups_of(context: RouteContext) -> list[PaperGroup]:
    """The papers within the filters in groups, the largest first, by the means of their passages' vectors (Louvain)."""
    import numpy as np
    from networkx import Graph
    from networkx.algorithms.community import louvain_communities

    from ragscience.graph.paper_map import paper_map

    wanted = {paper.paper_id for paper in context.papers}
    known = paper_map(context.library)
    rows = [row for row, paper in enumerate(known.papers) if paper.paper_id in wanted]
    if not rows:
        return []
    means = known.means[rows]
    apart = means - means.mean(axis=0) if len(rows) > 2 else means
    apart /= np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-9)
    cosines = apart @ apart.T
    joined: Graph[int] = Graph()
    joined.add_nodes_from(range(len(rows)))
    for one, other in zip(*np.nonzero(np.triu(cosines >= _LEAST_ALIKE, 1)), strict=True):
        joined.add_edge(int(one), int(other), weight=float(cosines[one, other]))
    found = [sorted(each) for each in louvain_communities(joined, seed=0)]
    groups = []
    for members in sorted(found, key=lambda each: (-len(each), each)):
        middle = apart[members].mean(axis=0)
        groups.append([known.papers[rows[row]] for row in sorted(members, key=lambda row: -float(apart[row] @ middle))])
    terms = _telling(groups, context)
    return [PaperGroup(words, tuple(group)) for words, group in zip(terms, groups, strict=True)]


def _telling(groups: Sequence[Sequence[Paper]], context: RouteContext) -> list[tuple[str, ...]]:
    """For each group the words of its titles and abstracts that its papers share and others lack."""
    every = [paper for group in groups for paper in group][:_MOST_READ]
    of_paper = {paper.paper_id: _words(paper, context) for paper in every}
    everywhere = Counter(stem for words in of_paper.values() for stem in words)
    found = []
    for group in groups:
        mine = [of_paper.get(paper.paper_id, {}) for paper in group]
        inside = Counter(stem for words in mine for stem in words)
        written = {stem: word for words in reversed(mine) for stem, word in words.items()}
        in_titles = {stem for paper in group for stem in tokenize(title_of(paper))}
        worth = {
            stem: (count - (everywhere[stem] - count) / 2) * (2 if stem in in_titles else 1)
            for stem, count in inside.items()
        }
        best = sorted((stem for stem in worth if worth[stem] > 0), key=lambda stem: (-worth[stem], stem))
        found.append(tuple(written[stem] for stem in best[:_MOST_TERMS]))
    return found


def _words(paper: Paper, context: RouteContext) -> dict[str, str]:
    """By its stem each word of a paper's title and abstract that says something."""
    text = paper.metadata.abstract
    if not text:
        chunks = context.library.paper_chunks(paper.paper_id)
        text = next((chunk.text for chunk in chunks if chunk.kind == "abstract"), chunks[0].text if chunks else "")
    found: dict[str, str] = {}
    for word in _WORD.findall(f"{title_of(paper)}. {joined_lines(text)[:1500]}"):
        lower = word.casefold()
        stem = next(iter(tokenize(word)), "")
        if stem and len(word) > 2 and not {lower, lower.removesuffix("s")} & (STOP_WORDS | _SAY_NOTHING):
            found.setdefault(stem, word if any(char.isupper() for char in word[1:]) else lower)
    return found


_ASKABLE = re.compile(r"\b(?:ask|questions?|answer|tell me)\b", re.IGNORECASE)
_MOST_LISTED = 30
_MOST_OF_GROUP = 3
"""Papers that are named of each group of a library with more than _MOST_LISTED."""


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The library in groups of papers, what can be asked of it, or how to use the program."""
    if kind.startswith("help "):
        return _help(kind)
    if not context.papers:
        return None
    if _ASKABLE.search(slots.question):
        return _askable(context)
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
    many = f"{counted(len(papers), 'paper')} with {counted_places(papers)}"
    return f"{many}{span}. In groups, with the words that stand out in each:"


def _called(group: PaperGroup) -> str:
    return f"{', '.join(group.terms) or 'Others'} ({counted(len(group.papers), 'paper')})"


def _askable(context: RouteContext) -> Routed:
    """Kinds of questions, each with an example of this library."""
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


def _help(kind: str) -> Routed:
    """How to do something with the program, and the commands for it."""
    topic = help_topics()[kind.removeprefix("help ")]
    blocks = [Block("text", topic["text"]), *(Block("item", f"`{typed}`: {does}") for typed, does in topic["commands"])]
    return Routed("help", "Looked up how the program does it.", tuple(blocks))
