"""The command `ingest.py fetch`: papers from arXiv or an address."""

from __future__ import annotations

from typing import Annotated

import typer

from ragscience.terminal.cli import Debug, HomeFolder, Offline, Quiet, opened
from ragscience.terminal.command_groups import App
from ragscience.terminal.options import Json

fetch_app = App()


@fetch_app.command()
def fetch(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="Topics to search arXiv for, arXiv ids, arXiv's DOIs, or addresses of PDFs, in any mix.",
        ),
    ] = None,
    count: Annotated[
        int, typer.Option("-n", "--count", metavar="N", help="Papers for each topic.", min=1, max=1000)
    ] = 5,
    author: Annotated[str, typer.Option("--author", metavar="NAME", help="Only by this author.")] = "",
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Only with this in the title.")] = "",
    category: Annotated[
        str, typer.Option("--category", metavar="NAME", help="Only of this arXiv category, as cs.CL.")
    ] = "",
    since: Annotated[str, typer.Option("--from", metavar="DATE", help="Only from then on: 2023 or 2023-05-17.")] = "",
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="Only until then.")] = "",
    sort: Annotated[
        str, typer.Option("--sort", metavar="ORDER", help="Which come first: relevance or newest.")
    ] = "relevance",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take all that is found, without a question.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what is found.")] = False,
    no_ingest: Annotated[bool, typer.Option("--no-ingest", help="Leave the files in papers/ unread.")] = False,
    json: Json = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Fetch papers from arXiv or an address, and read them.

    They go to papers/; what is there already is not fetched again.     What a search finds is shown to pick from; what
    is named by id, DOI or address is taken.
    """
    from ragscience.engine.ingest_events import FetchRequest
    from ragscience.terminal.fetch_view import FetchScreen, run_fetch

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
