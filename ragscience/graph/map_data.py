"""The data of the map of a library: its papers and graph entities as nodes and edges, each with its evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from ragscience.graph.entity_merging import load_graph
from ragscience.graph.force_layout import positions
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import CO_OCCURS, Entity
from ragscience.graph.paper_map import PaperMap, paper_map, papers_of_passages, similarity_edges
from ragscience.records import Paper, StoredChunk
from ragscience.text.page_spans import page_parts

if TYPE_CHECKING:
    from ragscience.store import Library

__all__ = ["PAPER", "SIMILAR", "Evidence", "MapEdge", "MapNode", "View", "entity_view", "paper_view", "views_of"]

PAPER, SIMILAR = "PAPER", "SIMILAR_TO"
NODE_EVIDENCE, EDGE_EVIDENCE, EDGES_PER_NODE = 10, 2, 4
SNIPPET_CHARS = 260
LABEL_CHARS = 90
_SEPARATORS = r"[\s\u2010-\u2015-]+"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote from a passage, on one line."""

    file: str
    page: int
    text: str


@dataclass(frozen=True, slots=True)
class MapNode:
    """A paper or an entity, with its position."""

    label: str
    kind: str
    """An entity's type, or PAPER."""
    x: float
    y: float
    radius: float
    degree: int
    """Its degree, including relations that are not drawn."""
    names: tuple[str, ...]
    """Its other names; of a paper its file."""
    fact: str
    """Further information in one line."""
    files: tuple[str, ...]
    """The papers that contain it."""
    evidence: tuple[Evidence, ...]
    more: int
    """How many passages there are in addition to `evidence`."""


@dataclass(frozen=True, slots=True)
class MapEdge:
    """A relation; `source` and `target` are indices into `View.nodes`."""

    source: int
    target: int
    kind: str
    weight: float
    """0 to 1: a cosine, or the relation's confidence."""
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class View:
    """One drawing."""

    name: str
    nodes: tuple[MapNode, ...]
    edges: tuple[MapEdge, ...]
    left_out: str
    """What is not drawn, in one line; empty if all is."""


def views_of(
    library: Library, *, neighbours: int, threshold: float, max_nodes: int, title_of: Callable[[Paper], str]
) -> tuple[View, View]:
    """The papers and the entities of a library. Raises RagScienceError for an unreadable graph."""
    with library.snapshot():
        papers, graph = paper_map(library), load_graph(library)
        return (
            paper_view(library, papers, neighbours, threshold, max_nodes, title_of),
            entity_view(library, graph, max_nodes),
        )


def paper_view(
    library: Library,
    papers: PaperMap,
    neighbours: int,
    threshold: float,
    max_nodes: int,
    title_of: Callable[[Paper], str],
) -> View:
    """Each paper with its nearest ones; past `max_nodes` those with the most neighbours."""
    edges = similarity_edges(papers.means, neighbours, threshold)
    degrees = np.bincount(np.array([(edge.source, edge.target) for edge in edges], np.int64).ravel(), minlength=1)
    degree = [int(degrees[index]) if index < len(degrees) else 0 for index in range(len(papers.papers))]
    kept = _best(degree, max_nodes)
    place = {index: new for new, index in enumerate(kept)}
    drawn = [edge for edge in edges if edge.source in place and edge.target in place]
    pairs = [papers.closest_passages(edge.source, edge.target) for edge in drawn]
    first_of = _first_passages(papers)
    texts = _Passages(library, {*(one for pair in pairs for one in pair), *(first_of[index] for index in kept)})
    radii = [5 + 2.2 * degree[index] ** 0.5 for index in kept]
    ends = [(place[edge.source], place[edge.target]) for edge in drawn]
    # All papers of a library are somewhat similar: only similarity above the threshold attracts.
    places = positions(len(kept), ends, [max(0.05, edge.weight - threshold) for edge in drawn], radii).tolist()
    nodes = []
    for index, radius, (x, y) in zip(kept, radii, places, strict=True):
        paper = papers.papers[index]
        label, evidence = title_of(paper) or paper.file, texts.evidence([first_of[index]], ())
        fact = ", ".join(_paper_facts(paper))
        nodes.append(MapNode(_short(label), PAPER, x, y, radius, degree[index], (), fact, (paper.file,), evidence, 0))
    lines = [
        MapEdge(source, target, SIMILAR, min(1.0, max(0.0, edge.weight)), texts.evidence(pair, ()))
        for (source, target), edge, pair in zip(ends, drawn, pairs, strict=True)
    ]
    return View("Papers", tuple(nodes), tuple(lines), _left_out("papers", len(kept), len(degree)))


