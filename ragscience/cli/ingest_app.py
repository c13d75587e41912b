"""The commands of `ingest.py`: papers into the library, and what is in it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragscience.cli import options as opt
from ragscience.cli.fetch_command import fetch
from ragscience.cli.graph_commands import build_graph
from ragscience.cli.groups import App, make_app, with_version
from ragscience.cli.output import console, paged, print_json, print_table
from ragscience.cli.running import confirm, default_home, opened, say
from ragscience.cli.screen import IngestScreen, WatchScreen, cancelled_by_signals, show_result
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import UsageError
from ragscience.core.serialization import select
from ragscience.core.settings import Settings, default_settings, find_home, load_settings
from ragscience.engine.papers import in_order
from ragscience.engine.printable import counted, paper_output, some_of

if TYPE_CHECKING:
    from ragscience.engine.eval_runs import DoctorFinding
    from ragscience.engine.reread_runs import Part

HELP = (
    "Read papers into the library: new and changed files of papers/, or those given.\n\n"
    "Without a command it reads papers/: `python ingest.py` is `python ingest.py add`. "
    "`python query.py` answers questions about them."
)
START, PAPERS, CHECKS = "Start here", "Papers", "Checks and upkeep"
"""Headings of the commands in the help."""
MOST_NAMES = 20


def add(
    workers: opt.Workers,
    run: opt.Reading,
    paths: list[Path] | None = opt.argument("FILE", "Files, or folders and all in them. Default: papers/.", None),
) -> int:
    """Read new and changed papers into the library.

    Running ingest.py without a command does the same.
    """
    with IngestScreen(quiet=run.quiet) as screen, opened(screen, bool(paths), **run.flags()) as engine:
        return show_result(engine.ingest.add(paths or (), workers=workers.chosen(), on_event=screen), screen)


def init(run: opt.Run) -> None:
    """Create a home: a folder with papers/ for PDFs and other papers.

    Existing files are left as they are.
    """
    with opened(None, True, **run.flags()) as engine:
        if not run.quiet:
            place = shlex.quote(str(engine.home.root))
            say(f"Put PDFs into {engine.home.papers}; `python ingest.py --home {place}` reads them.")


def list_papers(
    run: opt.Run,
    sort: Literal["file", "author", "year", "pages", "title", "added"] = opt.option(
        "--sort ORDER", "Sort by file, author, year, pages, title or added; newest and longest first.", "file"
    ),
    failed: bool = opt.flag("--failed", "Instead list the files that are not in the library, and why."),
    json: bool = opt.JSON,
) -> None:
    """List the papers in the library.

    Piped output is one paper per line, with tabs between fields and nothing cut.
    """
    from ragscience.cli.paper_views import papers_view, show_skipped

    with opened(**run.flags()) as engine, paged(is_long=not json) as out:
        if failed:
            show_skipped(engine.papers.skipped(), engine.home.papers, None if json else out)
            return
        papers = in_order(engine.papers.list(), sort)
        if json:
            print_json(select("schema papers", papers=[paper_output(paper) for paper in papers]))
        else:
            papers_view(papers, out)


def show(
    run: opt.Run,
    file: str = opt.ONE_PAPER,
    page: int | None = opt.option("--page N", "Show the text read from this page, with the kind of each part.", min=1),
    json: bool = opt.JSON,
) -> None:
    """Show what the library knows about one paper, or the text read from a page."""
    from ragscience.cli.paper_views import show_page, show_paper

    with opened(**run.flags()) as engine, paged(is_long=not json) as out:
        if page is None:
            outline = engine.papers.outline(file)
            show_paper(outline, None if json else out, engine.files.shown(outline.paper.path))
        else:
            show_page(engine.papers.page(file, page), None if json else out)


def duplicates(
    run: opt.Run,
    dedupe: Literal["keep-newest"] | None = opt.option(
        "--dedupe HOW", "keep-newest removes the older of two versions of a paper from the library; files remain."
    ),
    json: bool = opt.JSON,
) -> None:
    """List papers that are in the library twice."""
    from ragscience.cli.paper_views import show_pairs

    with IngestScreen(quiet=run.quiet) as screen, opened(screen, **run.flags()) as engine:
        pairs = engine.papers.duplicates()
        removed = engine.ingest.keep_newest(on_event=screen) if dedupe else ()
        _tell_left_out(len(removed), screen)
    show_pairs(pairs, removed, None if json else console())


def remove(run: opt.Run, papers: list[str] = opt.SOME_PAPERS, yes: bool = opt.YES) -> None:
    """Remove papers from the library.

    Their files remain on disk and are skipped from then on, unless you name them in `ingest.py add`. It asks before one
    name removes several papers.
    """
    with IngestScreen(quiet=run.quiet) as screen, opened(screen, **run.flags()) as engine:
        for pattern in papers if not yes else ():
            found = engine.papers.matching(pattern)
            if len(found) > 1:
                files = some_of([paper.file for paper in found], MOST_NAMES)
                what = f"{counted(len(found), 'paper')} match {pattern!r}: {files}."
                confirm(what, yes=False, question=f"Remove all {len(found):,}?")
        _tell_left_out(len(engine.ingest.remove(papers, on_event=screen)), screen)


def _tell_left_out(count: int, screen: IngestScreen) -> None:
    """What their removal means for so many files."""
    if count:
        they = "Its file is" if count == 1 else "Their files are"
        screen.tell(f"{they} kept, and left out from now on; `python ingest.py add FILE` reads one again.")


def sync(run: opt.Reading, dry_run: bool = opt.flag("--dry-run", "Only show what would be done.")) -> int:
    """Read new and changed files in papers/, and remove papers whose files are gone."""
    with IngestScreen(quiet=run.quiet) as screen, opened(screen, **run.flags()) as engine:
        if not dry_run:
            return show_result(engine.ingest.sync(on_event=screen), screen)
        files, gone = engine.ingest.sync_plan(on_event=screen)
        for path in files:
            screen.tell(f"would read {path}")
        for paper in gone:
            screen.tell(f"would remove {paper.file}")
        if not (files or gone):
            screen.tell("Nothing would change: the library matches the files.")
    return 0


def zotero(
    run: opt.Reading,
    data: Path | None = opt.option(
        "--data DIR", "Zotero's data folder. Default: as Zotero's profile says, or ~/Zotero."
    ),
    collection: list[str] | None = opt.option("--collection NAME", "Only papers of this collection; repeatable."),
    tag: list[str] | None = opt.option("--tag TAG", "Only papers with this tag; repeatable."),
) -> int:
    """Read the papers of your Zotero library, where they are, with their collections, tags, keys and notes.

    The same command again reads what is new or has changed, and removes what is in Zotero's trash. Nothing of Zotero's
    is written, and Zotero may be running.
    """
    with IngestScreen(quiet=run.quiet) as screen, opened(screen, **run.flags()) as engine:
        done = engine.ingest.zotero(data, collections=collection or (), tags=tag or (), on_event=screen)
        return show_result(done, screen)


def bib(
    run: opt.Reading,
    file: Path = opt.argument("FILE.bib", "A BibTeX or biblatex file, as JabRef, Zotero and others write it."),
    files: Path | None = opt.option("--files DIR", "Where the PDFs with relative paths are. Default: beside it."),
) -> int:
    """Give papers the citation keys and fields of a .bib file, and read the PDFs that it names.

    Its entries are matched by their PDFs, by DOI, arXiv id or title.
    """
    with IngestScreen(quiet=run.quiet) as screen, opened(screen, **run.flags()) as engine:
        return show_result(engine.ingest.bib(file, files, on_event=screen), screen)


def watch(
    run: opt.Reading,
    folder: Path | None = opt.argument("FOLDER", "A folder, with everything in it. Default: papers/.", None),
) -> None:
    """Watch a folder and read papers as they arrive, until Ctrl-C.

    SIGTERM also stops it. The folder is searched every second, also on a network file system.
    """
    screen = WatchScreen(quiet=run.quiet)
    with cancelled_by_signals() as cancel, opened(screen, **run.flags()) as engine:
        engine.ingest.watch(folder, on_event=screen, cancel=cancel)


def rebuild(
    workers: opt.Workers,
    run: opt.Reading,
    papers: list[str] | None = opt.ANY_PAPERS,
    embeddings: bool = opt.flag("--embeddings", "Only rebuild the vectors."),
    indexes: bool = opt.flag("--indexes", "Only rebuild the search indexes, and missing token vectors."),
) -> int:
    """Read every paper again, with the current settings."""
    parts: dict[Part, bool] = {"embeddings": embeddings, "indexes": indexes}
    only = [part for part, is_wanted in parts.items() if is_wanted]
    if len(only) > 1 or (only and papers):
        fix = "Use one of them, or `rebuild` alone to rebuild everything."
        raise UsageError("--embeddings, --indexes and names of papers exclude each other.", fix)
    goes_on = "the other papers are unchanged; the same command reads all of them again"
    with IngestScreen(quiet=run.quiet, goes_on=goes_on) as screen, opened(screen, **run.flags()) as engine:
        if only:
            engine.ingest.rebuild(only[0], on_event=screen)
            return 0
        done = engine.ingest.rebuild(papers=papers or (), workers=workers.chosen(), on_event=screen)
        return show_result(done, screen)


# Doctor


def doctor(
    run: opt.Run,
    network: bool = opt.flag("--network", "Also check that arXiv and Ollama can be reached; else nothing connects."),
    fast: bool = opt.flag("--fast", "Do not verify each page, passage and vector of the database."),
    json: bool = opt.JSON,
) -> int:
    """Check papers, indexes, models and disk, and say how to fix what is wrong.

    Nothing is changed. The exit code is 1 if there is an error.
    """
    from ragscience.engine.eval_runs import worst
    from ragscience.engine.library_engine import Engine

    settings, found = _settings(run.home)
    quiet = settings.model_copy(update={"log_file": ""})
    with Engine.open(settings.home, quiet, on_event=IngestScreen(quiet=True)) as engine:
        found += engine.doctor(network=network, fast=fast)
    STATUS.hide()
    if json:
        print_json(select("schema worst findings", findings=found, worst=worst(found)))
    else:
        rows = [(one.severity, one.area, one.message, one.remedy) for one in found]
        print_table(("severity", "area", "finding", "remedy"), rows, console(), wraps=(), joined=2)
    return 1 if worst(found) == "error" else 0


def _settings(home: Path | None) -> tuple[Settings, list[DoctorFinding]]:
    """The settings, and what is wrong with them; the defaults where they cannot be used."""
    from ragscience.engine.eval_runs import DoctorFinding

    found: list[DoctorFinding] = []

    def warn(text: str) -> None:
        found.append(DoctorFinding("settings", "warning", text, ""))

    try:
        settings = load_settings(default_home=default_home(), on_warning=warn, home=home)
        return settings, found or [DoctorFinding("settings", "ok", "Settings OK.")]
    except UsageError as problem:
        found.append(DoctorFinding("settings", "error", problem.message, problem.fix))
    return default_settings(find_home(home, default_home())), found


def add_ingest_commands(app: App) -> None:
    """Add the commands that only ingest.py has, in the order of the help."""
    app.command("list", panel=START, example="python ingest.py list --sort year")(list_papers)
    app.command(panel=PAPERS, example='python ingest.py fetch "graph learning" -n 3 --from 2023')(fetch)
    app.command(panel=PAPERS, example="python ingest.py show ragscience.pdf --page 3")(show)
    app.command(panel=PAPERS, example="python ingest.py remove ragscience.pdf")(remove)
    app.command(panel=PAPERS, example="python ingest.py sync --dry-run")(sync)
    app.command(panel=PAPERS, example="python ingest.py zotero --collection Reading")(zotero)
    app.command(panel=PAPERS, example="python ingest.py watch ~/Downloads")(watch)
    app.command(panel=PAPERS, example="python ingest.py duplicates --dedupe keep-newest")(duplicates)
    app.command(panel=CHECKS, example="python ingest.py doctor --fast")(doctor)
    app.command(panel=CHECKS, example="python ingest.py rebuild --indexes")(rebuild)
    app.command(panel=CHECKS, example="python ingest.py init --home ~/thesis")(init)


app = with_version(make_app(HELP, default="add", bare="add"))
app.command(panel=START, example="python ingest.py add ~/Downloads")(add)
add_ingest_commands(app)
app.command(panel=PAPERS, example="python ingest.py bib thesis.bib")(bib)
app.command("graph", panel=PAPERS, example="python ingest.py graph --graphml papers.graphml")(build_graph)
