"""What the library is about: its papers in groups, with the terms that tell each group from the others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ragscience.ask.intents import help_topics
from ragscience.ask.route_records import RouteContext, Routed, label, listed
from ragscience.ask.slots import Slots, year_of
from ragscience.core.records import Block, Paper, title_of
from ragscience.core.tokenizing import STOP_WORDS, counted, joined_lines, tokenize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_MOST_GROUPS = 8
_ROUNDS = 10
_MOST_TERMS = 4
_MOST_READ = 1_000
"""Papers whose abstracts are read for their words."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HEADS = frozenset({"model", "models", "system", "systems", "method", "methods", "task", "tasks", "data"})
"""Words that say something only behind another one: "language models"."""
_ABSTRACT = re.compile(r"^\W{0,3}abstract\b", re.IGNORECASE | re.MULTILINE)
_SAY_NOTHING = frozenset(
    """
    paper papers work works show shows present presents propose proposes new novel based using use used approach method
    methods results result model models task tasks system systems large performance improve data problem study two one
    three many several different high better best well first also however given set sets end state art across existing
    recent improving outperforming ability datasets dataset learning training work provide provides abstract
    introduction article university department author authors like make outperforms accurate accuracy
    email number time simple including without via toward towards non university research google conference published
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
    """The papers within the filters in groups, the largest first, by the means of their passages' vectors."""
    from ragscience.graph.paper_map import paper_map

    wanted = {paper.paper_id for paper in context.papers}
    known = paper_map(context.library)
    rows = [row for row, paper in enumerate(known.papers) if paper.paper_id in wanted]
    if not rows:
        return []
    means = _centred(known.means[rows])
    papers = [known.papers[row] for row in rows]
    count = min(_MOST_GROUPS, max(1, round(math.sqrt(len(papers)))))
    labels, middles = _clusters(means, count)
    groups = []
    for number in range(len(middles)):
        members = [row for row in range(len(papers)) if labels[row] == number]
        members.sort(key=lambda row: -float(means[row] @ middles[number]))
        if members:
            groups.append([papers[row] for row in members])
    groups.sort(key=lambda group: -len(group))
    terms = _telling(groups, context)
    return [PaperGroup(words, tuple(group)) for words, group in zip(terms, groups, strict=True)]


def _centred(means: NDArray[np.float32]) -> NDArray[np.float32]:
    """The unit rows without what all have in common, of length 1 again."""
    import numpy as np

    apart = means - means.mean(axis=0) if len(means) > 2 else means
    lengths = np.linalg.norm(apart, axis=1, keepdims=True)
    return np.asarray(apart / np.where(lengths > 0, lengths, 1), np.float32)


def _clusters(means: NDArray[np.float32], count: int) -> tuple[list[int], NDArray[np.float32]]:
    """(the group of each row, the groups' middles): spherical k-means, begun with rows far from each other."""
    import numpy as np

    first = int(np.argmax(means @ means.mean(axis=0)))
    chosen = [first]
    while len(chosen) < count:
        nearest = (means @ means[chosen].T).max(axis=1)
        chosen.append(int(np.argmin(nearest)))
    middles = means[chosen].copy()
    labels = np.zeros(len(means), np.int64)
    for _ in range(_ROUNDS):
        labels = np.argmax(means @ middles.T, axis=1)
        for number in range(count):
            mine = means[labels == number]
            if len(mine):
                total = mine.sum(axis=0)
                middles[number] = total / max(float(np.linalg.norm(total)), 1e-9)
    return labels.tolist(), middles


def _telling(groups: Sequence[Sequence[Paper]], context: RouteContext) -> list[tuple[str, ...]]:
    """For each group the terms of its titles and abstracts that its papers share and others lack."""
    of_paper: dict[int, dict[str, str]] = {}
    for paper in [paper for group in groups for paper in group][:_MOST_READ]:
        of_paper[paper.paper_id] = dict(_terms(paper, context))
    everywhere = Counter(stem for terms in of_paper.values() for stem in terms)
    found = []
    for group in groups:
        mine = [of_paper[paper.paper_id] for paper in group if paper.paper_id in of_paper]
        inside = Counter(stem for terms in mine for stem in terms)
        written = {stem: word for terms in reversed(mine) for stem, word in terms.items()}
        titles = {stem for paper in group for stem, _ in _grams(title_of(paper))}

        def worth(stem: str, inside: Counter[str] = inside, titles: set[str] = titles) -> float:
            outside = everywhere[stem] - inside[stem]
            return (inside[stem] - outside / 2) * (2 if stem in titles else 1) * (1.4 if " " in stem else 1)

        ranked = sorted(inside, key=lambda stem: (-worth(stem), stem))
        kept: list[str] = []
        for stem in ranked:
            is_part = any(set(stem.split()) & set(other.split()) for other in kept)
            if not is_part and len(kept) < _MOST_TERMS and worth(stem) > 0:
                kept.append(stem)
        found.append(tuple(written[stem] for stem in kept))
    return found


def _terms(paper: Paper, context: RouteContext) -> Iterator[tuple[str, str]]:
    """(stem, as it is written) of the words and pairs of words of a paper's title and abstract."""
    text = paper.metadata.abstract
    if not text:
        chunks = context.library.paper_chunks(paper.paper_id)
        text = next((chunk.text for chunk in chunks if chunk.kind == "abstract"), chunks[0].text if chunks else "")
    begins = _ABSTRACT.search(text, 0, 3000)
    yield from _grams(f"{title_of(paper)}. {joined_lines(text[begins.end() if begins else 0 :])[:1500]}")


@cache
def _stems_of_nothing() -> frozenset[str]:
    return frozenset(stem for word in _SAY_NOTHING for stem in tokenize(word))


def _grams(text: str) -> Iterator[tuple[str, str]]:
    before: tuple[str, str, int] | None = None
    for found in _WORD.finditer(text):
        word = found.group()
        stem = "".join(tokenize(word)[:1])
        lower = word.casefold()
        if lower in _HEADS and before is not None and text[before[2] : found.start()] == " ":
            yield f"{before[0]} {stem}", f"{before[1]} {lower}"
        if len(word) < 3 or lower in STOP_WORDS or stem in _stems_of_nothing() or lower.endswith("ly") or not stem:
            before = None
            continue
        shown = word if any(char.isupper() for char in word[1:]) else lower
        yield stem, shown
        if before is not None and text[before[2] : found.start()] == " ":
            yield f"{before[0]} {stem}", f"{before[1]} {shown}"
        before = stem, shown, found.end()


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
    pages = counted(sum(paper.pages for paper in papers), "page")
    return f"{counted(len(papers), 'paper')} with {pages}{span}. In groups, with the words that stand out in each:"


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
