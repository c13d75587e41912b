"""Which papers are alike, by the means of their passages' vectors; and the map of a library: papers and entities.

Entities and the relations between them have their evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragscience.core.paper_records import counted_places, page_parts
from ragscience.core.records import Paper, StoredChunk
from ragscience.core.tokenizing import counted
from ragscience.graph.citing import Citations
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import CO_OCCURS, Relation

if TYPE_CHECKING:
    from ragscience.library.store import Store


NEIGHBOURS, LEAST_COSINE = 3, 0.3
"""Most similar papers that each paper is joined to, and their least cosine (the graph guide)."""


@dataclass(frozen=True)
class PaperMap:
    """Papers and their mean vectors."""

    papers: tuple[Paper, ...]
    """Those with passages, by file."""
    means: NDArray[np.float32]
    """The mean of each paper's passage vectors, of length 1: shape (papers, dimension), float32."""

    def related(self, place: int, count: int) -> list[tuple[Paper, float]]:
        """The nearest other papers of the one at index `place`, each with its cosine, the nearest first."""
        return [(self.papers[other], cosine) for other, cosine in nearest(self.means, count, [place])[0]]


def paper_map(library: Store) -> PaperMap:
    """The papers of a library with their means, from one generation."""
    papers, _, owners, vectors = passage_vectors(library)
    present = np.unique(owners)
    sums = np.zeros((len(papers), vectors.shape[1]), np.float64)
    np.add.at(sums, owners, vectors)
    lengths = np.linalg.norm(sums[present], axis=1, keepdims=True)
    means = np.ascontiguousarray(sums[present] / np.where(lengths > 0, lengths, 1), np.float32)
    return PaperMap(tuple(papers[index] for index in present.tolist()), means)


