"""The command `ingest.py graph`: the knowledge graph is made, exported and mended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragscience.cli.cli import opened
from ragscience.cli.command_groups import App
from ragscience.cli.run_options import Debug, HomeFolder, Offline, Quiet
from ragscience.core.errors import UsageError

graph_app = App()


@graph_app.command()
def graph(
    llm: Annotated[
        bool, typer.Option("--llm", help="Extract with the LLM, from titles and abstracts (see --depth).")
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", help="Extract from every passage without an LLM (the default).")
    ] = False,
    depth: Annotated[
        str, typer.Option("--depth", metavar="WHAT", help="What the LLM reads: abstract, or full (every passage).")
    ] = "abstract",
    types: Annotated[
        str | None,
        typer.Option("--types", metavar="LIST", help="Also extract these entity types, such as person,task."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also read passages that were read before.")] = False,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="DIR", help="Write nodes.jsonl and edges.jsonl to this folder.")
    ] = None,
    graphml: Annotated[
        Path | None, typer.Option("--graphml", metavar="FILE", help="Write the graph to this file, as GraphML.")
    ] = None,
    import_from: Annotated[
        Path | None,
        typer.Option("--import", metavar="DIR", help="Import nodes.jsonl and edges.jsonl from this folder."),
    ] = None,
    merges: Annotated[
        bool, typer.Option("--merges", help="Show which names were merged, and which were separated again.")
    ] = False,
    unmerge: Annotated[str, typer.Option("--unmerge", metavar="NAME", help="Make this name a separate entity.")] = "",
    merge_again: Annotated[str, typer.Option("--merge-again", metavar="NAME", help="Undo --unmerge.")] = "",
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Build the knowledge graph from the papers, or update it.

    Passages that were read before are not read again. Options also export, import and correct it.
    """
    from ragscience.cli.graph_views import GraphOrder, run_graph
    from ragscience.engine.graph_runs import GraphRequest, types_named

    if llm and local:
        raise UsageError("--llm and --local exclude each other.", "Run `graph` twice to use both.")
    if depth not in ("abstract", "full"):
        raise UsageError(f"--depth {depth!r} is not valid.", "Use abstract or full.")
    if depth == "full" and not llm:
        raise UsageError("--depth is for --llm: without an LLM every passage is read.", "Add --llm or leave it out.")
    others = (export, graphml, import_from, merges, unmerge, merge_again)
    reads = llm or local or again or not any(others)
    request = GraphRequest(types_named(types), by_llm=llm, full=depth == "full", again=again)
    order = GraphOrder(request if reads else None, import_from, unmerge, merge_again, merges, export, graphml)
    with opened(home=home, offline=offline) as engine:
        return run_graph(engine, order, quiet=quiet)
