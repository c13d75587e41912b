"""The papers of a topic as a graph (the graph guide's `build_graph`): similar papers, entities, stated relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event as Flag
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.errors import Cancelled, NothingFound, UsageError
from ragscience.core.records import Paper
from ragscience.engine.asking import search
from ragscience.engine.events import Event, FetchRequest, OnEvent
from ragscience.engine.graph_runs import GraphRequest, LibraryGraph
from ragscience.engine.ingest import Ingest
from ragscience.engine.requests import SearchRequest
from ragscience.graph.graph_records import CO_OCCURS, Entity, Relation

if TYPE_CHECKING:
    from ragscience.engine.shared_parts import SharedParts


MOST_ENTITIES, MOST_RELATIONS = 500, 2000
PASSAGES_PER_PAPER = 20


@dataclass(frozen=True, slots=True)
class TopicRequest:
    """The papers of a topic."""

    topic: str
    count: int = 5
    """How many papers."""
    from_library: bool = False
    """Of the papers that are there; else they are fetched from arXiv."""


@dataclass(frozen=True, slots=True)
class TopicGraph:
    """Papers and what joins them."""

    papers: tuple[Paper, ...]
    """The best for the topic first."""
    edges: tuple[tuple[int, int, float], ...]
    """Indices of two similar papers, and the cosine of their means."""
    entities: tuple[Entity, ...]
    """Those that the papers name, the most frequent first; at most MOST_ENTITIES."""
    relations: tuple[Relation, ...]
    """Those that the papers state between these entities; at most MOST_RELATIONS."""
    failures: tuple[str, ...] = ()
    """Why papers are missing."""


def build_topic_graph(
    shared: SharedParts, request: TopicRequest, *, on_event: OnEvent, cancel: Flag | None = None
) -> TopicGraph:
    """Find the papers, read what the library lacks of them, bring the knowledge graph up to date; writes the library.

    Raises UsageError offline and for a topic that is none, NothingFound where no paper fits it, SourceError where arXiv
    fails, Cancelled once `cancel` is set.
    """

    def told(event: Event) -> None:
        on_event(event)
        if cancel is not None and cancel.is_set():
            raise Cancelled

    if cancel is not None and cancel.is_set():
        raise Cancelled
    failures: tuple[str, ...] = ()
    if request.from_library:
        papers = _found_papers(shared, request, cancel)
    else:
        papers, failures = _fetched_papers(shared, request, on_event, cancel)
    if cancel is not None and cancel.is_set():
        raise Cancelled
    LibraryGraph(shared).build(GraphRequest(), on_event=told)
    library = shared.library
    with library.snapshot():
        edges = _similar(shared, papers)
        entities, relations = _stated(shared, papers)
    return TopicGraph(tuple(papers), edges, entities, relations, failures)


def _found_papers(shared: SharedParts, request: TopicRequest, cancel: Flag | None) -> list[Paper]:
    """The papers whose passages fit the topic best."""
    most = min(200, PASSAGES_PER_PAPER * request.count)
    found = search(shared, SearchRequest(request.topic, top_k=most, rerank="off"), cancel=cancel)
    by_id = {paper.paper_id: paper for paper in shared.library.papers()}
    best = dict.fromkeys(hit.chunk.paper_id for hit in found.hits)
    papers = [by_id[paper_id] for paper_id in best if paper_id in by_id][: request.count]
    if not papers:
        raise NothingFound("No paper of the library fits this topic.", "Use other words, or add papers.")
    return papers


def _fetched_papers(
    shared: SharedParts, request: TopicRequest, on_event: OnEvent, cancel: Flag | None
) -> tuple[list[Paper], tuple[str, ...]]:
    """(the papers that arXiv has for the topic, as they are in the library, why others are missing)."""
    from ragscience.sources.arxiv import identify

    if shared.settings.offline:
        raise UsageError(
            "The server is offline: papers cannot be fetched from arXiv.",
            'Start it without --offline, or send "source": "library" to use the papers that are there.',
        )
    if not identify(request.topic).topic:
        raise UsageError("The topic is an address or the number of a paper.", "Give words to search for.")
    came = Ingest(shared).fetch(FetchRequest((request.topic,), request.count), on_event=on_event, cancel=cancel)
    if not came.papers and came.failures:
        raise came.failures[0].error
    places = {form: paper for paper in shared.library.papers() for form in (paper.md5, paper.file, paper.path)}
    found = [places.get(one.md5) or places.get(one.file) for one in came.papers]
    papers = {paper.md5: paper for paper in found if paper is not None}
    failures = [f"{one.title}: {one.error}" for one in came.papers if one.error]
    failures += [f"{each.path.name}: {each.problem.message}" for each in (came.ingest.failures if came.ingest else ())]
    if not papers and not (cancel is not None and cancel.is_set()):
        raise NothingFound("None of the papers could be fetched and read.", "; ".join(failures[:3]))
    return list(papers.values()), tuple(failures)


def _similar(shared: SharedParts, papers: Sequence[Paper]) -> tuple[tuple[int, int, float], ...]:
    """Each of these papers with the others most like it."""
    from ragscience.graph.paper_map import paper_map, similarity_edges

    known = paper_map(shared.library)
    row = {paper.md5: at for at, paper in enumerate(known.papers)}
    places = [at for at, paper in enumerate(papers) if paper.md5 in row]
    means = known.means[[row[papers[at].md5] for at in places]]
    similar = similarity_edges(np.ascontiguousarray(means))
    return tuple((places[one], places[other], round(cosine, 6)) for one, other, cosine in similar)


def _stated(shared: SharedParts, papers: Sequence[Paper]) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """(the entities that these papers name, what they state between them)."""
    graph, _ = shared.graph_and_vectors()
    chunks = {chunk.chunk_id for paper in papers for chunk in shared.library.paper_chunks(paper.paper_id)}
    named = [one for one in graph.entities() if not chunks.isdisjoint(one.chunk_ids)]
    entities = sorted(named, key=lambda one: (-one.mentions, one.key))[:MOST_ENTITIES]
    kept = {one.key for one in entities}
    relations = [
        one
        for one in graph.relations()
        if {one.source, one.target} <= kept and one.relation != CO_OCCURS and not chunks.isdisjoint(one.chunk_ids)
    ]
    relations.sort(key=lambda one: (-one.confidence, one.source, one.target, one.relation))
    return tuple(entities), tuple(relations[:MOST_RELATIONS])
