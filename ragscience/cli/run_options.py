"""The options that every command has, and the home where none of them names one."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["RUN", "Debug", "HomeFolder", "Offline", "Quiet", "Yes", "default_home", "set_default_home"]

_default_home: ContextVar[Path | None] = ContextVar("default_home", default=None)

RUN = "Run"
"""The heading of these options in the help."""
HomeFolder = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="DIR",
        help="Folder with papers/, vectorstore/ and ingested.json. Default: RAG_HOME.",
        rich_help_panel=RUN,
    ),
]
Offline = Annotated[
    bool | None,
    typer.Option(
        "--offline",
        help="Refuse everything that needs a connection to another machine.",
        show_default=False,
        rich_help_panel=RUN,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no warnings.", rich_help_panel=RUN)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.", rich_help_panel=RUN)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.", rich_help_panel=RUN)]


def default_home() -> Path:
    """The home where no flag and no variable names one: a script's own folder, else the current one."""
    return _default_home.get() or Path.cwd()


def set_default_home(home: Path | None) -> None:
    """Make that folder the default home; None: the current folder."""
    _default_home.set(home)
