"""The engine's operations on the knowledge graph: build, edit, export, import, look up and draw."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.records import Paper, PathStep, title_of
from ragscience.engine.events import ModelChosen, OnEvent, PassagesRead, unheard
from ragscience.engine.shared_parts import SharedParts
from ragscience.graph import graph_exchange, traversal
from ragscience.graph.citing import Citations
from ragscience.graph.extraction import GraphBuild as GraphBuild
from ragscience.graph.extraction import extract_by_llm, extract_locally
from ragscience.graph.graph_model import KnowledgeGraph, load_graph
from ragscience.graph.graph_records import CO_OCCURS as CO_OCCURS
from ragscience.graph.graph_records import ENTITY_TYPES, Entity, Relation
from ragscience.graph.graph_search import keys_named
from ragscience.graph.map_html import ServedMap as ServedMap
from ragscience.graph.map_html import check_target, file_link, map_page, served_page
from ragscience.graph.paper_map import PAPER, MapDrawing, map_drawing, paper_map, similarity_edges
from ragscience.library.atomic_files import disk_errors, write_atomically
from ragscience.library.store import Store
from ragscience.search.paper_lookup import find_paper

HOPS = 2
"""Steps around an entity that are shown (the graph guide)."""
MOST_NAMED, MOST_STATED = 500, 2000
"""Entities and relations of some papers."""
MOST_RELATIONS = 20
"""Default number of relations around an entity."""


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """How the passages are read that were not read yet."""

    types: tuple[str, ...] = ()
    """Types of entities to look for beside those of the settings."""
    by_llm: bool = False
    """By the language model instead of the rules: titles and abstracts, with `full` every passage."""
    full: bool = False
    again: bool = False
    """Also read passages again that were read before."""


def types_named(text: str | None) -> tuple[str, ...]:
    """The types of a list like "person,task". Raises UsageError for what is no word."""
    named = tuple(word.strip().upper().replace(" ", "_") for word in (text or "").split(",") if word.strip())
    for word in named:
        if not word.replace("_", "").isalnum() or len(word) > 100:
            raise UsageError(f"{word[:40]!r} is no type of entity.", "Use words like person,organisation with --types.")
    return tuple(word.replace("ORGANIZATION", "ORGANISATION") for word in named)


class LibraryGraph:
    """The graph of an engine's library."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared
        self._served: ServedMap | None = None
        self._drawing = Lock()

    # Reading and mending

    def build(self, request: GraphRequest, *, on_event: OnEvent = unheard) -> GraphBuild:
        """Read what was not read yet; each batch is kept at once, so that a stopped run can resume.

        Raises ModelProblem where there is no language model to read with, or it gave nothing at all.
        """
        settings, progress = self._shared.settings, lambda done, total: on_event(PassagesRead(done, total))
        types = tuple(dict.fromkeys((*(settings.graph_entity_types or ENTITY_TYPES), *request.types)))
        with self._shared.writing() as library:
            if request.again:
                library.graph.clear("llm" if request.by_llm else "local")
            if request.by_llm:
                choice = self._shared.models.llm_choice(settings, "llm")
                assert choice.model is not None  # noqa: S101 - for the type: one that is asked for by name is there
                on_event(ModelChosen(choice.warning or f"answers: {choice.model.name} ({choice.why})"))
                built = extract_by_llm(library, choice.model, types, settings, progress, full=request.full)
            else:
                built = extract_locally(library, types, progress)
            graph = load_graph(library)
        built.entities, built.relations = len(graph), graph.relation_count
        built.stated = sum(one.relation != CO_OCCURS for one in graph.relations())
        return built

    # In and out

    def import_jsonl(self, folder: Path) -> graph_exchange.Transferred:
        """Read nodes.jsonl and edges.jsonl, in place of an earlier import. Raises RagScienceError for a wrong line."""
        with self._shared.writing() as library:
            return graph_exchange.import_jsonl(library, folder)

    def export_jsonl(self, folder: Path) -> graph_exchange.Transferred:
        """Write nodes.jsonl and edges.jsonl. Raises RagScienceError where the disk refuses."""
        return graph_exchange.export_jsonl(self._shared.library, folder)

    def export_graphml(self, file: Path) -> graph_exchange.Transferred:
        """Write the graph as GraphML. Raises RagScienceError where the disk refuses."""
        return graph_exchange.export_graphml(self._shared.library, file)

    # Looking

    def state(self) -> str:
        """Changes with the papers and with the graph."""
        library = self._shared.library
        with library.snapshot():
            return f"{library.about.library_id}-{library.about.version}-{library.graph.state()}"

    def summary(self) -> tuple[dict[str, Any], list[Paper]]:
        """(the graph and what it was read from in counts, the papers with passages that were not read, by file).

        Passages are the library's without lists of references; without a graph the counts are 0.
        """
        with self._library() as library:
            graph, _ = self._shared.graph_and_vectors()
            papers, read = library.papers(), library.graph.read_passages()
            counts = {
                "state": self.state(),
                "entities": len(graph),
                "relations": graph.relation_count,
                "entity_types": dict(sorted(Counter(one.entity_type for one in graph.entities()).items())),
                "relation_types": dict(sorted(Counter(one.relation for one in graph.relations()).items())),
                "papers": len(papers),
                "passages": sum(total for total, _ in read.values()),
                "passages_read": sum(done for _, done in read.values()),
            }
            unread = [one for one in papers if (found := read.get(one.paper_id)) and found[0] > found[1]]
            return counts, unread

    def neighbours(
        self, name: str, *, hops: int | None = None, most: int | None = None, together: bool = False
    ) -> traversal.Neighbourhood:
        """What is around the entities of a name by stated relations, `together` also by being named in one sentence.

        At most `most` relations within `hops` steps (None: MOST_RELATIONS, HOPS). Raises NothingFound.
        """
        hops = hops or HOPS
        types = frozenset(self._shared.settings.graph_entity_types)
        with self._graph() as (library, graph):
            keys = keys_named(graph, name)
            around = traversal.walk(graph, dict.fromkeys(keys, 1.0), hops=hops, types=types, stated_only=not together)
            entities = [
                traversal.NearEntity(one, traversal.pages_of(one.chunk_ids, library, one.names))
                for one in map(graph.entity, keys)
            ]
            relations = traversal.relations_around(graph, around, library, most or MOST_RELATIONS)
            reached = len(around.depths) - len(keys)
            others = 0 if together else traversal.co_occurring(graph, keys)
        return traversal.Neighbourhood(tuple(entities), hops, relations, reached, len(around.relations), others)

    def path(self, first: str, second: str, *, together: bool = False) -> tuple[tuple[str, ...], tuple[PathStep, ...]]:
        """(names on the shortest way between two things, its relations with pages).

        By stated relations; where none connect them, or `together`, also by names in one sentence. Raises NothingFound.
        """
        with self._graph() as (library, graph):
            ends = [(one, two) for one in keys_named(graph, first) for two in keys_named(graph, second) if one != two]
            for also in (together,) if together else (False, True):
                found = [traversal.shortest_path(graph, start, end, together=also) for start, end in ends]
                paths = [path for path in found if path is not None]
                if paths:
                    best = min(paths, key=lambda path: (len(path.relations), -path.score))
                    return tuple(map(graph.label, best.keys)), traversal.steps_of(best.relations, graph, library)
        fix = f'`python query.py graph "{first}"` shows what is around it.'
        raise NothingFound(f"Nothing in the graph connects {first!r} with {second!r}.", fix)

    def related(self, paper: str, count: int) -> tuple[Paper, list[tuple[Paper, float]]]:
        """(the one paper that `paper` fits, the papers most like it with their cosines, best first).

        Raises NothingFound for no such paper and for one without passages, UsageError where several fit.
        """
        with self._library() as library:
            found = find_paper(library, paper)
            known = paper_map(library)
        place = next((at for at, one in enumerate(known.papers) if one.paper_id == found.paper_id), None)
        if place is None:
            fix = f"`python ingest.py show {found.file}` shows more."
            raise NothingFound(f"{found.file} has no passages to compare.", fix)
        return found, known.related(place, count)

    def citations(self, paper: Paper) -> tuple[list[Paper], list[Paper], list[str]]:
        """(the papers here that it cites, those that cite it, the identifiers of the other ones that it cites).

        By the lists of references; an identifier is a DOI, or "arXiv:" with an id.
        """
        with self._library() as library:
            known = Citations.of(library)
            cited, citing = [one.cited for one in known.by(paper)], [one.citing for one in known.to(paper)]
            return cited, citing, known.elsewhere(paper)

    def among(self, papers: Sequence[Paper]) -> tuple[list[tuple[Paper, Paper, float]], list[Entity], list[Relation]]:
        """(which of these papers are similar, with the cosines of their means, what they name, what they state of it).

        Entities are the most frequent first, at most MOST_NAMED; relations the surest first, at most MOST_STATED.
        """
        with self._library() as library:
            known, graph = paper_map(library), self._shared.graph_and_vectors()[0]
            row = {paper.md5: at for at, paper in enumerate(known.papers)}
            placed = [paper for paper in papers if paper.md5 in row]
            near = similarity_edges(np.ascontiguousarray(known.means[[row[paper.md5] for paper in placed]]))
            chunks = {chunk.chunk_id for paper in papers for chunk in library.paper_chunks(paper.paper_id)}
        named = [one for one in graph.entities() if not chunks.isdisjoint(one.chunk_ids)]
        entities = sorted(named, key=lambda one: (-one.mentions, one.key))[:MOST_NAMED]
        kept = {one.key for one in entities}
        inside = (one for one in graph.relations() if {one.source, one.target} <= kept and one.relation != CO_OCCURS)
        stated = [one for one in inside if not chunks.isdisjoint(one.chunk_ids)]
        stated.sort(key=lambda one: (-one.confidence, one.source, one.target, one.relation))
        return [(placed[one], placed[other], cosine) for one, other, cosine in near], entities, stated[:MOST_STATED]

    # The map

    def write_map(self, target: Path, *, force: bool = False) -> tuple[int, int, str]:
        """Write a page; (papers on it, entities on it, one line on what it leaves out, or nothing).

        Raises NothingFound for an empty library, UsageError for a file that is not a map, unless with `force`.
        """
        if target.suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"The map is an HTML file, not {target.name!r}.", "Write: python query.py map map.html")
        check_target(target, force=force)
        drawing, drawn = self._drawn()
        root, files = self._shared.home.root, self._shared.files
        here = [paper for paper in drawn if files.shown(paper.path) == paper.path]  # a link to a bucket would expire
        page = map_page(drawing, {paper.file: file_link(paper.path, target, root) for paper in here})
        with disk_errors(target):
            write_atomically(target, page)
        papers = sum(node.kind == PAPER for node in drawing.nodes)
        return papers, len(drawing.nodes) - papers, drawing.left_out

    def served_map(self) -> ServedMap:
        """The map, drawn once for each state of the library. Raises NothingFound for an empty library."""
        with self._drawing, self._library():
            if self._served is None or self._served.state != self.state():
                drawing, papers = self._drawn()
                self._served = served_page(self.state(), drawing, {paper.file: paper.md5 for paper in papers})
            return self._served

    def _drawn(self) -> tuple[MapDrawing, list[Paper]]:
        """(the drawing of the papers and the entities, all papers). Raises NothingFound for an empty library."""
        with self._library() as library:
            papers = library.papers()
            if not papers:
                fix = "Put PDFs into papers/, then run: python ingest.py"
                raise NothingFound("The library has no papers yet.", fix)
            return map_drawing(library, self._shared.graph_and_vectors()[0], title_of=title_of), papers

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
