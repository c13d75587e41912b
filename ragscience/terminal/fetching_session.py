"""`ingest.py fetch`: papers are searched for or named, picked, downloaded to papers/, and read into the library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience import __version__
from ragscience.errors import FileProblem, NothingFound, RagScienceError, UsageError
from ragscience.ingestion import file_state, find_pdfs
from ragscience.json_output import FetchedPaper, FetchOutput, print_json, select
from ragscience.records import Metadata
from ragscience.sources.arxiv import FEED_KINDS, LARGEST_FEED, Arxiv, Candidate, Search, search_query
from ragscience.sources.downloads import Fetcher, NetworkRules
from ragscience.sources.fetch_arguments import Wanted, identify, shown
from ragscience.sources.paper_fetch import Known, Shelf, fetch, once
from ragscience.store import Home, Library
from ragscience.terminal.cli import say
from ragscience.terminal.fetching_view import Bars, Row, found_view, pick, title_line
from ragscience.terminal.ingest_session import SOME_FAILED, IngestSession

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["FetchOrder", "order_of", "run_fetch"]


@dataclass(frozen=True, slots=True)
class FetchOrder:
    """What a person asks of `fetch`."""

    said: tuple[str, ...]
    """Topics, arXiv ids, DOIs and addresses of PDFs, in any order."""
    count: int
    """Papers for each topic."""
    narrow: Search
    """What every topic's search is narrowed by; without a topic, what is searched for."""
    take_all: bool = False
    only_list: bool = False
    ingest: bool = True
    json: bool = False


def order_of(said: Sequence[str], count: int, narrow: Mapping[str, str], sort: str, **flags: bool) -> FetchOrder:
    """The order that the command's arguments and options make. Raises UsageError for an unknown way to sort."""
    if sort not in ("relevance", "newest"):
        raise UsageError(f"--sort {sort!r} is not known.", "It is relevance or newest.")
    return FetchOrder(tuple(said), count, Search(**narrow, newest_first=sort == "newest"), **flags)


def run_fetch(session: IngestSession, order: FetchOrder) -> int:
    """Do as ordered; an exit code. On a terminal the person is asked which of the found papers to take.

    Raises UsageError when offline and for what makes no sense, NothingFound where arXiv has nothing for a search alone.
    """
    if session.settings.offline:
        raise UsageError("`fetch` needs the network, and --offline forbids it.", "Leave --offline out.")
    wanted, searches = _understood(order)
    run = _Run(session, order)
    with Fetcher(_rules(session), on_wait=_say_wait) as fetcher:
        arxiv = Arxiv(
            session.settings.arxiv_url,
            lambda url: fetcher.get(url, kinds=FEED_KINDS, max_bytes=LARGEST_FEED).body,
        )
        named = run.look_up(arxiv, wanted)
        found = run.search(arxiv, searches)
        run.rows = [run.row(one) for one in once([*named, *found])]
        if not run.rows:
            run.give_up()
        chosen = run.choose({_key(one) for one in named}, _asker(order))
        run.download(fetcher, chosen)
    return run.finish()


def _understood(order: FetchOrder) -> tuple[list[Wanted], list[Search]]:
    """What is named, and what is to be searched for; all of it must make sense before anyone is asked."""
    wanted = [identify(said) for said in order.said]
    narrow = order.narrow
    fields = (narrow.author, narrow.title, narrow.category, narrow.since, narrow.until)
    topics = [one.topic for one in wanted if one.topic]
    searches = [_with_topic(narrow, topic) for topic in topics]
    if not topics and any(fields):
        if wanted:
            raise UsageError(
                "--author, --title, --category, --from and --to narrow a search, and nothing is searched for.",
                "Add a topic, or leave them out.",
            )
        searches = [narrow]
    if not wanted and not searches:
        raise UsageError("Nothing to fetch.", 'Name a topic, an arXiv id, a DOI or a URL: `fetch "graph learning"`.')
    for search in searches:
        search_query(search)
    return [one for one in wanted if not one.topic], searches


def _with_topic(search: Search, topic: str) -> Search:
    return replace(search, topic=topic)


def _rules(session: IngestSession) -> NetworkRules:
    settings = session.settings
    return NetworkRules(
        allow_http=settings.sources_allow_http,
        allow_loopback=settings.sources_allow_loopback,
        max_bytes=settings.sources_max_mb * 2**20,
        max_redirects=settings.sources_max_redirects,
        timeout_s=settings.sources_timeout_s,
        total_s=settings.sources_total_s,
        pause_s=settings.arxiv_pause_s,
        user_agent=f"RAG-Science/{__version__} (a person's search for papers)",
    )


