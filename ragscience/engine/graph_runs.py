"""The engine's operations on the knowledge graph: build, edit, export, import, search and draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import ModelProblem, NothingFound, UsageError
from ragscience.core.records import Paper, PathStep
from ragscience.engine.events import Event, ModelChosen, OnEvent
from ragscience.engine.open_store import open_store
from ragscience.engine.paper_lookup import find_paper
from ragscience.graph.graph_records import CO_OCCURS, ENTITY_TYPES, OPTIONAL_TYPES, Entity
from ragscience.library.store import Store

if TYPE_CHECKING:
    from ragscience.engine.shared_parts import SharedParts
    from ragscience.graph.entity_merging import Merge
    from ragscience.graph.extraction import Report
    from ragscience.graph.graph_exchange import Transferred
    from ragscience.graph.graph_model import KnowledgeGraph
    from ragscience.graph.traversal import Walk

__all__ = [
    "CO_OCCURS",
    "GraphBuild",
    "GraphRequest",
    "LibraryGraph",
    "MapSummary",
    "NearEntity",
    "NearRelation",
    "Neighbourhood",
    "PassagesRead",
    "types_named",
]

MOST_RELATIONS = 20
"""Default number of relations around an entity."""


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """How the passages are read that were not read yet."""

    types: tuple[str, ...] = ENTITY_TYPES
    """The types of entities to look for."""
    by_llm: bool = False
    """By the language model instead of the rules: titles and abstracts, with `full` every passage."""
    full: bool = False
    again: bool = False
    """Also read passages again that were read before."""


@dataclass(frozen=True, slots=True)
class PassagesRead(Event):
    """So many of the passages are read and kept; comes first with none."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class GraphBuild:
    """What reading did, and how large the graph is now."""

    report: Report
    entities: int
    relations: int