def entity_view(library: Library, graph: KnowledgeGraph, max_nodes: int) -> View:
    """The entities of highest degree, and their relations of highest confidence, EDGES_PER_NODE for each node."""
    degrees = graph.degrees().tolist()
    kept = _best(degrees, max_nodes)
    drawn, possible = _relations_between(graph, kept)
    place = {number: new for new, number in enumerate(kept)}
    entities = [graph.entity(number) for number in kept]
    relations = [graph.relation(number) for number in drawn]
    owner_of, files = papers_of_passages(library), {paper.paper_id: paper.file for paper in library.papers()}
    shown = [_spread(entity.chunk_ids, owner_of, NODE_EVIDENCE) for entity in entities]
    proofs = [_spread(one.chunk_ids, owner_of, EDGE_EVIDENCE) for one in relations]
    texts = _Passages(library, {chunk for chunks in (*shown, *proofs) for chunk in chunks})
    ends = [(place[int(graph.sources[number])], place[int(graph.targets[number])]) for number in drawn]
    pulls = [0.35 if one.relation == CO_OCCURS else 1.0 for one in relations]
    radii = [min(26.0, 3.5 + 1.3 * degrees[number] ** 0.5) for number in kept]
    places = positions(len(kept), ends, pulls, radii).tolist()
    nodes = []
    for number, entity, chunks, radius, (x, y) in zip(kept, entities, shown, radii, places, strict=True):
        in_files = tuple(sorted({files[owner_of[chunk]] for chunk in entity.chunk_ids if chunk in owner_of}))
        names = tuple(name for name in entity.names if name != entity.label)[:12]
        fact = f"named {_many(entity.mentions, 'time')} in {_many(len(in_files), 'paper')}"
        evidence = texts.evidence(chunks, (entity.names,))
        more = len(entity.chunk_ids) - len(chunks)
        label, degree = _short(entity.label), degrees[number]
        nodes.append(MapNode(label, entity.entity_type, x, y, radius, degree, names, fact, in_files, evidence, more))
    lines = [
        MapEdge(*end, one.relation, one.confidence, texts.evidence(chunks, _names_of(entities, end)))
        for end, one, chunks in zip(ends, relations, proofs, strict=True)
    ]
    left_out = _left_out("entities", len(kept), len(degrees)) or ""
    if possible > len(drawn):
        left_out += f" {len(drawn):,} of the {possible:,} relations between them are drawn, the surest first."
    return View("Entities", tuple(nodes), tuple(lines), left_out.strip())


def _names_of(entities: Sequence[Entity], end: tuple[int, int]) -> tuple[tuple[str, ...], ...]:
    return entities[end[0]].names, entities[end[1]].names


def _best(degrees: Sequence[int], most: int) -> list[int]:
    """Indices of the `most` highest degrees, ascending; ties by lower index."""
    return sorted(sorted(range(len(degrees)), key=lambda index: (-degrees[index], index))[:most])


def _relations_between(graph: KnowledgeGraph, kept: Sequence[int]) -> tuple[list[int], int]:
    """Numbers of the relations to draw between these entities, ascending, and how many there are in total.

    Stated relations come before co-occurrences, then by confidence; the best one of each
    entity is included, so that no node is isolated needlessly.
    """
    inside = np.zeros(len(graph), bool)
    inside[list(kept)] = True
    between = np.flatnonzero(inside[graph.sources] & inside[graph.targets] & (graph.sources != graph.targets))
    numbers = between.tolist()
    most = EDGES_PER_NODE * len(kept)
    if len(numbers) <= most:
        return numbers, len(numbers)
    counts = {number: len(graph.evidence_of(number)) for number in numbers}
    weak = {number: graph.kind(number) == CO_OCCURS for number in numbers}
    numbers.sort(key=lambda number: (weak[number], -counts[number], -float(graph.confidences[number]), number))
    chosen: dict[int, None] = {}
    reached: set[int] = set()
    for number in numbers:
        ends = {int(graph.sources[number]), int(graph.targets[number])}
        if not ends <= reached:
            chosen[number] = None
            reached |= ends
    for number in numbers:
        if len(chosen) >= most:
            break
        chosen[number] = None
    return sorted(chosen), len(between)


