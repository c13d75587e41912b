"""The map of a library: drawn for a file, or as a page and data that a server keeps in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.errors import NothingFound
from ragscience.core.records import Paper, title_of
from ragscience.core.serialization import to_json
from ragscience.engine.json_output import SCHEMA_VERSION

if TYPE_CHECKING:
    from ragscience.engine.shared_parts import SharedParts
    from ragscience.graph.map_data import MapDrawing

__all__ = ["ServedMap", "draw_map", "map_state", "served_map"]


@dataclass(frozen=True, slots=True)
class ServedMap:
    """The map of one state of the library, without a path of this machine."""

    state: str
    """As of `map_state`."""
    page: bytes
    """HTML; its links are `/#paper=MD5&page=N`."""
    policy: str
    """The Content-Security-Policy that the page needs: its one script and style by their hashes, nothing else."""
    data: bytes
    """JSON: `nodes`, `edges` (with indices of nodes), `left_out`, and `papers`: the MD5 of each file."""


def map_state(shared: SharedParts) -> str:
    """Changes with the papers and with the graph."""
    library = shared.library
    with library.snapshot():
        return f"{library.library_id}-{library.generation}-{library.graph.state()}"


def draw_map(shared: SharedParts) -> tuple[MapDrawing, list[Paper]]:
    """(the drawing of the papers and the entities, all papers). Raises NothingFound for an empty library."""
    from ragscience.graph.map_data import map_drawing

    library, settings = shared.library, shared.settings
    with library.snapshot():
        papers = library.papers()
        if not papers:
            raise NothingFound("The library has no papers yet.", "Put PDFs into papers/, then run: python ingest.py")
        drawing = map_drawing(
            library,
            shared.graph_and_vectors()[0],
            neighbours=settings.map_neighbours,
            threshold=settings.map_min_cosine,
            max_nodes=settings.map_max_nodes,
            title_of=title_of,
        )
    return drawing, papers


def served_map(shared: SharedParts) -> ServedMap:
    """The map as it is now. Raises NothingFound for an empty library."""
    from ragscience.graph.map_html import map_page, map_policy

    with shared.library.snapshot():
        state = map_state(shared)
        drawing, papers = draw_map(shared)
    md5 = {paper.file: paper.md5 for paper in papers}
    page = map_page(drawing, {file: f"/#paper={one}" for file, one in md5.items()})
    data: Mapping[str, object] = {
        "schema": SCHEMA_VERSION,
        "nodes": drawing.nodes,
        "edges": drawing.edges,
        "left_out": drawing.left_out,
        "papers": md5,
    }
    return ServedMap(state, page, map_policy(), to_json(data).encode())
