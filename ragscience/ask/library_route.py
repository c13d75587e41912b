"""What the library is about: its papers in groups with the terms that tell each from the others, or on a subject."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragscience.ask.intents import help_topics
from ragscience.ask.phrase_search import find_phrases
from ragscience.ask.route_records import RouteContext, Routed, label, short_label
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import counted_places, year_of
from ragscience.core.records import Block, Paper, title_of
from ragscience.core.tokenizing import counted, joined_lines, terms, tokenize

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_ALIKE = 0.2
"""Cosine, without what all papers have in common, from which on two papers are joined."""
_MOST_TERMS = 4
_MOST_READ = 1_000
"""Papers whose abstracts are read for their words."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ASKABLE = re.compile(r"\b(?:ask|questions?|answer|tell me)\b", re.IGNORECASE)
_ASK = (
    "Ask what a paper says, for a summary of it, a table, figure or section by its number, who wrote it and when, "
    "which papers use, mention or cite something, for two papers side by side, or how the program does something."
)
_MOST_LISTED = 30
_MOST_OF_GROUP = 3
"""Papers that are named of each group of a library with more than _MOST_LISTED."""


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The library in groups of papers, what can be asked of it, or how to use the program."""
    if kind.startswith("help "):
        topic = help_topics()[kind.removeprefix("help ")]
        commands = [Block("item", f"`{typed}`: {does}") for typed, does in topic["commands"]]
        return Routed("help", "Looked up how the program does it.", (Block("text", topic["text"]), *commands))
    if not context.papers:
        return None
    most = len(context.papers) if len(context.papers) <= _MOST_LISTED else _MOST_OF_GROUP
    years = sorted(year for year in (year_of(paper)[0] for paper in context.papers) if year)
    span = f", from {years[0]} to {years[-1]}" if years and years[0] < years[-1] else ""
    many = counted(len(context.papers), "paper")
    said = f"{many} with {counted_places(context.papers)}{span}. In groups, with the words that stand out in each:"
    blocks = [Block("text", said)]
    for telling, papers in groups_of(context):
        blocks.append(Block("heading", f"{', '.join(telling) or 'Others'} ({counted(len(papers), 'paper')})"))
        blocks += [Block("item", f"{label(paper)} · {paper.file}") for paper in papers[:most]]
        blocks += [Block("item", f"and {len(papers) - most:,} more")] if len(papers) > most else []
    asked = [Block("text", _ASK)] if _ASKABLE.search(slots.question) else []
    return Routed("library", f"Grouped {many} by how alike their passages are.", (*asked, *blocks))


def groups_of(context: RouteContext) -> list[tuple[list[str], list[Paper]]]:
    """(the words that stand out, papers) of each group of those within the filters, the largest first (Louvain).

    Papers are joined that are alike by the means of their passages' vectors; the nearest to a group's middle is first.
    """
    from networkx import Graph
    from networkx.algorithms.community import louvain_communities

    from ragscience.graph.paper_map import paper_map

    wanted = {paper.paper_id for paper in context.papers}
    known = paper_map(context.library)
    rows = [row for row, paper in enumerate(known.papers) if paper.paper_id in wanted]
    if not rows:
        return []
    means = _apart(known.means[rows]) if len(rows) > 2 else known.means[rows]
    cosines = means @ means.T
    joined: Graph[int] = Graph()
    joined.add_nodes_from(range(len(rows)))
    for one, other in zip(*np.nonzero(np.triu(cosines >= _LEAST_ALIKE, 1)), strict=True):
        joined.add_edge(int(one), int(other), weight=float(cosines[one, other]))
    groups = []
    for members in sorted(map(sorted, louvain_communities(joined, seed=0)), key=lambda each: (-len(each), each)):
        near = means[members] @ means[members].mean(axis=0)
        groups.append([known.papers[rows[members[at]]] for at in np.argsort(-near, kind="stable")])
    return list(zip(_telling(groups, context), groups, strict=True))


def _apart(means: NDArray[np.float32]) -> NDArray[np.float32]:
    """The means, (papers, dimension), without what all of them have in common, of length 1."""
    import numpy as np

    centred = means - means.mean(axis=0)
    return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-9), np.float32)


def _telling(groups: Sequence[Sequence[Paper]], context: RouteContext) -> list[list[str]]:
    """For each group the words of its titles and abstracts that its papers share and others lack."""
    every = [paper for group in groups for paper in group]
    of_paper = {paper.paper_id: _words(paper, context) for paper in every[:_MOST_READ]}
    everywhere = Counter(stem for words in of_paper.values() for stem in words)
    found = []
    for group in groups:
        written = {stem: word for paper in group for stem, word in of_paper.get(paper.paper_id, {}).items()}
        inside = Counter(stem for paper in group for stem in of_paper.get(paper.paper_id, {}))
        in_titles = Counter(stem for paper in group for stem in {*tokenize(title_of(paper))})
        worth = {stem: (count + in_titles[stem]) * count / everywhere[stem] for stem, count in inside.items()}
        best = sorted(worth, key=lambda stem: (-worth[stem], stem))
        found.append([written[stem] for stem in best[:_MOST_TERMS]])
    return found


def _words(paper: Paper, context: RouteContext) -> dict[str, str]:
    """By its stem each word of a paper's title and abstract."""
    chunks = context.library.paper_chunks(paper.paper_id) if not paper.metadata.abstract else []
    begins = next((chunk.text for chunk in sorted(chunks, key=lambda each: each.kind != "abstract")), "")
    text = joined_lines(paper.metadata.abstract or begins)[:1500]
    words = (word for word in _WORD.findall(f"{text}. {title_of(paper)}") if len(word) > 2)
    found = {stem: word for word in words for stem in tokenize(word)[:1]}
    return {stem: word if any(char.isupper() for char in word[1:]) else word.lower() for stem, word in found.items()}


