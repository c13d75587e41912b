"""The knowledge graph: built and exchanged (`ingest.py graph`), shown, asked for paths, and drawn (`query.py`)."""

from __future__ import annotations

from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragscience.cli import options as opt
from ragscience.cli.output import console, flat, paged, print_json, print_table, put
from ragscience.cli.running import SOME_FAILED, opened, say
from ragscience.cli.screen import IngestScreen
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import UsageError
from ragscience.core.records import title_of
from ragscience.core.serialization import select
from ragscience.engine.printable import counted, page_outputs, step_output

if TYPE_CHECKING:
    from ragscience.engine.graph_runs import GraphBuild, GraphRequest


MOST_FAILURES_SHOWN = 20
ENTITIES = ("entity", "entities")
TOGETHER = opt.flag("--together", "Also show entities that only appear in the same sentence.")


def build_graph(
    run: opt.Run,
    llm: bool = opt.flag("--llm", "Extract with the LLM, from titles and abstracts (see --depth)."),
    local: bool = opt.flag("--local", "Extract from every passage without an LLM (the default)."),
    depth: Literal["abstract", "full"] = opt.option(
        "--depth WHAT", "What the LLM reads: abstract, or full (every passage).", "abstract"
    ),
    types: str | None = opt.option("--types LIST", "Also extract these entity types, such as person,task."),
    again: bool = opt.flag("--again", "Also read passages that were read before."),
    export: Path | None = opt.option("--export DIR", "Write nodes.jsonl and edges.jsonl to this folder."),
    graphml: Path | None = opt.option("--graphml FILE", "Write the graph to this file, as GraphML."),
    import_from: Path | None = opt.option("--import DIR", "Import nodes.jsonl and edges.jsonl from this folder."),
) -> int:
    """Build the knowledge graph from the papers, or update it.

    Passages that were read before are not read again. Options also export and import it.
    """
    from ragscience.engine.graph_runs import GraphRequest, types_named

    if llm and local:
        raise UsageError("--llm and --local exclude each other.", "Run `graph` twice to use both.")
    if depth == "full" and not llm:
        raise UsageError("--depth is for --llm: without an LLM every passage is read.", "Add --llm or leave it out.")
    request = GraphRequest(types_named(types), by_llm=llm, full=depth == "full", again=again)
    others = (export, graphml, import_from)
    code = 0
    with IngestScreen(quiet=run.quiet) as screen, opened(screen, **run.flags()) as engine:
        graph = engine.graph
        if import_from:
            came = graph.import_jsonl(import_from)
            passages = counted(came.passages, "passage")
            screen.tell(f"imported {_size(came.entities, came.relations)} of {passages}")
        if llm or local or again or not any(others):
            built = graph.build(request, on_event=screen)
            STATUS.hide()
            for line in built.failures[:MOST_FAILURES_SHOWN]:
                say(line)
            if len(built.failures) > MOST_FAILURES_SHOWN:
                say(f"and {len(built.failures) - MOST_FAILURES_SHOWN} more of this kind")
            screen.tell(_summary(built, request))
            code = SOME_FAILED if built.failures else 0
        for target, write in ((export, graph.export_jsonl), (graphml, graph.export_graphml)):
            if target:
                went = write(target)
                screen.tell(f"{_size(went.entities, went.relations)} written to {target}")
    return code


def _summary(built: GraphBuild, request: GraphRequest) -> str:
    """What reading did, in one line."""
    nothing = not built.passages and not built.failures
    read = f"read {counted(built.passages, 'passage')} of {counted(built.papers, 'paper')}"
    parts = ["no new passages to read" if nothing else read]
    parts += [f"{len(built.failures)} failed"] * bool(built.failures)
    parts += [f"{counted(built.left, 'passage')} left for the next run"] * bool(built.left)
    options = (" --llm" if request.by_llm else "") + (" --depth full" if request.full else "")
    graph = f"the graph has {_size(built.entities, built.relations)}, {built.stated:,} of them stated"
    return f"{', '.join(parts)}: {graph}. After new papers, `python ingest.py graph{options}` updates it."


def _size(entities: int, relations: int) -> str:
    return f"{counted(entities, *ENTITIES)} and {counted(relations, 'relation')}"


