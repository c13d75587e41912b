"""The commands of `query.py history`, and of `query.py models`."""

from __future__ import annotations

from typing import Annotated

import typer

from ragscience.cli.cli import confirm, opened
from ragscience.cli.command_groups import make_app
from ragscience.cli.options import Json, Limit, Output, Which
from ragscience.cli.run_options import Debug, HomeFolder, Offline, Quiet, Yes
from ragscience.core.errors import UsageError

history_app = make_app(
    "Show, search, export or delete earlier conversations.\n\nThey are saved in vectorstore/history.sqlite.",
    default="show",
    bare="list",
)
models_app = make_app("Show which models are used, or fetch missing ones.", default="list", bare="list")


@history_app.command("list")
def list_history(home: HomeFolder = None, limit: Limit = None, json: Json = False, debug: Debug = False) -> int:
    """List the conversations, the latest first."""
    from ragscience.cli.history_views import list_conversations

    with opened(home=home) as engine:
        return list_conversations(engine, limit=limit, as_json=json)


@history_app.command("show")
def show_history(which: Which = None, home: HomeFolder = None, json: Json = False, debug: Debug = False) -> int:
    """Show a conversation or one answer.

    Without an id: the last conversation.
    """
    from ragscience.cli.history_views import show

    with opened(home=home) as engine:
        return show(engine, which, as_json=json)


@history_app.command("search")
def search_kept(
    words: Annotated[
        list[str],
        typer.Argument(metavar="WORD", help="Words that must all be in the question or answer.", show_default=False),
    ],
    home: HomeFolder = None,
    limit: Limit = None,
    debug: Debug = False,
) -> int:
    """Search earlier questions and answers."""
    from ragscience.cli.history_views import search_history

    with opened(home=home) as engine:
        return search_history(engine, " ".join(words), limit=limit)


@history_app.command("export")
def export_history(
    which: Which = None,
    md: Annotated[bool, typer.Option("--md", help="Write Markdown (the default).")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write JSON, like `history show --json`.")] = False,
    bib: Annotated[bool, typer.Option("--bib", help="Write the cited papers as BibTeX.")] = False,
    output: Output = None,
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Write a conversation to a file.

    Without an id: the last one.
    """
    from ragscience.cli.history_views import export
    from ragscience.engine.output_files import BIBTEX, JSON, MARKDOWN, check_form

    wanted = [form for form, asked in (("md", md), ("json", json), ("bib", bib)) if asked]
    if len(wanted) > 1:
        raise UsageError(f"--{wanted[0]} and --{wanted[1]} exclude each other.", "Give one of them.")
    form = wanted[0] if wanted else "md"
    check_form(output, {"md": MARKDOWN, "json": JSON, "bib": BIBTEX}[form])
    with opened(home=home) as engine:
        return export(engine, which, form=form, target=output)


@history_app.command("rename")
def rename_history(
    which: Annotated[str, typer.Argument(metavar="ID", help="A conversation's number or name.", show_default=False)],
    name: Annotated[str, typer.Argument(help="The new name.", show_default=False)],
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Name or rename a conversation; `--chat NAME` continues it."""
    from ragscience.cli.history_views import rename

    with opened(home=home) as engine:
        return rename(engine, which, name)


@history_app.command("delete")
def delete_history(
    which: Which = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all conversations; asks first.")] = False,
    yes: Yes = False,
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Delete a conversation, one answer, or everything."""
    from ragscience.cli.history_views import delete

    if (which is None) != everything:
        raise UsageError("Say what to delete: an id, or --all.", "`python query.py history list` shows the ids.")
    with opened(home=home) as engine:
        if everything:
            confirm("Deleting every conversation cannot be undone.", yes=yes)
        return delete(engine, which)


@models_app.command("list")
def list_models(home: HomeFolder = None, offline: Offline = None, json: Json = False, debug: Debug = False) -> int:
    """Show which model each part uses, where it is and why."""
    from ragscience.cli.model_views import show_models

    with opened(home=home, offline=offline) as engine:
        return show_models(engine, as_json=json)


@models_app.command()
def pull(home: HomeFolder = None, offline: Offline = None, quiet: Quiet = False, debug: Debug = False) -> int:
    """Fetch the models that are missing.

    The cross-encoder comes from the Hugging Face Hub, Ollama's models through Ollama.
    """
    from ragscience.cli.model_views import pull_models

    with opened(home=home, offline=offline) as engine:
        return pull_models(engine, quiet=quiet)
