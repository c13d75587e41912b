"""What the knowledge graph has, in counts, and its entities by their names, a page of results at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.records import Paper
from ragscience.engine.library_map import map_state
from ragscience.graph.graph_records import Entity, matched
from ragscience.graph.map_data import Evidence

if TYPE_CHECKING:
    from ragscience.engine.shared_parts import SharedParts
    from ragscience.graph.graph_model import KnowledgeGraph

__all__ = ["Entity", "EntityPassages", "GraphSummary", "entities_named", "entity_passages", "graph_summary"]


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """How large the graph is, and how much of the library it was read from."""

    state: str
    """Changes with the papers and with the graph."""
    entities: int
    relations: int
    entity_types: Mapping[str, int]
    """How many entities of each type."""
    relation_types: Mapping[str, int]
    papers: int
    passages: int
    """Of the library, without lists of references."""
    passages_read: int
    unread: tuple[Paper, ...]
    """Papers with passages that were not read, by file."""


@dataclass(frozen=True, slots=True)
class EntityPassages:
    """Where entities are named: in which papers, and some of the passages."""

    papers: tuple[tuple[Paper, int], ...]
    """Each with how many of its passages name them, by file."""
    passages: tuple[Evidence, ...]
    total: int
    """How many passages there are."""


def graph_summary(shared: SharedParts) -> GraphSummary:
    """The graph in counts; without one they are 0."""
    library = shared.library
    with library.snapshot():
        graph, _ = shared.graph_and_vectors()
        papers, read, state = library.papers(), library.graph.read_passages(), map_state(shared)
    unread = tuple(paper for paper in papers if (counts := read.get(paper.paper_id)) and counts[0] > counts[1])
    return GraphSummary(
        state,
        len(graph),
        graph.relation_count,
        dict(sorted(Counter(map(graph.entity_type, range(len(graph)))).items())),
        dict(sorted(Counter(map(graph.kind, range(graph.relation_count))).items())),
        len(papers),
        sum(total for total, _ in read.values()),
        sum(done for _, done in read.values()),
        unread,
    )


def entities_named(shared: SharedParts, query: str, *, limit: int, offset: int = 0) -> tuple[int, list[Entity]]:
    """(how many entities have a name with the query in it, those from `offset` on).

    Names that are the query come first, then those that begin with it; among these the most frequent. An empty
    query fits all.
    """
    graph, _ = shared.graph_and_vectors()
    ranks = _ranks(graph, matched(query))
    order = sorted(ranks, key=lambda number: (ranks[number], -int(graph.mentions[number]), number))
    return len(order), [graph.entity(number) for number in order[offset : offset + limit]]


def _ranks(graph: KnowledgeGraph, wanted: str) -> dict[int, int]:
    ranks: dict[int, int] = {}
    for name, numbers in graph.names.items():
        if wanted in name:
            rank = 0 if name == wanted else 1 if name.startswith(wanted) else 2
            for number in numbers:
                ranks[number] = min(rank, ranks.get(number, rank))
    return ranks


def entity_passages(
    shared: SharedParts, entities: tuple[Entity, ...], *, limit: int, offset: int = 0
) -> EntityPassages:
    """The papers that name these entities, and the passages from `offset` on, with a quote of each."""
    from ragscience.graph.map_data import passage_quotes
    from ragscience.graph.paper_map import papers_of_passages

    library = shared.library
    ids = sorted({chunk for one in entities for chunk in one.chunk_ids})
    with library.snapshot():
        owner_of = papers_of_passages(library)
        present = [chunk for chunk in ids if chunk in owner_of]
        counts = Counter(owner_of[chunk] for chunk in present)
        papers = tuple((paper, counts[paper.paper_id]) for paper in library.papers() if paper.paper_id in counts)
        names = [name for one in entities for name in one.names]
        return EntityPassages(papers, passage_quotes(library, present[offset : offset + limit], names), len(present))
