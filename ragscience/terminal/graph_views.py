"""What is shown of the knowledge graph: an entity and what is around it, a way between two, the paths of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragscience.engine.printable import plain
from ragscience.engine.source_list import cited_label
from ragscience.errors import NothingFound
from ragscience.graph.entity_linking import similar_names
from ragscience.graph.entity_merging import load_graph
from ragscience.graph.graph_records import matched
from ragscience.graph.traversal import Walk, label_of, pages_of, shortest_path, steps_of, walk
from ragscience.json_output import (
    EntityOutput,
    GraphOutput,
    GraphPathOutput,
    PageOutput,
    RelationOutput,
    page_outputs,
    print_json,
    select,
    step_output,
)
from ragscience.records import Found, PathStep
from ragscience.store import Home, Library
from ragscience.terminal.graph_search import NO_GRAPH
from ragscience.terminal.screen import console

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.graph.graph_model import KnowledgeGraph
    from ragscience.settings import Settings

__all__ = ["paths_view", "show_entity", "show_path"]

MOST_SHOWN = 20
"""Relations that are listed where no number is asked for."""


def show_entity(settings: Settings, name: str, *, hops: int | None, most: int | None, as_json: bool) -> int:
    """Print the entities of a name, and what is around them, nearest first, with pages. Raises NothingFound."""
    with Library.open(Home(settings.home)) as library:
        graph = _graph(library)
        numbers = _named(graph, name)
        hops = hops or settings.graph_max_hops
        types = frozenset(settings.graph_entity_types)
        around = walk(graph, [(number, 1.0) for number in numbers], hops=hops, types=types)
        entities = [_entity(graph, number, library) for number in numbers]
        relations = _relations(graph, around, library, most or MOST_SHOWN)
    reached = len(around.entities) - len(numbers)
    if as_json:
        print_json(select(GraphOutput, entities=entities, hops=hops, relations=relations, reached=reached))
        return 0
    out = console()
    for entity in entities:
        others = [other for other in entity["names"] if other != entity["name"]]
        called = f"{entity['name']} ({entity['type']})" + (f", also {', '.join(others)}" if others else "")
        _print(out, f"{called}: named {entity['mentions']} times, {_places(entity['pages'])}", "bold")
    for each in relations:
        depth = "  " * each["depth"]
        words = f"{each['source']} {each['relation']} {each['target']}"
        _print(out, f"{depth}{words}  {_places(each['pages'])}")
    steps = "one step" if hops == 1 else f"{hops} steps"
    _print(out, f"{reached} entities within {steps}; {len(relations)} of {len(around.edges)} relations shown.", "dim")
    return 0


def show_path(settings: Settings, first: str, second: str, *, as_json: bool) -> int:
    """Print how two things are connected, with a page for each step. Raises NothingFound."""
    with Library.open(Home(settings.home)) as library:
        graph = _graph(library)
        ends = [(start, end) for start in _named(graph, first) for end in _named(graph, second) if start != end]
        paths = [path for start, end in ends if (path := shortest_path(graph, start, end)) is not None]
        if not paths:
            raise NothingFound(
                f"Nothing in the graph connects {first!r} with {second!r}.",
                f'`python query.py graph "{first}"` shows what is around it.',
            )
        best = min(paths, key=lambda path: (len(path.relations), -path.score))
        steps = steps_of(best.relations, graph, library)
        names = [label_of(graph, key) for key in best.keys]
    if as_json:
        shown = [step_output(step) for step in steps]
        print_json(select(GraphPathOutput, source=names[0], target=names[-1], steps=shown))
        return 0
    out = console()
    for step in steps:
        _print(out, _step(step))
    return 0


def paths_view(found: Found, out: Console) -> None:
    """The graph's paths for a question, a line each; nothing without any."""
    if found.paths:
        _print(out, "Paths in the knowledge graph:", "dim")
    for path in found.paths:
        _print(out, f"  {path.score:.3f}  {'; '.join(map(_step, path.steps))}", "dim")


def _graph(library: Library) -> KnowledgeGraph:
    graph = load_graph(library)
    if not len(graph):
        raise NothingFound(NO_GRAPH.partition(":")[0] + ".", "`python ingest.py graph` makes it.")
    return graph


def _named(graph: KnowledgeGraph, name: str) -> tuple[int, ...]:
    numbers = graph.by_name(name)
    if numbers:
        return numbers
    near = similar_names([matched(name)], list(graph.names))[matched(name)] or tuple(
        (other, 0.0) for other in sorted(graph.names) if matched(name) and matched(name) in other
    )
    hint = ", ".join(dict.fromkeys(graph.label(graph.names[other][0]) for other, _ in near[:3]))
    raise NothingFound(
        f"The graph has no {name!r}.", f"Near it: {hint}." if hint else "`python query.py map OUT.html` shows all."
    )


def _entity(graph: KnowledgeGraph, number: int, library: Library) -> EntityOutput:
    entity = graph.entity(number)
    pages = page_outputs(pages_of(entity.chunk_ids, [entity.names], library))
    return select(EntityOutput, entity, name=entity.label, type=entity.entity_type, pages=pages)


def _relations(graph: KnowledgeGraph, around: Walk, library: Library, most: int) -> list[RelationOutput]:
    """The relations walked, by the depth of their farther end, then the strongest first."""
    depth = dict(zip(around.entities.tolist(), around.depths.tolist(), strict=True))
    edges = [
        (max(1, depth[int(graph.sources[edge])], depth[int(graph.targets[edge])]), -strength, edge)
        for edge, strength in zip(around.edges.tolist(), around.edge_strengths.tolist(), strict=True)
    ]
    shown = []
    for far, _, edge in sorted(edges)[:most]:
        relation = graph.relation(edge)
        (step,) = steps_of([relation], graph, library)
        shown.append(select(RelationOutput, relation, **step_output(step), depth=far))
    return shown


def _places(pages: Sequence[PageOutput]) -> str:
    return " ".join(cited_label(page["file"], page["page"]) for page in pages)


def _step(step: PathStep) -> str:
    places = " ".join(cited_label(file, page) for file, page in step.pages)
    return f"{step.source} {step.relation} {step.target} {places}".strip()


def _print(out: Console, line: str, style: str = "") -> None:
    from rich.text import Text

    out.print(Text(" ".join(plain(line).split()) if not line.startswith(" ") else plain(line), style), soft_wrap=True)
