"""`ingest.py copy`: the library into another place."""

from __future__ import annotations

from typing import Annotated

import typer

from ragscience.cli.cli import opened, say
from ragscience.cli.run_options import Debug, HomeFolder, Quiet


def copy(
    to: Annotated[
        str,
        typer.Option("--to", metavar="PLACE", help="The place: lance:///folder, s3://bucket/prefix, or vectorstore."),
    ],
    source: Annotated[
        str | None, typer.Option("--from", metavar="PLACE", help="What to copy. Default: your library.")
    ] = None,
    home: HomeFolder = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Copy the library to another place, and compare the two."""
    from ragscience.cli.ingest_view import IngestScreen

    with (
        IngestScreen(quiet=quiet, goes_on="the same command continues") as screen,
        opened(screen, home=home) as engine,
    ):
        done = engine.ingest.copy(to, source, on_event=screen)
        say(f"{done.papers} papers with {done.passages:,} passages are at {to}.")
    return 0
