"""The commands of `ingest.py`: papers into the library, and what is in it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragscience.errors import UsageError
from ragscience.terminal.cli import Debug, HomeFolder, Offline, Quiet, make_app, opened, say

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.rebuild_runs import Part

app = make_app(
    "Read PDFs into the library: new and changed files of papers/, or the paths given.", default="add", bare="add"
)

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Yes = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
Ocr = Annotated[bool, typer.Option("--ocr", help="Read pages without a text layer by OCR; needs Tesseract.")]
Layout = Annotated[
    bool, typer.Option("--layout", help="Ask PyMuPDF's layout model of each page, too: about 0.7 s a page.")
]
Dedupe = Annotated[
    str | None,
    typer.Option(
        "--dedupe",
        metavar="keep-newest",
        help="Take the older of two versions of a paper out of the library; files stay.",
    ),
]


@app.command()
def add(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files or folders, searched recursively; papers/ when none is given.")
    ] = None,
    dedupe: Dedupe = None,
    ocr: Ocr = False,
    layout: Layout = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Read new and changed PDFs into the library (the default command)."""
    from ragscience.terminal.ingest_view import IngestScreen, check_dedupe, show_kept_newest, show_result

    keep_newest = check_dedupe(dedupe)
    with (
        IngestScreen(quiet=quiet) as screen,
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
    """Make a home: the folder and its papers/, for PDFs. What is there already stays."""
    with opened(None, True, home=home) as engine:
        if not quiet:
            place = shlex.quote(str(engine.home.root))
            say(f"Put PDFs into {engine.home.papers}; `python ingest.py --home {place}` reads them.")
    return 0


@app.command()
def fetch(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="Topics to search arXiv for, arXiv ids, arXiv's DOIs, addresses of PDFs, in any mix."),
    ] = None,
    count: Annotated[int, typer.Option("-n", "--count", help="Papers for each topic.", min=1, max=1000)] = 5,
    author: Annotated[str, typer.Option("--author", metavar="NAME", help="Only by this author.")] = "",
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Only with this in the title.")] = "",
    category: Annotated[str, typer.Option("--category", metavar="cs.CL", help="Only of this arXiv category.")] = "",
    since: Annotated[str, typer.Option("--from", metavar="DATE", help="Only from then on: 2023 or 2023-05-17.")] = "",
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="Only until then.")] = "",
    sort: Annotated[str, typer.Option("--sort", metavar="relevance|newest", help="Which come first.")] = "relevance",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take all that is found, without a question.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what is found.")] = False,
    no_ingest: Annotated[bool, typer.Option("--no-ingest", help="Leave the files in papers/ unread.")] = False,
    json: Json = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Fetch papers from arXiv or an address into papers/, and read them; what is there already is not fetched again.

    What a search finds is shown to pick from; what is named by id, DOI or address is taken.
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
    """Show what is in the library. In a pipe: one paper a line, fields between tabs, nothing cut."""
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
    from ragscience.terminal.views import papers_view

    papers_view(papers, _console(), columns=chosen)
    return 0


