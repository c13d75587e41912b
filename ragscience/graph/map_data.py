"""The data of the map of a library: its papers and graph entities as nodes and edges, each with its evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.counts import counted
from ragscience.core.page_spans import page_parts
from ragscience.core.records import Paper, StoredChunk
from ragscience.graph.force_layout import positions, positions_around, space_of
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import CO_OCCURS
from ragscience.graph.paper_map import PaperMap, paper_map, papers_of_passages, similarity_edges

if TYPE_CHECKING:
    from ragscience.library.store import Store

__all__ = ["PAPER", "SIMILAR", "Evidence", "MapDrawing", "MapEdge", "MapNode", "map_drawing", "passage_quotes"]

PAPER, SIMILAR = "PAPER", "SIMILAR_TO"
NODE_EVIDENCE, EDGE_EVIDENCE, EDGES_PER_NODE = 10, 2, 4
PAPER_RADIUS = 12.0
SNIPPET_CHARS = 260
LABEL_CHARS = 90
_HYPHENS = re.compile(r"[\s\u2010-\u2015-]")
_SEPARATORS = " ++"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote from a passage, on one line."""

    file: str
    page: int
    text: str
    """Empty where only the page is given."""


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
    """A relation; `source` and `target` are indices into `MapDrawing.nodes`."""

    source: int
    target: int
    kind: str
    weight: float
    """0 to 1: a cosine, or the relation's confidence."""
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class MapDrawing:
    """What the map draws: the papers first, then the entities."""

    nodes: tuple[MapNode, ...]
    edges: tuple[MapEdge, ...]
    left_out: str
    """What is not drawn, in one line; empty if all is."""


def map_drawing(
    library: Store,
    graph: KnowledgeGraph,
    *,
    neighbours: int,
    threshold: float,
    max_nodes: int,
    title_of: Callable[[Paper], str],
) -> MapDrawing:
    """Each paper with its `neighbours` most similar ones above `threshold`, and the entities of the graph.

    At most `max_nodes` papers and as many entities: those with the most relations.
    """
    papers, entities = paper_map(library), _Entities(library, graph, max_nodes)
    similar = similarity_edges(papers.means, neighbours, threshold)
    degrees = Counter(end for edge in similar for end in (edge.source, edge.target))
    kept = _best([degrees[number] for number in range(len(papers.papers))], max_nodes)
    shown = [papers.papers[number] for number in kept]
    place = {number: index for index, number in enumerate(kept)}
    drawn = [edge for edge in similar if edge.source in place and edge.target in place]
    ends = [(place[edge.source], place[edge.target]) for edge in drawn]

    index_of = {paper.paper_id: index for index, paper in enumerate(shown)}
    owners = [{index_of[one]: count for one, count in mine.items() if one in index_of} for mine in entities.papers]
    space = space_of(owners, entities.radii, len(shown)).tolist()
    # All papers of a library are somewhat similar: only similarity above the threshold attracts.
    middles = positions(len(shown), ends, [max(0.05, edge.weight - threshold) for edge in drawn], space)
    places = positions_around(middles, owners, entities.radii, PAPER_RADIUS).tolist()

    first_of = _first_passages(papers)
    pairs = [papers.closest_passages(edge.source, edge.target) for edge in drawn]
    texts = _Passages(library, {*(one for pair in pairs for one in pair), *(first_of[number] for number in kept)})
    nodes = []
    for number, paper, (x, y) in zip(kept, shown, places[: len(kept)], strict=True):
        label, fact = _short(title_of(paper) or paper.file), ", ".join(_paper_facts(paper))
        begins = texts.evidence([first_of[number]], ())
        nodes.append(MapNode(label, PAPER, x, y, PAPER_RADIUS, degrees[number], (), fact, (paper.file,), begins, 0))
    lines = [
        MapEdge(*end, SIMILAR, min(1.0, max(0.0, edge.weight)), texts.evidence(pair, ()))
        for end, edge, pair in zip(ends, drawn, pairs, strict=True)
    ]
    nodes += entities.nodes(places[len(shown) :])
    lines += entities.edges(len(shown))
    left_out = _left_out("papers", len(shown), len(papers.papers)), entities.left_out
    return MapDrawing(tuple(nodes), tuple(lines), " ".join(filter(None, left_out)))