def passage_vectors(
    library: Store,
) -> tuple[list[Paper], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """The papers, and for each passage its id, the index of its paper and its vector; without damaged papers'."""
    with library.snapshot():
        papers = library.papers()
        ids, vectors = library.vectors.of()
        owner_of = papers_of_passages(library)
    place = {paper.paper_id: index for index, paper in enumerate(papers)}
    owners = np.fromiter((place.get(owner_of.get(number, -1), -1) for number in ids.tolist()), np.int64, len(ids))
    kept = owners >= 0
    return papers, np.asarray(ids, np.int64)[kept], owners[kept], vectors[kept]


def papers_of_passages(library: Store) -> dict[int, int]:
    """The paper id of each passage, by the passage's id; those of damaged papers are left out."""
    papers = {paper.md5[:12]: paper.paper_id for paper in library.papers()}
    named = ((chunk, name.partition("#")[0]) for chunk, name in library.graph.stable_ids().items())
    return {chunk: papers[name] for chunk, name in named if name in papers}


def nearest(means: NDArray[np.float32], count: int, rows: Sequence[int]) -> list[list[tuple[int, float]]]:
    """For each of `rows` of `means` its `count` nearest other rows with their cosines, nearest first.

    Exact, by FAISS; `means` are float32 unit rows of shape (n, dimension).
    """
    if not len(rows):
        return []
    import faiss

    index = faiss.IndexFlatIP(means.shape[1])
    index.add(means)
    cosines, places = index.search(means[list(rows)], min(count + 1, len(means)))
    both = zip(rows, places.tolist(), np.clip(cosines, -1, 1).tolist(), strict=True)
    return [[pair for pair in zip(near, values, strict=True) if pair[0] != row][:count] for row, near, values in both]


def similarity_edges(means: NDArray[np.float32]) -> list[tuple[int, int, float]]:
    """(row, later row, cosine) of each paper and its NEIGHBOURS nearest above LEAST_COSINE, each pair once."""
    weights = {
        (min(place, other), max(place, other)): cosine
        for place, near in enumerate(nearest(means, NEIGHBOURS, range(len(means))))
        for other, cosine in near
        if cosine > LEAST_COSINE
    }
    return [(*pair, weight) for pair, weight in sorted(weights.items())]


# The map

PAPER, SIMILAR, CITES = "PAPER", "SIMILAR_TO", "CITES"
NODE_EVIDENCE, EDGE_EVIDENCE, EDGES_PER_NODE = 10, 2, 4
PAPER_RADIUS = 12.0
MOST_PAPERS, MOST_ENTITIES = 400, 400
"""That a map draws: the layout compares each pair, in a few seconds for so many."""
_ROOM = 14.0
"""For each mark, so that labels have some."""
_GAP = 6.0
"""Room around each mark."""
SNIPPET_CHARS = 260
LABEL_CHARS = 90
_BETWEEN = re.compile(r"[\s\u2010-\u2015-]+")


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


def map_drawing(library: Store, graph: KnowledgeGraph, *, title_of: Callable[[Paper], str]) -> MapDrawing:
    """Each paper with the papers most like it, and the entities of the graph.

    At most MOST_PAPERS papers and MOST_ENTITIES entities: those with the most relations.
    """
    known, owner_of = paper_map(library), papers_of_passages(library)
    similar = similarity_edges(known.means)
    degrees = Counter(end for edge in similar for end in edge[:2])
    kept = sorted(sorted(range(len(known.papers)), key=lambda at: (-degrees[at], at))[:MOST_PAPERS])
    place = {number: index for index, number in enumerate(kept)}
    drawn = [(place[one], place[other], cosine) for one, other, cosine in similar if one in place and other in place]
    entities = sorted(graph.entities(), key=lambda one: (-graph.degree(one.key), one.key))[:MOST_ENTITIES]
    relations = _relations_between(graph, {one.key for one in entities})

    owners = [Counter(owner_of[chunk] for chunk in one.chunk_ids if chunk in owner_of) for one in entities]
    at = {known.papers[number].paper_id: index for index, number in enumerate(kept)}
    radii = [min(18.0, 3.5 + 1.1 * graph.degree(one.key) ** 0.5) for one in entities]
    inside = [{at[paper]: count for paper, count in mine.items() if paper in at} for mine in owners]
    places = positions(len(kept), drawn, inside, radii).tolist()

    papers = [known.papers[number] for number in kept]
    shown = [_spread(one.chunk_ids, owner_of, NODE_EVIDENCE) for one in entities]
    proofs = [_spread(one.chunk_ids, owner_of, EDGE_EVIDENCE) for one in relations]
    texts = {chunk.chunk_id: chunk for chunk in library.chunks(sorted({*chain(*shown, *proofs)}))}

    def quotes(ids: Iterable[int], *names: Sequence[str], only_page: bool = False) -> tuple[Evidence, ...]:
        return tuple(_quoted(texts[one], names, only_page=only_page) for one in ids if one in texts)

    nodes = []
    for number, paper, (x, y) in zip(kept, papers, places[: len(kept)], strict=True):
        label, fact = _short(title_of(paper) or paper.file), ", ".join(_paper_facts(paper))
        nodes.append(MapNode(label, PAPER, x, y, PAPER_RADIUS, degrees[number], (), fact, (paper.file,), (), 0))
    files = {paper.paper_id: paper.file for paper in library.papers()}
    for one, mine, radius, chunks, (x, y) in zip(entities, owners, radii, shown, places[len(kept) :], strict=True):
        its, degree = tuple(sorted(files[paper] for paper in mine)), graph.degree(one.key)
        names = tuple(name for name in one.names if name != one.label)[:12]
        fact = f"named {counted(one.mentions, 'time')} in {counted(len(its), 'paper')}"
        found, more = quotes(chunks, one.names), len(one.chunk_ids) - len(chunks)
        label = _short(one.label)
        nodes.append(MapNode(label, one.entity_type, x, y, radius, degree, names, fact, its, found, more))
    lines = [MapEdge(one, other, SIMILAR, cosine, ()) for one, other, cosine in drawn]
    for reference in Citations.of(library).all:
        if reference.citing.paper_id in at and reference.cited.paper_id in at:
            proof = Evidence(reference.citing.file, reference.entry.page, reference.entry.text)
            lines.append(MapEdge(at[reference.citing.paper_id], at[reference.cited.paper_id], CITES, 1.0, (proof,)))
    index_of = {one.key: len(kept) + index for index, one in enumerate(entities)}
    for relation, chunks in zip(relations, proofs, strict=True):
        both = [graph.entity(key).names for key in (relation.source, relation.target)]
        found = quotes(chunks, *both, only_page=relation.relation == CO_OCCURS)
        source, target = index_of[relation.source], index_of[relation.target]
        lines.append(MapEdge(source, target, relation.relation, relation.confidence, found))
    counts = {"papers": (len(papers), len(known.papers)), "entities": (len(entities), len(graph))}
    counts["relations, stated ones first"] = (len(relations), graph.relation_count)
    left_out = [f"{drawn:,} of {there:,} {what}" for what, (drawn, there) in counts.items() if drawn < there]
    return MapDrawing(tuple(nodes), tuple(lines), f"Drawn are {'; '.join(left_out)}." if left_out else "")


def positions(
    count: int, edges: Sequence[tuple[int, int, float]], owners: Sequence[Mapping[int, int]], radii: Sequence[float]
) -> NDArray[np.float64]:
    """Positions of `count` papers, then of the entities, shape (papers + entities, 2), by NetworkX's ForceAtlas2.

    `edges` are (paper, paper, weight); `owners` has for each entity how many passages of each paper name it, `radii`
    are those of the entities. Deterministic.
    """
    from networkx import Graph, forceatlas2_layout

    number = count + len(owners)
    network: Graph[int] = Graph()
    network.add_nodes_from(range(number))
    network.add_weighted_edges_from(edges)
    for at, mine in enumerate(owners, count):
        network.add_weighted_edges_from((at, paper, share / sum(mine.values())) for paper, share in mine.items())
    # Strong gravity: a paper that is like no other stays in sight.
    places = np.zeros((number, 2))
    if number > 1:
        found = forceatlas2_layout(network, weight="weight", strong_gravity=True, max_iter=60, seed=0)
        places = np.array([found[at] for at in range(number)], float)
        places -= np.median(places, axis=0)
        room = max(3 * PAPER_RADIUS * count**0.5, _ROOM * number**0.5)
        places *= room / max(float(np.abs(places).mean()), 1e-6) * np.array([1.6, 1.0])
    return _apart(places, np.array([PAPER_RADIUS] * count + [*radii]) + _GAP / 2)


def _apart(places: NDArray[np.float64], radii: NDArray[np.float64], steps: int = 40) -> NDArray[np.float64]:
    """The places after circles that overlap have pushed each other apart, `steps` times at most."""
    reach = radii[:, None] + radii[None, :]
    for _ in range(steps):
        line = places[:, None] - places[None, :]
        distance = np.maximum(np.hypot(line[..., 0], line[..., 1]), 1e-3)
        gap = np.maximum(reach - distance, 0)
        np.fill_diagonal(gap, 0)
        if not gap.any():
            break
        places = places + (line * (gap / (2 * distance))[..., None]).sum(axis=1)
    return places


def _relations_between(graph: KnowledgeGraph, kept: set[str]) -> list[Relation]:
    """The relations to draw between these entities, EDGES_PER_NODE for each.

    Stated relations come before co-occurrences, then those of most passages; the best one of each
    entity is included, so that no node is isolated needlessly.
    """
    between = [one for one in graph.relations() if one.source in kept and one.target in kept]
    best = sorted(between, key=lambda one: (one.relation == CO_OCCURS, -len(one.chunk_ids), -one.confidence))
    first, reached = list[Relation](), set[str]()
    for one in best:
        if not {one.source, one.target} <= reached:
            first.append(one)
            reached |= {one.source, one.target}
    return list(dict.fromkeys((*first, *best)))[: EDGES_PER_NODE * len(kept)]


def _spread(chunks: Sequence[int], owner_of: Mapping[int, int], most: int) -> list[int]:
    """At most `most` passages: the first of each paper, then the second of each, and so on."""
    by_paper: dict[int, list[int]] = {}
    for chunk in chunks:
        if chunk in owner_of:
            by_paper.setdefault(owner_of[chunk], []).append(chunk)
    rounds: Iterator[tuple[int | None, ...]] = zip_longest(*by_paper.values())
    return [chunk for one in rounds for chunk in one if chunk is not None][:most]


def passage_quotes(library: Store, ids: Iterable[int], *names: Sequence[str]) -> tuple[Evidence, ...]:
    """A quote from each of these passages, around the first of each group of names in it."""
    return tuple(_quoted(chunk, names) for chunk in library.chunks(sorted(ids)))


def _quoted(chunk: StoredChunk, wanted: Sequence[Sequence[str]], *, only_page: bool = False) -> Evidence:
    """A quote around the first occurrence of one of each group of names, or only its page."""
    text = chunk.text
    found = [match for names in wanted if (match := _stands(names, text)) is not None]
    start, end = (min(one[0] for one in found), max(one[1] for one in found)) if found else (0, 0)
    if end - start > 2 * SNIPPET_CHARS:
        start, end = found[0]
    page = next((page for page, _, _ in page_parts(chunk, start, max(end, start + 1))), chunk.page_start)
    if only_page:
        return Evidence(chunk.file, page, "")
    room = max(0, SNIPPET_CHARS - (end - start)) // 2
    first, last = text.rfind(" ", 0, max(0, start - room)) + 1, text.find(" ", end + room)
    last = len(text) if last < 0 else last
    quote = " ".join(text[first:last].split())
    return Evidence(chunk.file, page, f"{'… ' if first else ''}{quote}{' …' if last < len(text) else ''}")


def _stands(names: Sequence[str], text: str) -> tuple[int, int] | None:
    """The first occurrence of the longest of these names in the text, ignoring case, spaces and hyphens."""
    lowered = text.casefold()
    for name in sorted(names, key=lambda name: (-len(name), name)):
        words = [word for word in _BETWEEN.split(name) if word]
        # Compiling takes long: only for what may be there.
        if words and all(word.casefold() in lowered for word in words):
            wanted = _BETWEEN.pattern.join(map(re.escape, words))
            if match := re.search(rf"(?<!\w){wanted}", text, re.IGNORECASE):
                return match.span()
    return None


def _paper_facts(paper: Paper) -> Iterator[str]:
    authors = paper.metadata.authors
    if authors:
        yield f"{authors[0]} et al." if len(authors) > 2 else " and ".join(authors)
    if paper.metadata.year:
        yield str(paper.metadata.year)
    yield counted_places([paper])


def _short(label: str) -> str:
    line = " ".join(label.split())
    return line if len(line) <= LABEL_CHARS else f"{line[: LABEL_CHARS - 1].rstrip()}…"