@dataclass(frozen=True, slots=True)
class NearEntity:
    """An entity, with (file, page) of passages that name it."""

    entity: Entity
    pages: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class NearRelation:
    """A relation near an entity."""

    step: PathStep
    depth: int
    """Steps to its farther end, from 1."""
    confidence: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The entities of a name and what is around them, nearest first."""

    entities: tuple[NearEntity, ...]
    hops: int
    relations: tuple[NearRelation, ...]
    reached: int
    """Entities within so many hops, without those of the name."""
    walked: int
    """Relations within so many hops, shown or not."""
    co_occurring: int = 0
    """Entities that are only named in one sentence with these, and were left out."""


@dataclass(frozen=True, slots=True)
class MapSummary:
    """What the map shows."""

    papers: int
    entities: int
    left_out: str
    """One line on what the map leaves out; empty if it shows everything."""


def types_named(text: str | None) -> tuple[str, ...]:
    """The types that are always looked for, and those of a list like "person,task". Raises UsageError."""
    named = [word.strip().upper().replace("ORGANIZATION", "ORGANISATION") for word in (text or "").split(",")]
    for word in filter(None, named):
        if word not in (*ENTITY_TYPES, *OPTIONAL_TYPES):
            known = ", ".join(OPTIONAL_TYPES).lower()
            raise UsageError(f"There is no type {word.lower()!r} of entity.", f"Use {known} with --types.")
    return (*ENTITY_TYPES, *(kind for kind in OPTIONAL_TYPES if kind in named))


class LibraryGraph:
    """The graph of an engine's library."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared

    # Reading and mending

    def build(self, request: GraphRequest, *, on_event: OnEvent | None = None) -> GraphBuild:
        """Read what was not read yet; each batch is kept at once, so that a stopped run can resume.

        Raises ModelProblem where there is no language model to read with, or it gave nothing at all.
        """
        from ragscience.graph.entity_merging import load_graph
        from ragscience.graph.extraction import LLMReading, extract_by_llm, extract_locally, llm_version

        def progress(done: int, total: int) -> None:
            if on_event is not None:
                on_event(PassagesRead(done, total))

        shared, settings = self._shared, self._shared.settings
        with open_store(shared.home, settings, writing=True) as library:
            if request.again:
                library.graph.clear("llm" if request.by_llm else "local")
            if request.by_llm:
                choice = shared.models.llm_choice(settings, "llm")
                llm = choice.model
                if llm is None:
                    fix = "`python ingest.py graph --local` extracts without one."
                    raise ModelProblem("There is no LLM to read with.", fix)
                if on_event is not None:
                    on_event(ModelChosen(choice.warning or f"answers: {llm.name} ({choice.why})"))
                reading = LLMReading(
                    request.types,
                    llm_version(f"{llm.name} {llm.digest[:12]}".strip(), request.types),
                    full=request.full,
                    max_tokens=settings.max_answer_tokens,
                    seconds=settings.answer_seconds,
                    most_failures=settings.llm_failures,
                )
                report = extract_by_llm(library, llm, reading, progress)
            else:
                report = extract_locally(library, request.types, progress)
            graph = load_graph(library)
        return GraphBuild(report, len(graph), graph.relation_count)

    def merges(self) -> tuple[list[Merge], list[str]]:
        """(the entities that have several names, the names that were taken out of one)."""
        from ragscience.graph.entity_merging import list_merges, names_apart

        return list_merges(self._shared.library), names_apart(self._shared.library)

    def undo_merge(self, name: str) -> str:
        """Make a merged name an entity of its own; the name as it is compared. Raises NothingFound."""
        from ragscience.graph.entity_merging import undo_merge

        with open_store(self._shared.home, self._shared.settings, writing=True) as library:
            return undo_merge(library, name)

    def merge_again(self, name: str) -> str:
        """Take `undo_merge` of a name back; the name as it is compared. Raises NothingFound."""
        from ragscience.graph.entity_merging import merge_again

        with open_store(self._shared.home, self._shared.settings, writing=True) as library:
            return merge_again(library, name)

    # In and out

    def import_jsonl(self, folder: Path) -> Transferred:
        """Read nodes.jsonl and edges.jsonl, in place of an earlier import. Raises RagScienceError for a wrong line."""
        from ragscience.graph.graph_exchange import import_jsonl

        with open_store(self._shared.home, self._shared.settings, writing=True) as library:
            return import_jsonl(library, folder)

    def export_jsonl(self, folder: Path) -> Transferred:
        """Write nodes.jsonl and edges.jsonl. Raises RagScienceError where the disk refuses."""
        from ragscience.graph.graph_exchange import export_jsonl

        return export_jsonl(self._shared.library, folder)

    def export_graphml(self, file: Path) -> Transferred:
        """Write the graph as GraphML. Raises RagScienceError where the disk refuses."""
        from ragscience.graph.graph_exchange import export_graphml

        return export_graphml(self._shared.library, file)

    # Looking

    def neighbours(
        self, name: str, *, hops: int | None = None, most: int | None = None, together: bool = False
    ) -> Neighbourhood:
        """What is around the entities of a name by stated relations, `together` also by being named in one sentence.

        None: as the settings say. Raises NothingFound.
        """
        from ragscience.graph.traversal import pages_of, walk

        settings = self._shared.settings
        hops = hops or settings.graph_max_hops
        with self._graph() as (library, graph):
            numbers = _named(graph, name)
            types = frozenset(settings.graph_entity_types)
            around = walk(
                graph, [(number, 1.0) for number in numbers], hops=hops, types=types, stated_only=not together
            )
            found = [graph.entity(number) for number in numbers]
            entities = [NearEntity(one, pages_of(one.chunk_ids, [one.names], library)) for one in found]
            relations = _relations(graph, around, library, most or MOST_RELATIONS)
            reached = len(around.entities) - len(numbers)
            co_occurring = 0 if together else _co_occurring(graph, numbers)
        return Neighbourhood(tuple(entities), hops, relations, reached, len(around.edges), co_occurring)

    def path(self, first: str, second: str, *, together: bool = False) -> tuple[tuple[str, ...], tuple[PathStep, ...]]:
        """(names on the shortest way between two things, its relations with pages).

        By stated relations, `together` also by names in one sentence. Raises NothingFound.
        """
        from ragscience.graph.traversal import label_of, shortest_path, steps_of

        with self._graph() as (library, graph):
            ends = [(start, end) for start in _named(graph, first) for end in _named(graph, second) if start != end]
            found = (shortest_path(graph, start, end, together=together) for start, end in ends)
            paths = [path for path in found if path is not None]
            if not paths:
                also = not together and any(shortest_path(graph, *pair, together=True) for pair in ends)
                raise NothingFound(
                    f"{'No stated relation' if also else 'Nothing in the graph'} connects {first!r} with {second!r}.",
                    "`--together` also follows entities that are only named in the same sentence."
                    if also
                    else f'`python query.py graph "{first}"` shows what is around it.',
                )
            best = min(paths, key=lambda path: (len(path.relations), -path.score))
            return tuple(label_of(graph, key) for key in best.keys), steps_of(best.relations, graph, library)

    def related(self, paper: str, count: int) -> tuple[Paper, list[tuple[Paper, float]]]:
        """(the one paper that `paper` fits, the papers most like it with their cosines, best first).

        Raises NothingFound for no such paper and for one without passages, UsageError where several fit.
        """
        from ragscience.graph.paper_map import paper_map

        with self._library() as library:
            found = find_paper(library, paper)
            known = paper_map(library)
        place = next((at for at, one in enumerate(known.papers) if one.paper_id == found.paper_id), None)
        if place is None:
            raise NothingFound(
                f"{found.file} has no passages to compare.", f"`python ingest.py show {found.file}` shows more."
            )
        return found, known.related(place, count)

    def write_map(self, target: Path, *, force: bool = False) -> MapSummary:
        """Write a page with the papers and the entities.

        Raises NothingFound for an empty library, UsageError for a file that is not a map, unless with `force`.
        """
        from ragscience.engine.library_map import draw_map
        from ragscience.graph.map_data import PAPER
        from ragscience.graph.map_html import check_target, file_link, map_page, write_file

        if target.suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"The map is an HTML file, not {target.name!r}.", "Write: python query.py map map.html")
        check_target(target, force=force)
        with self._library():
            drawing, drawn = draw_map(self._shared)
        root, files = self._shared.home.root, self._shared.files
        here = [paper for paper in drawn if files.shown(paper.path) == paper.path]  # a link to a bucket would expire
        write_file(target, map_page(drawing, {paper.file: file_link(paper.path, target, root) for paper in here}))
        papers = sum(node.kind == PAPER for node in drawing.nodes)
        return MapSummary(papers, len(drawing.nodes) - papers, drawing.left_out)

    @contextmanager
    def _graph(self) -> Iterator[tuple[Store, KnowledgeGraph]]:
        """The library and its graph, of one generation. Raises NothingFound if there is no graph."""
        with self._library() as library:
            graph, _ = self._shared.graph_and_vectors()
            if not len(graph):
                raise NothingFound("There is no knowledge graph yet.", "`python ingest.py graph` makes it.")
            yield library, graph

    @contextmanager
    def _library(self) -> Iterator[Store]:
        """The library in one generation; what is seen of its damage is published."""
        library = self._shared.library
        try:
            with library.snapshot():
                yield library
        finally:
            self._shared.publish_damage()