def _spread(chunks: Sequence[int], owner_of: Mapping[int, int], most: int) -> list[int]:
    """At most `most` passages: the first of each paper, then the second of each, and so on."""
    by_paper: dict[int, list[int]] = {}
    for chunk in chunks:
        if chunk in owner_of:
            by_paper.setdefault(owner_of[chunk], []).append(chunk)
    rounds: Iterator[tuple[int | None, ...]] = zip_longest(*by_paper.values())
    return [chunk for one in rounds for chunk in one if chunk is not None][:most]


def _first_passages(papers: PaperMap) -> dict[int, int]:
    """The id of the first passage of each paper, by the paper's index."""
    owners, first = np.unique(papers.owners, return_index=True)
    return dict(zip(owners.tolist(), papers.ids[first].tolist(), strict=True))


class _Passages:
    """The quoted passages."""

    def __init__(self, library: Library, ids: Iterable[int]) -> None:
        self._chunks = {chunk.chunk_id: chunk for chunk in library.chunks(sorted(ids))}

    def evidence(self, ids: Iterable[int], wanted: Sequence[Sequence[str]]) -> tuple[Evidence, ...]:
        """A quote from each, around the first occurrence of one of each group of names."""
        return tuple(_quoted(self._chunks[one], wanted) for one in ids if one in self._chunks)


def _quoted(chunk: StoredChunk, wanted: Sequence[Sequence[str]]) -> Evidence:
    text = chunk.text
    found = [match for names in wanted if (match := _stands(names, text)) is not None]
    start, end = (min(one[0] for one in found), max(one[1] for one in found)) if found else (0, 0)
    if end - start > 2 * SNIPPET_CHARS:
        start, end = found[0]
    room = max(0, SNIPPET_CHARS - (end - start))
    first = max(0, start - room // 2)
    last = min(len(text), max(end, first + room + (end - start)))
    # At a space, if one is near.
    if first:
        first = max(first, text.find(" ", first, start) + 1)
    if last < len(text):
        blank = text.rfind(" ", end, last)
        last = blank if blank > end else last
    quote = " ".join(text[first:last].split())
    page = next((page for page, _, _ in page_parts(chunk, start, max(end, start + 1))), chunk.page_start)
    return Evidence(chunk.file, page, f"{'… ' if first else ''}{quote}{' …' if last < len(text) else ''}")


def _stands(names: Sequence[str], text: str) -> tuple[int, int] | None:
    """The first occurrence of the longest of these names in the text, ignoring case, spaces and hyphens."""
    for name in sorted(names, key=lambda name: (-len(name), name)):
        words = [re.escape(word) for word in re.split(_SEPARATORS, name) if word]
        match = re.search(rf"(?<!\w){_SEPARATORS.join(words)}", text, re.IGNORECASE) if words else None
        if match:
            return match.span()
    return None


def _paper_facts(paper: Paper) -> Iterator[str]:
    authors = paper.metadata.authors
    if authors:
        yield f"{authors[0]} et al." if len(authors) > 2 else " and ".join(authors)
    if paper.metadata.year:
        yield str(paper.metadata.year)
    yield _many(paper.pages, "page")


def _left_out(what: str, drawn: int, there: int) -> str:
    if drawn == there:
        return ""
    return f"The {drawn:,} {what} with the most relations of {there:,} are drawn, {there - drawn:,} left out."


def _many(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"


def _short(label: str) -> str:
    line = " ".join(label.split())
    return line if len(line) <= LABEL_CHARS else f"{line[: LABEL_CHARS - 1].rstrip()}…"
