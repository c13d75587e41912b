"""The command `ingest.py fetch`: papers from arXiv or an address, picked from a table of what was found."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import typer

from ragscience.cli import options as opt
from ragscience.cli.output import console, print_json, print_table
from ragscience.cli.running import SOME_FAILED, opened, say
from ragscience.cli.screen import IngestScreen, show_result
from ragscience.core.errors import UsageError
from ragscience.core.serialization import select
from ragscience.engine.events import FetchedPaper, FetchRequest, FetchResult
from ragscience.engine.printable import shortened

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.library_engine import Engine


_ARGUMENT_CHARS = 80
_AUTHORS = 2
"""Author names shown per row of the table."""


def fetch(
    run: opt.Run,
    what: list[str] | None = opt.argument(
        "WHAT", "Topics to search on arXiv, arXiv ids, arXiv DOIs, or URLs of PDFs, in any combination.", None
    ),
    count: int = opt.option("-n --count N", "Papers per topic.", 5, min=1, max=1000),
    author: str = opt.option("--author NAME", "Only papers by this author.", ""),
    title: str = opt.option("--title TEXT", "Only papers with this in the title.", ""),
    category: str = opt.option("--category NAME", "Only papers in this arXiv category, as cs.CL.", ""),
    since: str = opt.option("--from DATE", "Only papers from this date on: 2023 or 2023-05-17.", ""),
    until: str = opt.option("--to DATE", "Only papers up to this date.", ""),
    sort: Literal["relevance", "newest"] = opt.option(
        "--sort ORDER", "Order of the results: relevance or newest.", "relevance"
    ),
    yes: bool = opt.YES,
    dry_run: bool = opt.flag("--dry-run", "Only show what was found."),
    no_ingest: bool = opt.flag("--no-ingest", "Only download to papers/; do not read the files."),
    html: bool = opt.flag("--html", "Take the formulas of PDFs that you have (WHAT: some) from arXiv's HTML."),
    json: bool = opt.JSON,
) -> int:
    """Fetch papers from arXiv or a URL, and read them.

    They go to papers/; papers that are already there are not fetched again. A search lists its results for you to
    choose from; papers named by id, DOI or URL are fetched without asking.
    """
    from ragscience.engine.fetch_runs import Search

    if html:
        with IngestScreen(quiet=run.quiet) as screen, opened(screen, **run.flags()) as engine:
            return show_result(engine.ingest.formulas(what or (), on_event=screen), screen)
    narrow = Search("", author, title, category, since, until, newest_first=sort == "newest")
    request = FetchRequest(tuple(what or ()), count, narrow, only_list=dry_run, ingest=not no_ingest)
    with IngestScreen(quiet=run.quiet) as screen, opened(screen, **run.flags()) as engine:
        return run_fetch(engine, request, screen, take_all=yes, as_json=json)


def run_fetch(
    engine: Engine, request: FetchRequest, screen: IngestScreen, *, take_all: bool, as_json: bool = False
) -> int:
    """Fetch, after a person on a terminal has picked from what is found; an exit code.

    Raises UsageError for a request without a meaning, and the one error that there is where nothing else came of it.
    """

    def choose(found: Sequence[FetchedPaper]) -> Sequence[int]:
        if not as_json:
            found_view(found, console())
        if request.only_list or take_all or all(paper.file for paper in found):
            return range(len(found))
        if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            screen.tell("Nothing on this list was fetched. --yes fetches all of it; an arXiv id fetches that paper.")
            return ()
        return pick(len(found), _ask, say)

    try:
        result = engine.ingest.fetch(request, choose=choose, on_event=screen)
    except KeyboardInterrupt:
        say("Run the same command again to fetch and read the rest.")
        raise
    return _show(result, request, screen, str(engine.home.papers), as_json)


def _show(result: FetchResult, request: FetchRequest, screen: IngestScreen, folder: str, as_json: bool) -> int:
    papers, failures, nothing_else = result.papers, result.failures, not (result.papers or result.known_arguments)
    if len(failures) == 1 and nothing_else and not as_json:
        raise failures[0].error
    for failure in failures:
        say(f"not found: {shortened(failure.argument, _ARGUMENT_CHARS)}: {failure.error}")
    for paper in papers:
        if paper.error:
            say(f"not fetched: {paper.title}: {paper.error}")
    named = [paper for paper in papers if paper.is_named]
    if request.only_list and named and not as_json:
        found_view(named, console())
    code = show_result(result.ingest, screen) if result.ingest is not None else 0
    if as_json:
        failed = [{"argument": failure.argument, "error": str(failure.error)} for failure in failures]
        print_json(select("schema papers failures", papers=[_output(paper) for paper in papers], failures=failed))
    statuses = [paper.status for paper in papers]
    known = statuses.count("known") + result.known_arguments
    counts = {
        "fetched": statuses.count("fetched"),
        "already in papers/": known,
        "not fetched": statuses.count("failed"),
    }
    if counts["fetched"] or counts["not fetched"]:
        done = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        screen.tell(f"{done}; files are in {folder}.")
    if len(failures) == 1 and nothing_else:
        return failures[0].error.exit_code
    return SOME_FAILED if failures or counts["not fetched"] else code


def _output(paper: FetchedPaper) -> dict[str, Any]:
    """A paper for `fetch --json`."""
    found = paper.candidate
    ends = {"file": paper.file or None, "md5": paper.md5 or None, "error": paper.error or None}
    return select(
        "status title authors year published venue doi arxiv_id categories abstract url withdrawn file md5 error",
        found.metadata,
        found,
        status=paper.status,
        withdrawn=found.is_withdrawn,
        url=found.url,
        **ends,
    )


def found_view(papers: Sequence[FetchedPaper], out: Console) -> None:
    """A numbered table of papers."""
    rows = []
    for number, paper in enumerate(papers, 1):
        known = paper.candidate.metadata
        notes = [f"in papers/: {paper.file}"] if paper.file else []
        notes += ["withdrawn"] if paper.candidate.is_withdrawn else []
        authors = ", ".join(known.authors[:_AUTHORS]) + (" et al." if len(known.authors) > _AUTHORS else "")
        title = known.title or "(without a title)"
        rows.append((str(number), str(known.year or ""), title, authors, known.arxiv_id, ", ".join(notes)))
    print_table(("", "year", "title", "authors", "arXiv", ""), rows, out, wraps=("title", "authors", ""))


def picked(answer: str, count: int) -> list[int]:
    """Indices, from 0 and ascending, that "1,3-5", "all" or "none" mean of `count` papers; an empty answer picks none.

    Raises UsageError for anything else.
    """
    text = re.sub(r"\s*[-–]\s*", "-", answer.strip().casefold())
    if text in ("", "none", "n", "no"):
        return []
    if text in ("all", "a", "*"):
        return list(range(count))
    chosen: set[int] = set()
    for part in re.findall(r"[^\s,;]+", text):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal() and 1 <= int(first) <= int(last or first) <= count):
            fix = "Type numbers such as 1,3-5, or all, or none."
            raise UsageError(f"{part!r} is not a number from 1 to {count}.", fix)
        chosen.update(range(int(first) - 1, int(last or first)))
    return sorted(chosen)


def pick(count: int, ask: Callable[[str], str], tell: Callable[[str], None]) -> list[int]:
    """Ask until the answer is understood; indices from 0."""
    while True:
        try:
            return picked(ask(f"Which ones to fetch (1-{count}, as 1,3-5; all; none)"), count)
        except UsageError as error:
            tell(str(error))


def _ask(question: str) -> str:
    return str(typer.prompt(question, default="none", err=True))