def _named(graph: KnowledgeGraph, name: str) -> Sequence[int]:
    from ragscience.graph.entity_linking import similar_names
    from ragscience.graph.graph_records import matched

    key = graph.number_of(name)
    numbers = graph.by_name(name) if key is None else (key,)
    if numbers:
        return numbers
    wanted = matched(name)
    near = [other for other, _ in similar_names([wanted], list(graph.names))[wanted]]
    near = near or [other for other in sorted(graph.names) if wanted and wanted in other]
    hint = ", ".join(dict.fromkeys(graph.label(graph.names[other][0]) for other in near[:3]))
    raise NothingFound(
        f"The graph has no {name!r}.",
        f"Similar names: {hint}." if hint else "`python query.py map OUT.html` shows all names.",
    )


def _co_occurring(graph: KnowledgeGraph, numbers: Sequence[int]) -> int:
    """How many entities have no stated relation with these, only a sentence in common."""
    import numpy as np

    _, edges, others = graph.around(np.array(numbers, dtype=np.int64))
    weak = graph.are_kind(edges, CO_OCCURS)
    return len(np.setdiff1d(others[weak], others[~weak]))


def _relations(graph: KnowledgeGraph, around: Walk, library: Store, most: int) -> tuple[NearRelation, ...]:
    """The relations walked, by the depth of their farther end, then the strongest first."""
    from ragscience.graph.traversal import steps_of

    depth = dict(zip(around.entities.tolist(), around.depths.tolist(), strict=True))
    edges = [
        (max(1, depth[int(graph.sources[edge])], depth[int(graph.targets[edge])]), -strength, edge)
        for edge, strength in zip(around.edges.tolist(), around.edge_strengths.tolist(), strict=True)
    ]
    nearest = sorted(edges)[:most]
    relations = [graph.relation(edge) for _, _, edge in nearest]
    steps = steps_of(relations, graph, library)
    return tuple(
        NearRelation(step, far, relation.confidence)
        for step, relation, (far, _, _) in zip(steps, relations, nearest, strict=True)
    )
