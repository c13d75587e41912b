"""The commands of `ingest.py`: papers into the library, and what is in it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragscience.errors import UsageError
from ragscience.terminal.cli import Debug, HomeFolder, Offline, Quiet, opened, say
from ragscience.terminal.command_groups import make_app, with_version
from ragscience.terminal.fetch_commands import fetch_app
from ragscience.terminal.ingest_graph_commands import graph_app
from ragscience.terminal.options import AnyPapers, OnePaper, SomePapers
from ragscience.terminal.paper_arguments import confirm_several

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.rebuild_runs import Part

app = with_version(
    make_app(
        "Read PDFs into the library: new and changed files of papers/, or the files given.", default="add", bare="add"
    )
)

app.add_typer(fetch_app)
app.add_typer(graph_app)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object; docs/json.md shows it.")]
Yes = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
Ocr = Annotated[bool, typer.Option("--ocr", help="Read pages without a text layer by OCR; needs Tesseract.")]
Layout = Annotated[
    bool, typer.Option("--layout", help="Ask PyMuPDF's layout model of each page, too: about 0.7 s a page.")
]
Dedupe = Annotated[
    str | None,
    typer.Option(
        "--dedupe",
        metavar="HOW",
        help="keep-newest takes the older of two versions of a paper out of the library; files stay.",
    ),
]


@app.command()
def add(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Files or folders, with all that is in them. Without one: papers/."),
    ] = None,
    dedupe: Dedupe = None,
    ocr: Ocr = False,
    layout: Layout = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Read new and changed PDFs into the library.

    This is what happens without a command.
    """
    from ragscience.terminal.ingest_view import IngestScreen, check_dedupe, show_kept_newest, show_result

    keep_newest = check_dedupe(dedupe)
    again = "the same command" if paths or home else "`python ingest.py`"
    with (
        IngestScreen(quiet=quiet, goes_on=f"{again} goes on with the rest") as screen,
        opened(screen, bool(paths), **_reading(home, offline, ocr, layout)) as engine,
    ):
        code = show_result(engine.add(paths or (), on_event=screen), screen)
        if keep_newest:
            show_kept_newest(engine.keep_newest(on_event=screen), screen)
    return code


