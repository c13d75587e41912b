"""The commands of `ingest.py`: papers into the library, and what is in it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragscience.cli.cli import opened, say
from ragscience.cli.command_groups import make_app, with_version
from ragscience.cli.copy_commands import copy
from ragscience.cli.fetch_commands import fetch_app
from ragscience.cli.ingest_graph_commands import graph_app
from ragscience.cli.options import AnyPapers, OnePaper, SomePapers
from ragscience.cli.paper_arguments import confirm_several
from ragscience.cli.reading_options import Layout, Ocr, Ray, Workers, reading, workers_of
from ragscience.cli.run_options import Debug, HomeFolder, Offline, Quiet
from ragscience.core.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.rebuild_runs import Part

_ABOUT = "Read PDFs into the library: new and changed files of papers/, or the files given."
app = with_version(make_app(_ABOUT, default="add", bare="add"))
app.add_typer(fetch_app)
app.add_typer(graph_app)
app.command("copy")(copy)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object; docs/json.md describes it.")]
Yes = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
Dedupe = Annotated[
    str | None,
    typer.Option(
        "--dedupe",
        metavar="HOW",
        help="keep-newest removes the older of two versions of a paper from the library; files stay.",
    ),
]


@app.command()
def add(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Files, or folders with everything in them. Default: papers/."),
    ] = None,
    dedupe: Dedupe = None,
    ocr: Ocr = False,
    layout: Layout = False,
    workers: Workers = 0,
    ray: Ray = "",
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Read new and changed PDFs into the library.

    Running ingest.py without a command does the same.
    """
    from ragscience.cli.ingest_view import IngestScreen, check_dedupe, show_kept_newest, show_result

    keep_newest = check_dedupe(dedupe)
    again = "the same command" if paths or home else "`python ingest.py`"
    with (
        IngestScreen(quiet=quiet, goes_on=f"{again} continues with the rest") as screen,
        opened(screen, bool(paths), **reading(home, offline, ocr, layout)) as engine,
    ):
        code = show_result(engine.ingest.add(paths or (), workers=workers_of(workers, ray), on_event=screen), screen)
        if keep_newest:
            show_kept_newest(engine.ingest.keep_newest(on_event=screen), screen)
    return code


@app.command()
def init(
    home: HomeFolder = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Create a home: a folder with papers/ for PDFs.

    Existing files stay as they are.
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
            help="Sort by file, author, year, pages, title or added; newest and longest first.",
        ),
    ] = "file",
    columns: Annotated[
        str,
        typer.Option(
            "--columns",
            metavar="LIST",
            help="Columns: author, year, pages, title, file, added, passages, authors, venue, doi, arxiv, path, "
            "warnings.",
        ),
    ] = "",
    failed: Annotated[
        bool, typer.Option("--failed", help="Instead list the files that are not in the library, and why.")
    ] = False,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """List the papers in the library.

    Piped output is one paper per line, with tabs between fields and nothing cut.
    """
    if failed:
        from ragscience.cli.skipped_view import show_skipped

        with opened(home=home) as engine:
            show_skipped(engine.papers.skipped(), engine.home.papers, None if json else _console())
        return 0
    from ragscience.engine.paper_list import columns_named, in_order

    if json and columns:
        raise UsageError("--columns cannot be used with --json, which has all columns.", "Leave one of them out.")
    chosen = columns_named(columns)
    with opened(home=home) as engine:
        papers = in_order(engine.papers.list(), sort)
    if json:
        from ragscience.cli.screen import print_json
        from ragscience.core.serialization import select
        from ragscience.engine.library_output import ListOutput, paper_output

        print_json(select(ListOutput, papers=[paper_output(paper) for paper in papers]))
        return 0
    from ragscience.cli.pager import paged
    from ragscience.cli.views import papers_view

    with paged() as out:
        papers_view(papers, out, columns=chosen)
    return 0