@app.command()
def show(
    file: Annotated[str, typer.Argument(help="A paper, by the name that `list` shows, its path or its MD5.")],
    page: Annotated[
        int | None,
        typer.Option("--page", help="Show this page as it was read, with what each part was taken for.", min=1),
    ] = None,
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Show what is known of one paper and what it consists of, or one of its pages as it was read."""
    from ragscience.terminal.outline import show_page, show_paper

    with opened(home=home) as engine:
        if page is None:
            show_paper(engine.outline(file), None if json else _console())
        else:
            show_page(engine.page(file, page), None if json else _console())
    return 0


@app.command("duplicates")
def show_duplicates(
    dedupe: Dedupe = None,
    home: HomeFolder = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Show which papers are there twice, in other bytes or an older version."""
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
    files: Annotated[list[str], typer.Argument(help="Papers, by the names that `list` shows, paths or MD5s.")],
    forget: Annotated[
        bool, typer.Option("--forget", help="Do not remember it: the next run reads their files again.")
    ] = False,
    home: HomeFolder = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Take papers out of the library; their files stay, and are left out from then on unless they are named."""
    from ragscience.terminal.ingest_view import IngestScreen

    with IngestScreen(quiet=quiet) as screen, opened(screen, home=home) as engine:
        removed = engine.remove(files, forget=forget, on_event=screen)
        if removed and not forget:
            screen.tell("They are left out from now on; one that is named (`python ingest.py add FILE`) is read again.")
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
    """Make the library what is on disk: read what is new or changed in papers/, remove what has vanished."""
    from ragscience.terminal.ingest_view import IngestScreen, show_result

    with IngestScreen(quiet=quiet) as screen, opened(screen, **_reading(home, offline, ocr, layout)) as engine:
        if not dry_run:
            return show_result(engine.sync(on_event=screen), screen)
        plan = engine.sync_plan(on_event=screen)
        for path in plan.to_read:
            screen.tell(f"would read {path}")
        for paper in plan.gone:
            screen.tell(f"would remove {paper.file}")
    return 0


@app.command()
def watch(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder, with all that is in it; papers/ when none is given.")
    ] = None,
    ocr: Ocr = False,
    layout: Layout = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each event.")] = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Follow a folder, a line for each paper, until Ctrl-C or SIGTERM.

    Folders of other machines that report no changes are polled with WATCHFILES_FORCE_POLLING=1 in the environment.
    """
    from ragscience.terminal.ingest_view import WatchScreen, cancelled_by_signals

    screen = WatchScreen(quiet=quiet, as_json=json)
    with cancelled_by_signals() as cancel, opened(screen, **_reading(home, offline, ocr, layout)) as engine:
        engine.watch(folder, on_event=screen, cancel=cancel)
    return 0


@app.command()
def rebuild(
    papers: Annotated[
        list[str] | None, typer.Argument(help="Papers to read again, by the names that `list` shows; all without any.")
    ] = None,
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
    """Read, cut and embed every paper again, with the settings and models of now."""
    parts: dict[Part, bool] = {"embeddings": embeddings, "tokens": tokens, "indexes": indexes}
    only = [part for part, is_wanted in parts.items() if is_wanted]
    if len(only) > 1 or (only and papers):
        raise UsageError(
            "--embeddings, --tokens, --indexes and names of papers exclude each other.", "`rebuild` alone makes all."
        )
    from ragscience.terminal.ingest_view import IngestScreen, show_result

    with IngestScreen(quiet=quiet) as screen, opened(screen, **_reading(home, offline, ocr, layout)) as engine:
        if only:
            engine.rebuild(only[0], on_event=screen)
            return 0
        return show_result(engine.rebuild(papers=papers or (), on_event=screen), screen)


@app.command()
def graph(
    llm: Annotated[bool, typer.Option("--llm", help="Let the LLM read: titles and abstracts, or see --depth.")] = False,
    local: Annotated[bool, typer.Option("--local", help="Read without an LLM, every passage (the default).")] = False,
    depth: Annotated[
        str, typer.Option("--depth", metavar="abstract|full", help="What the LLM reads; full: every passage.")
    ] = "abstract",
    types: Annotated[
        str | None,
        typer.Option("--types", metavar="LIST", help="Look for these too: person, organisation, task."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Read passages again that were read before.")] = False,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="DIR", help="Write nodes.jsonl and edges.jsonl there.")
    ] = None,
    graphml: Annotated[
        Path | None, typer.Option("--graphml", metavar="FILE", help="Write the graph as GraphML.")
    ] = None,
    import_from: Annotated[
        Path | None, typer.Option("--import", metavar="DIR", help="Take in a nodes.jsonl and edges.jsonl.")
    ] = None,
    merges: Annotated[
        bool, typer.Option("--merges", help="Show which names were merged, and which are apart.")
    ] = False,
    unmerge: Annotated[str, typer.Option("--unmerge", metavar="NAME", help="Make a name an entity of its own.")] = "",
    merge_again: Annotated[str, typer.Option("--merge-again", metavar="NAME", help="Undo --unmerge.")] = "",
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Read the papers' entities and relations into the graph: what was not read yet; or export, import and mend it."""
    from ragscience.engine.graph_runs import GraphRequest, types_named
    from ragscience.terminal.graph_views import GraphOrder, run_graph

    if llm and local:
        raise UsageError("--llm and --local exclude each other.", "Run `graph` twice to have both.")
    if depth not in ("abstract", "full"):
        raise UsageError(f"--depth {depth!r} is not known.", "It is abstract or full.")
    if depth == "full" and not llm:
        raise UsageError("--depth is for --llm: without an LLM every passage is read.", "Add --llm or leave it out.")
    others = (export, graphml, import_from, merges, unmerge, merge_again)
    reads = llm or local or again or not any(others)
    request = GraphRequest(types_named(types), by_llm=llm, full=depth == "full", again=again)
    order = GraphOrder(request if reads else None, import_from, unmerge, merge_again, merges, export, graphml)
    with opened(home=home, offline=offline) as engine:
        return run_graph(engine, order, quiet=quiet)


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
    """Look for what is wrong, and say what to do about it; nothing is written. Exits with 1 where there is an error."""
    from ragscience.terminal.doctor_view import run_doctor

    return run_doctor(home, None if json else _console(), network=network, fast=fast)


def _reading(home: Path | None, offline: bool | None, ocr: bool, layout: bool) -> dict[str, object]:
    """The settings of a command that reads papers."""
    return {"home": home, "offline": offline, "ocr": ocr or None, "layout": "always" if layout else None}


def _console() -> Console:
    from ragscience.terminal.screen import console

    return console()