def show_graph(
    run: opt.Run,
    entity: str = opt.argument("NAME", "A method, a dataset or a concept."),
    hops: int | None = opt.option("--hops N", "How many steps to follow; default: 2.", min=1, max=4),
    limit: int | None = opt.LIMIT,
    together: bool = TOGETHER,
    json: bool = opt.JSON,
) -> int:
    """Show what the knowledge graph connects with an entity, with pages."""
    from ragscience.cli.source_views import path_words
    from ragscience.engine.places import cited_label

    with opened(**run.flags()) as engine:
        found = engine.graph.neighbours(entity, hops=hops, most=limit, together=together)
    if json:
        entities = [
            select("name type names mentions pages", one.entity, name=one.entity.label, type=one.entity.entity_type,
                   pages=page_outputs(one.pages))
            for one in found.entities
        ]  # fmt: skip
        relations = [
            select("source relation target pages depth confidence", each, **step_output(each.step))
            for each in found.relations
        ]
        shown = {"entities": entities, "relations": relations}
        return print_json(select("schema entities hops relations reached", found, **shown))
    with paged() as out:
        for near in found.entities:
            named, others = near.entity, [other for other in near.entity.names if other != near.entity.label]
            called = f"{named.label} ({named.entity_type})" + (f", also {', '.join(others)}" if others else "")
            places = " ".join(starmap(cited_label, near.pages))
            put(out, flat(f"{called}: named {counted(named.mentions, 'time')}, {places}"), style="bold")
        for each in found.relations:
            put(out, path_words(each.step), "  " * each.depth)
        reached = f"{counted(found.reached, *ENTITIES)} within {counted(found.hops, 'step')}"
        line = f"{reached}; {len(found.relations)} of {counted(found.walked, 'relation')} shown."
        if not found.walked:
            line = "No paper states a relation for it."
        if found.co_occurring:
            names = counted(found.co_occurring, "name")
            line += f" {names} only in the same sentence: --together shows them."
        put(out, line, style="dim")
    return 0


def show_path(
    run: opt.Run,
    first: str = opt.argument("A", "An entity: a method, a dataset or a concept."),
    second: str = opt.argument("B", "Another entity."),
    together: bool = TOGETHER,
    json: bool = opt.JSON,
) -> int:
    """Show how two entities are connected, with a page for each step."""
    from ragscience.cli.source_views import path_words
    from ragscience.engine.graph_runs import CO_OCCURS

    with opened(**run.flags()) as engine:
        names, steps = engine.graph.path(first, second, together=together)
    if json:
        shown = [step_output(step) for step in steps]
        return print_json(select("schema source target steps", source=names[0], target=names[-1], steps=shown))
    out = console()
    for step in steps:
        put(out, path_words(step))
    if not together and any(step.relation == CO_OCCURS for step in steps):
        say(f"No paper states how they are connected: {CO_OCCURS} means named in the same sentence.")
    return 0


def related(
    run: opt.Run,
    file: str = opt.ONE_PAPER,
    k: int = opt.option("-k N", "How many papers to show.", 5, min=1, max=1000),
    json: bool = opt.JSON,
) -> int:
    """List the papers most similar to one paper, those that it cites, and those that cite it.

    Papers are compared by the mean of their passage vectors, citations read from the lists of references.
    """
    with opened(**run.flags()) as engine:
        paper, found = engine.graph.related(file, k)
        cites, cited_by, absent = engine.graph.citations(paper)
    if json:
        near = ((one, {"title": title_of(one), "cosine": round(cosine, 6)}) for one, cosine in found)
        rows = [select("file path title cosine", one, **more) for one, more in near]
        linked: dict[str, Any] = {
            name: [select("file path title", one, title=title_of(one)) for one in papers]
            for name, papers in (("cites", cites), ("cited_by", cited_by))
        }
        linked["cites_elsewhere"] = absent
        return print_json(select("schema file path related", paper, related=rows) | linked)
    if not (found or cites or cited_by):
        say("There are no other papers.")
    cells = [(f"{cosine:.3f}", other.file, title_of(other)) for other, cosine in found]
    cells += [("cited", other.file, title_of(other)) for other in cites]
    cells += [("cites it", other.file, title_of(other)) for other in cited_by]
    print_table(("cosine", "file", "title"), cells, console(), wraps=("title",))
    return 0


def draw_map(
    run: opt.Run,
    output: Path = opt.argument("OUT.html", "The HTML file to write."),
    force: bool = opt.flag("--force", "Replace the file even if it is not a map."),
) -> None:
    """Write a map of the papers and the knowledge graph, as an HTML page.

    It opens in any browser, without a network.
    """
    with opened(**run.flags()) as engine:
        papers, entities, left_out = engine.graph.write_map(output, force=force)
    screen, shown = IngestScreen(quiet=run.quiet), f"{counted(papers, 'paper')}, {counted(entities, *ENTITIES)}"
    screen.tell(f"Written to {output}: {shown}. Open it in a browser. {left_out}".rstrip())
    if not entities:
        screen.tell("No entities yet: `python ingest.py graph` finds them in the papers.")