class _Entities:
    """The entities of highest degree, and their relations of highest confidence, EDGES_PER_NODE for each node."""

    def __init__(self, library: Store, graph: KnowledgeGraph, max_nodes: int) -> None:
        degrees = graph.degrees().tolist()
        # In the order of their degree: the first ones are put nearest to their paper.
        kept = sorted(_best(degrees, max_nodes), key=lambda number: (-degrees[number], number))
        numbers, possible = _relations_between(graph, kept)
        place = {number: index for index, number in enumerate(kept)}
        self._entities = [graph.entity(number) for number in kept]
        self._degrees = [degrees[number] for number in kept]
        self._relations = [graph.relation(number) for number in numbers]
        self._ends = [(place[int(graph.sources[number])], place[int(graph.targets[number])]) for number in numbers]
        self._owner_of = papers_of_passages(library)
        self._files = {paper.paper_id: paper.file for paper in library.papers()}
        self._shown = [_spread(one.chunk_ids, self._owner_of, NODE_EVIDENCE) for one in self._entities]
        self._proofs = [_spread(one.chunk_ids, self._owner_of, EDGE_EVIDENCE) for one in self._relations]
        quoted = {chunk for chunks in (*self._shown, *self._proofs) for chunk in chunks}
        self._texts = _Passages(library, quoted)
        self.radii = [min(18.0, 3.5 + 1.1 * degree**0.5) for degree in self._degrees]
        self.papers = [
            Counter(self._owner_of[chunk] for chunk in one.chunk_ids if chunk in self._owner_of)
            for one in self._entities
        ]
        """For each entity how many passages of each paper name it, by the paper's id."""
        self.left_out = _left_out("entities", len(kept), len(degrees))
        if possible > len(numbers):
            rest = f"{len(numbers):,} of the {possible:,} relations between them are drawn, stated ones first."
            self.left_out = f"{self.left_out} {rest}".strip()

    def nodes(self, places: Sequence[Sequence[float]]) -> list[MapNode]:
        """The entities at these places."""
        return [self._node(index, x, y) for index, (x, y) in enumerate(places)]

    def _node(self, index: int, x: float, y: float) -> MapNode:
        entity, chunks = self._entities[index], self._shown[index]
        files = tuple(sorted(self._files[paper] for paper in self.papers[index]))
        names = tuple(name for name in entity.names if name != entity.label)[:12]
        fact = f"named {counted(entity.mentions, 'time')} in {counted(len(files), 'paper')}"
        evidence, more = self._texts.evidence(chunks, (entity.names,)), len(entity.chunk_ids) - len(chunks)
        label, degree, radius = _short(entity.label), self._degrees[index], self.radii[index]
        return MapNode(label, entity.entity_type, x, y, radius, degree, names, fact, files, evidence, more)

    def edges(self, before: int) -> list[MapEdge]:
        """The relations; `before` nodes come before the entities."""
        found = []
        for (source, target), one, chunks in zip(self._ends, self._relations, self._proofs, strict=True):
            wanted = self._entities[source].names, self._entities[target].names
            evidence = self._texts.evidence(chunks, wanted, only_pages=one.relation == CO_OCCURS)
            found.append(MapEdge(before + source, before + target, one.relation, one.confidence, evidence))
        return found


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


def passage_quotes(library: Store, ids: Sequence[int], names: Sequence[str]) -> tuple[Evidence, ...]:
    """A quote from each of these passages, around the first of the names in it."""
    return _Passages(library, ids).evidence(ids, (names,))


class _Passages:
    """The quoted passages."""

    def __init__(self, library: Store, ids: Iterable[int]) -> None:
        self._chunks = {chunk.chunk_id: chunk for chunk in library.chunks(sorted(ids))}

    def evidence(
        self, ids: Iterable[int], wanted: Sequence[Sequence[str]], *, only_pages: bool = False
    ) -> tuple[Evidence, ...]:
        """A quote from each, around the first occurrence of one of each group of names, or only its page."""
        chunks = [self._chunks[one] for one in ids if one in self._chunks]
        return tuple(_quoted(chunk, wanted, only_pages=only_pages) for chunk in chunks)


def _quoted(chunk: StoredChunk, wanted: Sequence[Sequence[str]], *, only_pages: bool) -> Evidence:
    text = chunk.text
    found = [match for names in wanted if (match := _stands(names, text)) is not None]
    start, end = (min(one[0] for one in found), max(one[1] for one in found)) if found else (0, 0)
    if end - start > 2 * SNIPPET_CHARS:
        start, end = found[0]
    page = next((page for page, _, _ in page_parts(chunk, start, max(end, start + 1))), chunk.page_start)
    if only_pages:
        return Evidence(chunk.file, page, "")
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
    return Evidence(chunk.file, page, f"{'… ' if first else ''}{quote}{' …' if last < len(text) else ''}")


def _stands(names: Sequence[str], text: str) -> tuple[int, int] | None:
    """The first occurrence of the longest of these names in the text, ignoring case, spaces and hyphens."""
    plain = _plain(text)
    for name in sorted(names, key=lambda name: (-len(name), name)):
        words = _plain(name).split()
        if not words or any(word not in plain for word in words):
            continue
        wanted, start = " ".join(words), -1
        while (start := plain.find(wanted, start + 1)) >= 0:
            if not start or not (plain[start - 1].isalnum() or plain[start - 1] == "_"):
                return start, start + len(wanted)
        # Compiling takes long: only for what may be there with other blanks.
        match = re.search(rf"(?<!\w){_SEPARATORS.join(map(re.escape, words))}", plain)
        if match:
            return match.span()
    return None


@lru_cache(2048)
def _plain(text: str) -> str:
    """The text in lower case with a space for each space and hyphen, of the same length."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return _HYPHENS.sub(" ", lowered)


def _paper_facts(paper: Paper) -> Iterator[str]:
    authors = paper.metadata.authors
    if authors:
        yield f"{authors[0]} et al." if len(authors) > 2 else " and ".join(authors)
    if paper.metadata.year:
        yield str(paper.metadata.year)
    yield counted(paper.pages, "page")


def _left_out(what: str, drawn: int, there: int) -> str:
    if drawn == there:
        return ""
    return f"The {drawn:,} {what} with the most relations of {there:,} are drawn, {there - drawn:,} left out."


def _short(label: str) -> str:
    line = " ".join(label.split())
    return line if len(line) <= LABEL_CHARS else f"{line[: LABEL_CHARS - 1].rstrip()}…"
