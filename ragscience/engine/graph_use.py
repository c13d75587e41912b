"""How a search uses the knowledge graph: the papers it keeps to, and the paths it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Filters, Found, FoundPath, Profile
from ragscience.graph.graph_search import GraphSearch
from ragscience.graph.traversal import steps_of

if TYPE_CHECKING:
    from ragscience.core.settings import Settings
    from ragscience.engine.made_once import Warn
    from ragscience.engine.shared_parts import SharedParts
    from ragscience.library.store import Store
    from ragscience.models.model_protocols import Embedder

__all__ = ["NO_GRAPH", "graph_search_of", "papers_of", "with_paths"]

NO_GRAPH = "There is no knowledge graph yet: `python ingest.py graph` makes it."


def graph_search_of(
    shared: SharedParts, settings: Settings, embedder: Embedder, warn: Warn, *, is_wanted: bool
) -> GraphSearch | None:
    """The graph of the library for one question, or None and, where it `is_wanted`, a warning."""
    graph, triples = shared.graph_and_vectors()
    if not len(graph):
        if is_wanted:
            warn(NO_GRAPH)
        return None
    search = GraphSearch(
        graph,
        embedder=embedder,
        passages=shared.library.chunk_count,
        hops=settings.graph_max_hops,
        types=settings.graph_entity_types,
        warning=warn,
    )
    search.triples = triples
    return search


def papers_of(graph: GraphSearch, question: str, filters: Filters, library: Store, warn: Warn) -> Filters:
    """The filters, limited to papers that mention entities related to the question; unchanged if no paper does."""
    chunks = library.chunks(sorted(graph.passages(question)))
    papers = tuple(sorted({chunk.paper_id for chunk in chunks}))
    if not papers:
        warn("The question names no entity of the knowledge graph, so all papers were searched.")
    return replace(filters, paper_ids=papers)


def with_paths(found: Found, graph: GraphSearch, library: Store, profile: Profile) -> Found:
    """What was found with the graph's names near the question and, where the profile weighs them, its best paths."""
    concepts = graph.concepts(found.question)
    if "gear" not in dict(profile.more_weights):
        return replace(found, concepts=concepts)
    try:
        paths = graph.paths(found.question)
    except ModelProblem:  # the search has warned of it
        paths = ()
    steps = tuple(FoundPath(steps_of(path.relations, graph.graph, library), path.score) for path in paths)
    return replace(found, concepts=concepts, paths=steps)