# Papers on a subject

MOST_SHOWN = 20
_NEAREST, _APART, _OF_BEST, _NEAR = 5, 1.2, 0.6, 0.15
"""Passages of a paper that are compared with a subject. It is about it where it is so many standard deviations nearer
than the others, and this share of the nearest paper's, and the mean cosine is at least this: docs/choices.md."""
_FEWEST_PAPERS = 5
"""In a smaller library there is no telling which papers stand apart."""
_MOST_MATCHED = 60
"""Papers whose word pieces are compared with the subject's: the nearest ones."""


def about_subject(subject: str, context: RouteContext, papers: dict[int, Paper]) -> Routed | None:
    """The papers that have the subject in the title, or its words in the abstract, and those that are much nearer it.

    Of "A or B" the title may have either.
    """
    parts = [part for part in subject.split(" or ") if terms(part)]
    vectors = [(part, vector) for part in parts if len(vector := context.embed(part))]
    if not vectors:
        return None
    (known, near, cosines), *others = (_nearness(*each, context) for each in vectors)
    for _, own, cosine in others:
        near, cosines = np.maximum(near, own), np.maximum(cosines, cosine)
    least = max(_APART, _OF_BEST * float(near.max(initial=0.0))) if len(known) >= _FEWEST_PAPERS else math.inf
    mentions = find_phrases([part for part in parts if len(terms(part)) > 1], papers, context)[0]
    scores = dict[int, float]()
    for paper, score, cosine in zip(known, near.tolist(), cosines.tolist(), strict=True):
        places = mentions.get(paper.paper_id, {}).values()
        in_title = any(set(terms(part)) <= set(terms(title_of(paper))) for part in parts)
        is_named = in_title or any(at.chunk.kind == "abstract" for at in places)
        if (score >= least and cosine >= _NEAR) or is_named:
            scores[paper.paper_id] = score
    found = [(score, papers[key]) for key, score in scores.items() if key in papers]
    if not found:
        return None
    found.sort(key=lambda each: (-each[0], each[1].file))
    said = f"{counted(len(found), 'paper')} {'is' if len(found) == 1 else 'are'} about “{subject}” by title, abstract"
    blocks = [Block("text", f"{said} or meaning; others may touch on it.")]
    blocks += [Block("item", f"{short_label(paper)} · {paper.file}") for _, paper in found]
    note = f"Compared the subject with title, abstract and passages of {counted(len(papers), 'paper')}."
    return Routed("papers", note, shortened(blocks), confidence="medium")


def _nearness(
    subject: str, vector: NDArray[np.float32], context: RouteContext
) -> tuple[list[Paper], NDArray[np.float32], NDArray[np.float32]]:
    """The n papers with passages, how near each is to the subject in standard deviations, (n,), and its cosine, (n,).

    The cosine is the mean one of the paper's nearest passages with the subject's unit vector; how near is that and the
    mean MaxSim of the same passages.
    """
    from ragscience.graph.paper_map import passage_vectors

    papers, ids, owners, vectors = passage_vectors(context.library)
    cosines = vectors @ vector
    order = np.lexsort((-cosines, owners))
    present, starts = np.unique(owners[order], return_index=True)
    best = [rows[:_NEAREST] for rows in np.split(order, starts[1:])][: len(present)]
    means = np.array([cosines[rows].mean() for rows in best], np.float32)
    matched = np.argsort(-means, kind="stable")[:_MOST_MATCHED].tolist()
    found = context.maxsims(subject, [int(ids[row]) for at in matched for row in best[at]])
    lowest = min(found.values(), default=0.0)
    read = np.full(len(means), lowest, np.float32)
    read[matched] = [np.mean([found.get(int(ids[row]), lowest) for row in best[at]]) for at in matched]
    near = _standard(_standard(means) + _standard(read))
    return [papers[index] for index in present.tolist()], near, means


def _standard(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The values with mean 0 and standard deviation 1."""
    return (values - values.mean()) / max(float(values.std()), 1e-9) if len(values) else values


def shortened(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The first MOST_SHOWN items, and how many more there are."""
    more = len(blocks) - 1 - MOST_SHOWN
    return (*blocks[: MOST_SHOWN + 1], *([Block("text", f"And {more:,} more.")] if more > 0 else []))
