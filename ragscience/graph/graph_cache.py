"""The graph of a library: from its cache where that is in step, else made from the rows and cached."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ragscience.errors import RagScienceError
from ragscience.graph.entity_merging import merge
from ragscience.graph.extraction_json import decoded
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.store.atomic_files import disk_errors, write_atomically

if TYPE_CHECKING:
    from ragscience.store import Library

__all__ = ["load_graph"]


def load_graph(library: Library) -> KnowledgeGraph:
    """The graph as the library's rows give it; an empty one where none were read.

    The cache is written beside; where the disk refuses, the graph is there all the same. Raises RagScienceError for a
    row that cannot be read.
    """
    state = library.graph.state()
    if not state:
        return KnowledgeGraph.of((), ())
    path = library.home.graph / "graph.npz"
    cached = KnowledgeGraph.load(path, state)
    if cached is not None:
        return cached
    with library.snapshot():
        state, rows, apart = library.graph.state(), library.graph.rows(), library.graph.apart()
    merged = merge(((paper, decoded(chunk, text)) for chunk, paper, _, text in rows), apart)
    graph = KnowledgeGraph.of(merged.entities, merged.relations)
    with contextlib.suppress(RagScienceError), disk_errors(path):
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, graph.saved(state))
    return graph
