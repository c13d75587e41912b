"""The commands of `query.py` that show the knowledge graph and related papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragscience.cli.cli import opened
from ragscience.cli.command_groups import App
from ragscience.cli.options import Json, OnePaper
from ragscience.cli.run_options import Debug, HomeFolder, Quiet

graph_app = App()

Together = Annotated[bool, typer.Option("--together", help="Also show entities that only appear in the same sentence.")]


@graph_app.command("graph")
def show_graph(
    entity: Annotated[
        str, typer.Argument(metavar="NAME", help="A method, a dataset or a concept.", show_default=False)
    ],
    hops: Annotated[
        int | None,
        typer.Option("--hops", metavar="N", help="How many steps to follow; default: 2.", min=1, max=4),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("-n", metavar="N", help="How many relations to show.", min=1, show_default=False)
    ] = None,
    together: Together = False,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Show what the knowledge graph connects with an entity, with pages."""
    from ragscience.cli.graph_views import show_entity

    with opened(home=home) as engine:
        return show_entity(engine, entity, hops=hops, most=limit, together=together, as_json=json)


@graph_app.command("path")
def show_path(
    first: Annotated[
        str, typer.Argument(metavar="A", help="An entity: a method, a dataset or a concept.", show_default=False)
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Another entity.", show_default=False)],
    together: Together = False,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Show how two entities are connected, with a page for each step."""
    from ragscience.cli.graph_views import show_path

    with opened(home=home) as engine:
        return show_path(engine, first, second, together=together, as_json=json)


@graph_app.command()
def related(
    file: OnePaper,
    k: Annotated[int, typer.Option("-k", help="How many papers to show.", min=1, max=1000)] = 5,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """List the papers most similar to one paper.

    Papers are compared by the mean of their passage vectors.
    """
    from ragscience.cli.graph_views import show_related

    with opened(home=home) as engine:
        return show_related(engine, file, k, as_json=json)


@graph_app.command("map")
def draw_map(
    output: Annotated[Path, typer.Argument(metavar="OUT.html", help="The HTML file to write.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace the file even if it is not a map.")] = False,
    home: HomeFolder = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Write a map of the papers and the knowledge graph, as an HTML page.

    It opens in any browser, without a network.
    """
    from ragscience.cli.graph_views import write_map

    with opened(home=home) as engine:
        return write_map(engine, output, force=force, quiet=quiet)
