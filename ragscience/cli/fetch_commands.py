"""The command `ingest.py fetch`: papers from arXiv or an address."""

from __future__ import annotations

from typing import Annotated

import typer

from ragscience.cli.cli import opened
from ragscience.cli.command_groups import App
from ragscience.cli.options import Json
from ragscience.cli.run_options import Debug, HomeFolder, Offline, Quiet

fetch_app = App()


@fetch_app.command()
def fetch(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="Topics to search on arXiv, arXiv ids, arXiv DOIs, or URLs of PDFs, in any combination.",
        ),
    ] = None,
    count: Annotated[int, typer.Option("-n", "--count", metavar="N", help="Papers per topic.", min=1, max=1000)] = 5,
    author: Annotated[str, typer.Option("--author", metavar="NAME", help="Only papers by this author.")] = "",
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Only papers with this in the title.")] = "",
    category: Annotated[
        str, typer.Option("--category", metavar="NAME", help="Only papers in this arXiv category, as cs.CL.")
    ] = "",
    since: Annotated[
        str, typer.Option("--from", metavar="DATE", help="Only papers from this date on: 2023 or 2023-05-17.")
    ] = "",
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="Only papers up to this date.")] = "",
    sort: Annotated[
        str, typer.Option("--sort", metavar="ORDER", help="Order of the results: relevance or newest.")
    ] = "relevance",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Fetch everything found, without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what was found.")] = False,
    no_ingest: Annotated[
        bool, typer.Option("--no-ingest", help="Only download to papers/; do not read the files.")
    ] = False,
    json: Json = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Fetch papers from arXiv or a URL, and read them.

    They go to papers/; papers that are already there are not fetched again. A search lists its results for you to
    choose from; papers named by id, DOI or URL are fetched without asking.
    """
    from ragscience.cli.fetch_view import FetchScreen, run_fetch
    from ragscience.engine.ingest_events import FetchRequest

    request = FetchRequest(
        tuple(what or ()),
        count,
        author=author,
        title=title,
        category=category,
        since=since,
        until=until,
        sort=sort,
        only_list=dry_run,
        ingest=not no_ingest,
    )
    screen = FetchScreen(request, quiet=quiet, as_json=json)
    with screen, opened(screen, home=home, offline=offline) as engine:
        return run_fetch(engine, request, screen, take_all=yes)