@app.command()
def show(
    file: OnePaper,
    page: Annotated[
        int | None,
        typer.Option(
            "--page", metavar="N", help="Show the text read from this page, with the kind of each part.", min=1
        ),
    ] = None,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Show what the library knows about one paper, or the text read from a page."""
    from ragscience.cli.outline import show_page, show_paper
    from ragscience.cli.pager import paged

    with opened(home=home) as engine, paged(is_long=not json) as out:
        if page is None:
            outline = engine.papers.outline(file)
            show_paper(outline, None if json else out, engine.files.shown(outline.paper.path))
        else:
            show_page(engine.papers.page(file, page), None if json else out)
    return 0


@app.command("duplicates")
def show_duplicates(
    dedupe: Dedupe = None,
    home: HomeFolder = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """List papers that are in the library twice."""
    from ragscience.cli.ingest_view import IngestScreen, check_dedupe, show_kept_newest, show_pairs

    keep_newest = check_dedupe(dedupe)
    with IngestScreen(quiet=quiet) as screen, opened(screen, home=home) as engine:
        pairs = engine.papers.duplicates()
        removed = engine.ingest.keep_newest(on_event=screen) if keep_newest else ()
        show_kept_newest(removed, screen)
    show_pairs(pairs, removed, None if json else _console())
    return 0


@app.command()
def remove(
    papers: SomePapers,
    forget: Annotated[
        bool, typer.Option("--forget", help="Do not remember the removal: the next run reads their files again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, even if several papers match a name.")] = False,
    home: HomeFolder = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Remove papers from the library.

    Their files stay on disk and are skipped from then on, unless you name them in `ingest.py add`.
    """
    from ragscience.cli.ingest_view import IngestScreen

    with IngestScreen(quiet=quiet) as screen, opened(screen, home=home) as engine:
        confirm_several(engine, papers, "Remove", yes=yes)
        removed = engine.ingest.remove(papers, forget=forget, on_event=screen)
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
    """Read new and changed files in papers/, and remove papers whose files are gone."""
    from ragscience.cli.ingest_view import IngestScreen, show_result

    goes_on = "the same command continues with the rest"
    with (
        IngestScreen(quiet=quiet, goes_on=goes_on) as screen,
        opened(screen, **reading(home, offline, ocr, layout)) as engine,
    ):
        if not dry_run:
            return show_result(engine.ingest.sync(on_event=screen), screen)
        plan = engine.ingest.sync_plan(on_event=screen)
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
        typer.Argument(metavar="FOLDER", help="A folder, with everything in it. Default: papers/."),
    ] = None,
    ocr: Ocr = False,
    layout: Layout = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line, one for each event.")] = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Watch a folder and read papers as they arrive, until Ctrl-C.

    SIGTERM also stops it. For network folders that do not report changes, set
    WATCHFILES_FORCE_POLLING=1 in the environment.
    """
    from ragscience.cli.ingest_view import WatchScreen, cancelled_by_signals

    screen = WatchScreen(quiet=quiet, as_json=json)
    with cancelled_by_signals() as cancel, opened(screen, **reading(home, offline, ocr, layout)) as engine:
        engine.ingest.watch(folder, on_event=screen, cancel=cancel)
    return 0


@app.command()
def rebuild(
    papers: AnyPapers = None,
    embeddings: Annotated[bool, typer.Option("--embeddings", help="Only rebuild the vectors.")] = False,
    tokens: Annotated[bool, typer.Option("--tokens", help="Only add missing token vectors.")] = False,
    indexes: Annotated[bool, typer.Option("--indexes", help="Only rebuild the search indexes.")] = False,
    ocr: Ocr = False,
    layout: Layout = False,
    workers: Workers = 0,
    ray: Ray = "",
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Read every paper again, with the current settings."""
    parts: dict[Part, bool] = {"embeddings": embeddings, "tokens": tokens, "indexes": indexes}
    only = [part for part, is_wanted in parts.items() if is_wanted]
    if len(only) > 1 or (only and papers):
        raise UsageError(
            "--embeddings, --tokens, --indexes and names of papers exclude each other.",
            "Use one of them, or `rebuild` alone to rebuild everything.",
        )
    from ragscience.cli.ingest_view import IngestScreen, show_result

    goes_on = "the other papers are unchanged; the same command reads all of them again"
    with (
        IngestScreen(quiet=quiet, goes_on=goes_on) as screen,
        opened(screen, **reading(home, offline, ocr, layout)) as engine,
    ):
        if only:
            engine.ingest.rebuild(only[0], on_event=screen)
            return 0
        return show_result(
            engine.ingest.rebuild(papers=papers or (), workers=workers_of(workers, ray), on_event=screen), screen
        )


@app.command()
def doctor(
    network: Annotated[
        bool,
        typer.Option(
            "--network", help="Also check that arXiv and Ollama can be reached; without it, no connection is made."
        ),
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Do not verify each page, passage and vector of the database.")
    ] = False,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Check papers, indexes, models and disk, and say how to fix what is wrong.

    Nothing is changed. The exit code is 1 if there is an error.
    """
    from ragscience.cli.doctor_view import run_doctor

    return run_doctor(home, None if json else _console(), network=network, fast=fast)


def _console() -> Console:
    from ragscience.cli.screen import console

    return console()