def _say_wait(why: str, seconds: float) -> None:
    say(f"{why} Trying again in {seconds:.0f} s.")


def _asker(order: FetchOrder) -> Callable[[str], str] | None:
    """Puts a question to the person; None where nobody is there to answer."""
    if order.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    import typer

    return lambda question: str(typer.prompt(question, default="none", err=True))


def _key(candidate: Candidate) -> str:
    return candidate.arxiv.base if candidate.arxiv else candidate.url


@dataclass
class _Run:
    """One `fetch`, step by step."""

    session: IngestSession
    order: FetchOrder
    rows: list[Row] = field(default_factory=list)
    failures: list[tuple[str, RagScienceError]] = field(default_factory=list)
    """Arguments that led to no paper."""
    there: int = 0
    """Arguments that need not be looked up, as their papers are there."""
    to_read: list[Path] = field(default_factory=list)
    """Files in papers/ that the library has not read yet and that were asked for."""

    def __post_init__(self) -> None:
        home = self.session.home
        with Library.open(home) as library:
            self.loose = _loose(home, library)
            sources = {source.md5: source.metadata for source in library.sources.all()}
            self.known = Known.of(library.papers(), self.loose, sources)

    def look_up(self, arxiv: Arxiv, wanted: Sequence[Wanted]) -> list[Candidate]:
        """The papers that are named, each with what arXiv says of it."""
        asked = [one for one in wanted if not self._is_there(one)]
        ids = list(dict.fromkeys(one.arxiv for one in asked if one.arxiv))
        papers = {}
        if ids:
            try:
                papers = arxiv.papers(ids)
            except RagScienceError as error:
                self._fail(", ".join(one.said for one in asked if one.arxiv), error)
                asked = [one for one in asked if not one.arxiv]
        found = []
        for one in asked:
            if one.arxiv is None:
                found.append(Candidate(Metadata(url=one.url), one.url))
            elif one.arxiv in papers:
                found.append(papers[one.arxiv])
            else:
                self._fail(one.said, NothingFound(f"arXiv has no paper {one.arxiv}.", "Check the number."))
        return found

    def _is_there(self, wanted: Wanted) -> bool:
        """Whether there is no need to ask the network for what is named, which is then said."""
        file = ""
        if wanted.arxiv is not None and wanted.arxiv.version is not None:
            file = self.known.version_of(wanted.arxiv)
        elif wanted.url:
            file = self.known.urls.get(wanted.url, "")
        if file:
            self.there += 1
            self._tell(f"{shown(wanted.said)} is there already: {file}")
            self._read_later(file)
        return bool(file)

    def search(self, arxiv: Arxiv, searches: Sequence[Search]) -> list[Candidate]:
        """What arXiv has for each search."""
        found: list[Candidate] = []
        for search in searches:
            said = search.topic or search_query(search)
            try:
                papers = arxiv.search(search, self.order.count)
            except RagScienceError as error:
                self._fail(said, error)
                continue
            found += papers
            if not papers:
                self._fail(said, NothingFound(f"arXiv has nothing for {shown(said)!r}.", "Try other or fewer words."))
        return found

    def row(self, candidate: Candidate) -> Row:
        """The paper, with the file that makes fetching it needless where there is one."""
        file = self.known.file_of(candidate)
        return Row(candidate, "known" if file else "listed", file)

    def give_up(self) -> None:
        """Raise the one error that there was, where nothing else came of the whole run."""
        if len(self.failures) == 1 and not self.there and not self.order.json:
            raise self.failures.pop()[1]

    def choose(self, named: set[str], ask: Callable[[str], str] | None) -> list[Row]:
        """The rows to download: what was named, and of what was found all or what the person picks."""
        found = [row for row in self.rows if _key(row.candidate) not in named]
        taken = [row for row in self.rows if _key(row.candidate) in named]
        if found and not self.order.json:
            found_view(found, _console())
        if self.order.only_list:
            if taken and not self.order.json:
                found_view(taken, _console())
            return []
        if found and not self.order.take_all:
            found = self._picked(found, ask)
        chosen = {id(row) for row in (*taken, *found)}
        return [row for row in self.rows if id(row) in chosen]

    def _picked(self, found: list[Row], ask: Callable[[str], str] | None) -> list[Row]:
        if all(row.status == "known" for row in found):
            return found
        if ask is None:
            self._tell("Nothing of this list was fetched: --yes takes all of it, an arXiv id that one.")
            return []
        return [found[index] for index in pick(len(found), ask, say)]

    def download(self, fetcher: Fetcher, chosen: Sequence[Row]) -> None:
        """Fetch what is not there; one that fails does not stop the others."""
        for row in chosen:
            if row.status == "known":
                self._tell(f"{title_line(row.candidate)} is there already: {row.file}")
                self._read_later(row.file)
        missing = [row for row in chosen if row.status == "listed"]
        if not missing:
            return
        library = self.session.library  # from here on nobody else writes
        with Bars(len(missing), quiet=self.session.quiet, tell=self._tell) as bars:
            try:
                for row in missing:
                    self._download_one(fetcher, library, row, bars)
            except KeyboardInterrupt:
                say("What was cut off goes on where it was when the same command is run again.")
                if self.to_read:
                    say(f"Not read yet, `python ingest.py` does: {', '.join(path.name for path in self.to_read)}")
                raise

    def _download_one(self, fetcher: Fetcher, library: Library, row: Row, bars: Bars) -> None:
        home = self.session.home
        on_progress = bars.begin(title_line(row.candidate))
        try:
            shelf = Shelf(home.papers, home.parts, self.known, library.sources.put)
            fetched = fetch(row.candidate, fetcher, shelf, on_progress)
        except RagScienceError as error:
            row.status, row.error = "failed", str(error)
            say(f"not fetched: {title_line(row.candidate)}: {error}")
            return
        row.status, row.file, row.md5 = "fetched" if fetched.is_new else "known", fetched.path, fetched.md5
        name = Path(fetched.path).name
        if fetched.is_new:
            self.to_read.append(Path(fetched.path))
            bars.done(f"fetched {name} ({fetched.size_bytes / 2**20:.1f} MiB)")
        else:
            self._read_later(fetched.path)
            bars.done(f"{title_line(row.candidate)} has the same bytes as {name}: not kept twice")

    def finish(self) -> int:
        """Read what came, and say what became of everything; an exit code."""
        code = 0
        fetched = [row for row in self.rows if row.status == "fetched"]
        failed = [row for row in self.rows if row.status == "failed"]
        if self.to_read and self.order.ingest:
            code = self.session.add(self.to_read)
        if self.order.json:
            failures = [{"argument": argument, "error": str(error)} for argument, error in self.failures]
            print_json(select(FetchOutput, papers=[_output(row) for row in self.rows], failures=failures))
        if fetched or failed:
            where = self.session.home.papers
            known = sum(row.status == "known" for row in self.rows) + self.there
            counts = {"fetched": len(fetched), "there already": known, "not fetched": len(failed)}
            said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
            self._tell(f"{said}; files are in {where}.")
        if len(self.failures) == 1 and not self.rows and not self.there:
            return self.failures[0][1].exit_code
        return SOME_FAILED if failed or self.failures else code

    def _read_later(self, file: str) -> None:
        """A file that is in papers/ but not in the library, as a run that was cut off leaves it, is read now."""
        path = Path(file)
        if path in self.loose.values() and path not in self.to_read:
            self.to_read.append(path)

    def _fail(self, said: str, error: RagScienceError) -> None:
        self.failures.append((said, error))
        if len(self.order.said) > 1 or self.order.json:
            say(f"not found: {shown(said)}: {error}")

    def _tell(self, text: str) -> None:
        if not self.session.quiet:
            say(text)


def _output(row: Row) -> FetchedPaper:
    """The row for `fetch --json`."""
    found = row.candidate
    ends = {"file": row.file or None, "md5": row.md5 or None, "error": row.error or None}
    return select(FetchedPaper, row, found, found.metadata, withdrawn=found.is_withdrawn, **ends)


def _loose(home: Home, library: Library) -> dict[str, Path]:
    """The PDFs in papers/, by MD5, that the library has not read; what it knows by size and time is not opened."""
    known = {path: (size, modified) for path, (size, modified, _, _) in library.known_files().items()}
    loose: dict[str, Path] = {}
    if not home.papers.is_dir():
        return loose
    for path in find_pdfs([home.papers])[0]:
        try:
            stat = path.stat()
            if known.get(str(path)) != (stat.st_size, stat.st_mtime_ns):
                loose[file_state(path).md5] = path
        except (OSError, FileProblem):
            continue  # the ingest tells of it
    return {md5: path for md5, path in loose.items() if library.paper_by_md5(md5) is None}


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())