@app.command()
def init(
    home: HomeFolder = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Make a home: a folder with papers/ for PDFs.

    What is there already stays.
    """
    with opened(None, True, home=home) as engine:
        if not quiet:
            place = shlex.quote(str(engine.home.root))
            say(f"Put PDFs into {engine.home.papers}; `python ingest.py --home {place}` reads them.")
    return 0


@app.command("list")
def list_papers(
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="ORDER",
            help="By file, author, year, pages, title or added; the newest and longest first.",
        ),
    ] = "file",
    columns: Annotated[
        str,
        typer.Option(
            "--columns",
            metavar="LIST",
            help="Of author, year, pages, title, file, added, passages, authors, venue, doi, arxiv, path, warnings.",
        ),
    ] = "",
    failed: Annotated[
        bool, typer.Option("--failed", help="Show the files that are not in the library instead, and why.")
    ] = False,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """List the papers in the library.

    In a pipe it is one paper a line, fields between tabs, nothing cut.
    """
    if failed:
        from ragscience.terminal.skipped_view import show_skipped

        with opened(home=home) as engine:
            show_skipped(engine.skipped_files(), engine.home.papers, None if json else _console())
        return 0
    from ragscience.engine.paper_list import columns_named, in_order

    if json and columns:
        raise UsageError("--columns is not for --json, which has them all.", "Leave one of them out.")
    chosen = columns_named(columns)
    with opened(home=home) as engine:
        papers = in_order(engine.papers(), sort)
    if json:
        from ragscience.json_output import ListOutput, paper_output, select
        from ragscience.terminal.screen import print_json

        print_json(select(ListOutput, papers=[paper_output(paper) for paper in papers]))
        return 0
    from ragscience.terminal.pager import paged
    from ragscience.terminal.views import papers_view

    with paged() as out:
        papers_view(papers, out, columns=chosen)
    return 0


@app.command()
def show(
    file: OnePaper,
    page: Annotated[
        int | None,
        typer.Option(
            "--page", metavar="N", help="Show this page as it was read, with what each part was taken for.", min=1
        ),
    ] = None,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Show what is known of one paper, or a page as it was read."""
    from ragscience.terminal.outline import show_page, show_paper
    from ragscience.terminal.pager import paged

    with opened(home=home) as engine, paged(is_long=not json) as out:
        if page is None:
            show_paper(engine.outline(file), None if json else out)
        else:
            show_page(engine.page(file, page), None if json else out)
    return 0


@app.command("duplicates")
def show_duplicates(
    dedupe: Dedupe = None,
    home: HomeFolder = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Show which papers are there twice."""
    from ragscience.terminal.ingest_view import IngestScreen, check_dedupe, show_kept_newest, show_pairs

    keep_newest = check_dedupe(dedupe)
    with IngestScreen(quiet=quiet) as screen, opened(screen, home=home) as engine:
        pairs = engine.duplicates()
        removed = engine.keep_newest(on_event=screen) if keep_newest else ()
        show_kept_newest(removed, screen)
    show_pairs(pairs, removed, None if json else _console())
    return 0


@app.command()
def remove(
    papers: SomePapers,
    forget: Annotated[
        bool, typer.Option("--forget", help="Do not remember it: the next run reads their files again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask where several papers match a name.")] = False,
    home: HomeFolder = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Take papers out of the library.

    Their files stay, and are left out from then on unless they are named.
    """
    from ragscience.terminal.ingest_view import IngestScreen

    with IngestScreen(quiet=quiet) as screen, opened(screen, home=home) as engine:
        confirm_several(engine, papers, "Remove", yes=yes)
        removed = engine.remove(papers, forget=forget, on_event=screen)
        if removed and not forget:
            they = "It is" if len(removed) == 1 else "They are"
            screen.tell(f"{they} left out from now on; `python ingest.py add FILE` reads one again.")
    return 0


@app.command()
def sync(
    dry_run: Yes = False,
    ocr: Ocr = False,
    layout: Layout = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Read what is new in papers/, and remove what is gone from it."""
    from ragscience.terminal.ingest_view import IngestScreen, show_result

    goes_on = "the same command goes on with the rest"
    with (
        IngestScreen(quiet=quiet, goes_on=goes_on) as screen,
        opened(screen, **_reading(home, offline, ocr, layout)) as engine,
    ):
        if not dry_run:
            return show_result(engine.sync(on_event=screen), screen)
        plan = engine.sync_plan(on_event=screen)
        for path in plan.to_read:
            screen.tell(f"would read {path}")
        for paper in plan.gone:
            screen.tell(f"would remove {paper.file}")
        if not (plan.to_read or plan.gone):
            screen.tell("Nothing would change: the library matches the files.")
    return 0


@app.command()
def watch(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="A folder, with all that is in it. Without one: papers/."),
    ] = None,
    ocr: Ocr = False,
    layout: Layout = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line, one for each event.")] = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Read papers as they arrive in a folder, until Ctrl-C.

    SIGTERM ends it, too.     Folders of other machines that report no changes are polled with
    WATCHFILES_FORCE_POLLING=1 in the environment.
    """
    from ragscience.terminal.ingest_view import WatchScreen, cancelled_by_signals

    screen = WatchScreen(quiet=quiet, as_json=json)
    with cancelled_by_signals() as cancel, opened(screen, **_reading(home, offline, ocr, layout)) as engine:
        engine.watch(folder, on_event=screen, cancel=cancel)
    return 0


@app.command()
def rebuild(
    papers: AnyPapers = None,
    embeddings: Annotated[bool, typer.Option("--embeddings", help="Only make the vectors again.")] = False,
    tokens: Annotated[bool, typer.Option("--tokens", help="Only make the token vectors that are missing.")] = False,
    indexes: Annotated[bool, typer.Option("--indexes", help="Only rebuild the search indexes.")] = False,
    ocr: Ocr = False,
    layout: Layout = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Read every paper again, with the settings of now."""
    parts: dict[Part, bool] = {"embeddings": embeddings, "tokens": tokens, "indexes": indexes}
    only = [part for part, is_wanted in parts.items() if is_wanted]
    if len(only) > 1 or (only and papers):
        raise UsageError(
            "--embeddings, --tokens, --indexes and names of papers exclude each other.", "`rebuild` alone makes all."
        )
    from ragscience.terminal.ingest_view import IngestScreen, show_result

    goes_on = "the others are as they were, and the same command reads all of them again"
    with (
        IngestScreen(quiet=quiet, goes_on=goes_on) as screen,
        opened(screen, **_reading(home, offline, ocr, layout)) as engine,
    ):
        if only:
            engine.rebuild(only[0], on_event=screen)
            return 0
        return show_result(engine.rebuild(papers=papers or (), on_event=screen), screen)


@app.command()
def doctor(
    network: Annotated[
        bool, typer.Option("--network", help="Also ask whether arXiv and Ollama can be reached; else nothing leaves.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Do not verify each page, passage and vector of the database.")
    ] = False,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Look for what is wrong, and say what to do about it.

    Nothing is written. It exits with 1 where there is an error.
    """
    from ragscience.terminal.doctor_view import run_doctor

    return run_doctor(home, None if json else _console(), network=network, fast=fast)


def _reading(home: Path | None, offline: bool | None, ocr: bool, layout: bool) -> dict[str, object]:
    """The settings of a command that reads papers."""
    return {"home": home, "offline": offline, "ocr": ocr or None, "layout": "always" if layout else None}


def _console() -> Console:
    from ragscience.terminal.screen import console

    return console()
