"""The command `ragscience` (also `python -m ragscience`): the commands of query.py and ingest.py in one place.

`ragscience X` is `query.py X`, and `ragscience ingest X` is `ingest.py X`. What query.py has no command of the same
name for can also be called without `ingest`: `ragscience list`.
"""

import os
import sys
from typing import Any

from ragscience.cli.status_line import start

__all__ = ["command_line", "main"]


def command_line() -> Any:
    """The Typer app with all commands."""
    from ragscience.cli import ingest_app, query_app
    from ragscience.cli.groups import make_app, with_version

    app = with_version(make_app(query_app.HELP, default="ask", bare="chat", completion=True))
    app.add_typer(ingest_app.app, name="ingest", rich_help_panel=query_app.START)
    query_app.add_query_commands(app)
    ingest_app.add_ingest_commands(app)
    return app


def main() -> None:
    """Run the command line; ends the process with an exit code of docs/cli.md."""
    # A shell that completes a line shows nothing of ours on it.
    start(["--quiet"] if "_RAGSCIENCE_COMPLETE" in os.environ else sys.argv[1:])
    from ragscience.cli.running import run_app

    run_app(command_line())


if __name__ == "__main__":
    main()
