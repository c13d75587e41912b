"""The command `ragscience` (also `python -m ragscience`): the commands of query.py and ingest.py in one place.

`ragscience X` is `query.py X`, and `ragscience ingest X` is `ingest.py X`. What query.py has no command of the same
name for can also be called without `ingest`: `ragscience list`.
"""

from __future__ import annotations

import sys
from typing import Any

from ragscience.cli.interrupt import exit_at_interrupt
from ragscience.cli.status_line import STATUS

__all__ = ["command_line", "main"]


def command_line() -> Any:
    """The Typer app with all commands."""
    from ragscience.cli import ingest_cli, query_cli
    from ragscience.cli.command_groups import make_app, with_version

    app = with_version(make_app(query_cli.HELP, default="ask", bare="chat"))
    app.add_typer(ingest_cli.app, name="ingest")
    app.registered_groups += query_cli.app.registered_groups
    app.registered_commands += query_cli.app.registered_commands
    app.registered_commands += [
        command
        for command in ingest_cli.app.registered_commands
        if (command.name or getattr(command.callback, "__name__", "")) != "add"
    ]
    return app


def main() -> None:
    """Run the command line; ends the process with an exit code of docs/cli.md."""
    exit_at_interrupt()
    STATUS.begin(sys.argv[1:])
    from ragscience.cli.cli import run_installed

    run_installed(command_line())


if __name__ == "__main__":
    main()
