"""A search that asks the knowledge graph: the graph of a session, the papers it keeps to, the paths it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.errors import ModelProblem
from ragscience.graph.entity_merging import load_graph
from ragscience.graph.graph_search import GraphSearch
from ragscience.graph.traversal import steps_of
from ragscience.records import Filters, Found, FoundPath, Profile

if TYPE_CHECKING:
    from ragscience.store import Library
    from ragscience.terminal.session import Session

__all__ = ["NO_GRAPH", "graph_search_of", "papers_of", "with_paths"]

NO_GRAPH = "There is no knowledge graph yet: `python ingest.py graph` makes it."


def graph_search_of(session: Session, *, is_asked_for: bool) -> GraphSearch | None:
    """The graph of the session's library, or None and, where it `is_asked_for`, a warning."""
    library, settings = session.library, session.settings
    graph = load_graph(library)
    if not len(graph):
        if is_asked_for:
            session.warning(NO_GRAPH)
        return None
    return GraphSearch(
        graph,
        embedder=session.embedder,
        passages=library.chunk_count,
        hops=settings.graph_max_hops,
        types=settings.graph_entity_types,
        warning=session.warning,
    )


def papers_of(
    graph: GraphSearch, question: str, filters: Filters, library: Library, warning: Callable[[str], None]
) -> Filters:
    """The filters, kept to papers that mention anything related to the question; as they are where nothing is."""
    chunks = library.chunks(sorted(graph.passages(question)))
    papers = tuple(sorted({chunk.paper_id for chunk in chunks}))
    if not papers:
        warning("The question names nothing that the knowledge graph has, so all papers were searched.")
    return replace(filters, paper_ids=papers)


def with_paths(found: Found, graph: GraphSearch, library: Library, profile: Profile) -> Found:
    """What was found with the graph's names near the question and, where the profile weighs them, its best paths."""
    if "gear" not in dict(profile.more_weights):
        return replace(found, concepts=graph.concepts(found.question))
    try:
        paths = graph.paths(found.question)
    except ModelProblem:  # the search has told of it
        paths = ()
    return replace(
        found,
        concepts=graph.concepts(found.question),
        paths=tuple(FoundPath(steps_of(path.relations, graph.graph, library), path.score) for path in paths),
    )
