"""A fetch: papers are searched for at their sources, chosen, downloaded and read."""

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event as Flag
from urllib.parse import quote, urlsplit, urlunsplit

from ragscience.core.errors import FileProblem, NothingFound, RagScienceError, SourceError, UsageError
from ragscience.core.paper_records import formats_read
from ragscience.core.records import Metadata, Paper
from ragscience.core.settings import Settings
from ragscience.core.tokenizing import counted
from ragscience.engine import events
from ragscience.engine.events import FetchedPaper, FetchRequest, OnEvent
from ragscience.engine.ingest_runs import IngestRun
from ragscience.engine.shared_parts import SharedParts, open_store, refuse_papers_in
from ragscience.library.ingestion import file_state, find_pdfs
from ragscience.library.store import Home, Store, known_files
from ragscience.reading.other_formats import formulas_of, read_other
from ragscience.sources.allowed_addresses import NetworkRules
from ragscience.sources.arxiv import LARGEST_FEED, Arxiv, Candidate, Wanted, identify, search_query, shown
from ragscience.sources.arxiv import Search as Search
from ragscience.sources.downloads import Known, Shelf, fetch, once
from ragscience.sources.http_client import HttpClient

_PAGE = 32 << 20
"""Bytes of a paper's HTML without its pictures, at most."""
Choose = Callable[[Sequence[FetchedPaper]], Collection[int]]
"""Receives what the searches found, and gives the indices of the papers to fetch."""


@dataclass(slots=True)
class FetchRun:
    """One fetch, with what came of it so far."""

    shared: SharedParts
    on_event: OnEvent
    cancel: Flag | None = None
    failures: list[events.FetchFailure] = field(default_factory=list)
    known_arguments: int = 0
    unread: dict[Path, None] = field(default_factory=dict)
    """Files in papers/ that were wanted and that the library has not read yet."""
    known: Known = field(default_factory=Known)

    def fetch(self, request: FetchRequest, choose: Choose | None = None) -> events.FetchResult:
        """Fetch what the request names, and what `choose` takes of what its searches find: all without it.

        Once the cancel flag is set, no further download starts. Raises UsageError offline and for a request without
        a meaning; what fails later is in the result.
        """
        client = client_of(self.shared, self.on_event)
        refuse_papers_in(self.shared.settings)
        wanted, searches = _understood(request)
        with open_store(self.shared.home, self.shared.settings) as library:
            sources = {source.md5: source.metadata for source in library.sources.all()}
            self.known = Known.of(library.papers(), _loose_files(self.shared.home, library), sources)
        arxiv = Arxiv(self.shared.settings.arxiv_url, lambda url: client.get(url, max_bytes=LARGEST_FEED))
        named = self._look_up(arxiv, wanted)
        found = self._search(arxiv, searches, request.count)
        papers = self._chosen([*named, *found], {one.key for one in named}, request, choose)
        rows = [paper for paper, _ in papers]
        missing = [index for index, (paper, is_chosen) in enumerate(papers) if is_chosen and not paper.file]
        ingest: events.IngestResult | None = None
        if missing or (self.unread and request.ingest):
            with self.shared.writing() as library:
                shelf = Shelf(self.shared.home.papers, self.shared.home.parts, self.known, library.sources.put)
                for number, index in enumerate(missing, 1):
                    if self.cancel is None or not self.cancel.is_set():
                        rows[index] = self._download(rows[index], client, shelf, (number, len(missing)))
                if self.unread and request.ingest:
                    run = IngestRun(library, self.shared, self.on_event, cancel=self.cancel)
                    ingest = run.add([*self.unread])
        return events.FetchResult(tuple(rows), tuple(self.failures), self.known_arguments, ingest)

    def _look_up(self, arxiv: Arxiv, wanted: Sequence[Wanted]) -> list[Candidate]:
        """The papers that are named, each with arXiv's metadata."""
        missing = [one for one in wanted if not self._is_known(one)]
        ids = list(dict.fromkeys(one.arxiv for one in missing if one.arxiv))
        papers = {}
        if ids:
            try:
                papers = arxiv.papers(ids)
            except RagScienceError as error:
                self._fail(", ".join(shown(one.said) for one in missing if one.arxiv), error)
                missing = [one for one in missing if not one.arxiv]
        found = []
        for one in missing:
            if one.arxiv is None:
                found.append(Candidate(Metadata(url=one.url), one.url))
            elif one.arxiv in papers:
                found.append(papers[one.arxiv])
            else:
                self._fail(shown(one.said), NothingFound(f"arXiv has no paper {one.arxiv}.", "Check the number."))
        return found

    def _is_known(self, wanted: Wanted) -> bool:
        """Whether an argument needs no request, as its paper is there."""
        file = ""
        if wanted.arxiv is not None and wanted.arxiv.version is not None:
            file = self.known.version_of(wanted.arxiv)
        elif wanted.url:
            file = self.known.urls.get(wanted.url, "")
        if file:
            self.known_arguments += 1
            self._is_there(shown(wanted.said), file)
        return bool(file)

    def _search(self, arxiv: Arxiv, searches: Sequence[Search], count: int) -> list[Candidate]:
        """What arXiv has for each search."""
        found: list[Candidate] = []
        for search in searches:
            query = search.topic or search_query(search)
            try:
                papers = arxiv.search(search, count)
                if not papers:
                    raise NothingFound(f"arXiv has nothing for {shown(query)!r}.", "Try other or fewer words.")
            except RagScienceError as error:
                self._fail(query, error)
            else:
                found += papers
        return found

    def _chosen(
        self, candidates: Sequence[Candidate], named: Collection[str], request: FetchRequest, choose: Choose | None
    ) -> list[tuple[FetchedPaper, bool]]:
        """Each paper once, and whether it is to be fetched."""
        papers = []
        for one in once(candidates):
            file = self.known.file_of(one)
            papers.append(FetchedPaper(one, one.key in named, "known" if file else "listed", file))
        found = [paper for paper in papers if not paper.is_named]
        picked = choose(found) if found and choose is not None else range(len(found))
        taken = {id(found[index]) for index in picked}
        chosen = [not request.only_list and (paper.is_named or id(paper) in taken) for paper in papers]
        for paper, is_chosen in zip(papers, chosen, strict=True):
            if is_chosen and paper.file:
                self._is_there(paper.title, paper.file)
        return list(zip(papers, chosen, strict=True))

    def _download(self, paper: FetchedPaper, client: HttpClient, shelf: Shelf, place: tuple[int, int]) -> FetchedPaper:
        """The paper after its download; an error is in it."""
        at = f"[{place[0]}/{place[1]}]"

        def progress(done: int, total: int | None) -> None:
            of = f" of {total / 2**20:.1f}" if total else ""
            size = f", {done / 2**20:.1f}{of} MiB" if done else ""
            self.on_event(events.Progressed(f"{at} fetching {paper.title}{size}"))

        progress(0, None)
        try:
            got = fetch(paper.candidate, client, shelf, progress)
        except RagScienceError as error:
            return replace(paper, status="failed", error=str(error))
        name = Path(got.path).name
        same = f"{paper.title} is identical to {name}: not saved twice"
        said = f"fetched {name} ({got.size_bytes / 2**20:.1f} MiB)" if got.is_new else same
        self.on_event(events.Noted(f"{at} {said}"))
        self._read(got.path)
        return replace(paper, status="fetched" if got.is_new else "known", file=got.path, md5=got.md5)

    def _is_there(self, what: str, file: str) -> None:
        self.on_event(events.Noted(f"{what} is already in papers/: {file}"))
        self._read(file)

    def _read(self, file: str) -> None:
        """Read a file of papers/ unless it is in the library, which calls it by a shorter name."""
        if Path(file).is_absolute():
            self.unread[Path(file)] = None

    def _fail(self, argument: str, error: RagScienceError) -> None:
        self.failures.append(events.FetchFailure(argument, error))


def client_of(shared: SharedParts, on_event: OnEvent) -> HttpClient:
    """What asks arXiv. Raises UsageError offline."""
    if shared.settings.offline:
        fix = "Leave --offline out, or unset RAG_OFFLINE."
        raise UsageError("`fetch` needs the network, which is switched off.", fix)
    return HttpClient(
        NetworkRules.beside(shared.settings.arxiv_url),
        on_wait=lambda reason, seconds: on_event(events.Noted(f"{reason} Trying again in {seconds:.0f} s.")),
    )


def _html_address(api: str, number: str) -> str:
    """Where arXiv has the HTML of a paper, as it is made from LaTeX: not beside its API, but on its main site."""
    parts = urlsplit(api)
    return urlunsplit((parts.scheme, parts.netloc.removeprefix("export."), f"/html/{quote(number)}", "", ""))


def html_formulas(
    client: HttpClient, settings: Settings, papers: Sequence[Paper], on_event: OnEvent
) -> Iterator[tuple[Paper, tuple[str, ...]]]:
    """Each paper with the displayed formulas of its HTML at arXiv; none where there is no HTML that can be read.

    Raises SourceError where arXiv cannot be reached, FileProblem without pandoc.
    """
    with tempfile.TemporaryDirectory(prefix="ragscience-") as folder:
        page = Path(folder, "page.html")
        for number, paper in enumerate(papers, 1):
            on_event(events.Progressed(f"[{number}/{len(papers)}] asking arXiv for the HTML of {paper.file}"))
            formulas: tuple[str, ...] = ()
            try:
                address = _html_address(settings.arxiv_url, paper.metadata.arxiv_id)
                page.write_bytes(client.get(address, max_bytes=_PAGE))
                formulas = formulas_of(read_other(page))
            except SourceError as problem:
                if problem.reason != "status":
                    raise
            except FileProblem as problem:
                if ".html" not in formats_read():  # without pandoc none can be read
                    raise problem from None
            on_event(events.Noted(f"{paper.file}: {counted(len(formulas), 'formula')} in arXiv's HTML"))
            yield paper, formulas


def _understood(request: FetchRequest) -> tuple[list[Wanted], list[Search]]:
    """The named papers and the searches. Raises UsageError, before any request is sent."""
    wanted = [identify(argument) for argument in request.arguments]
    narrow = request.narrow or Search()
    topics = [one.topic for one in wanted if one.topic]
    if request.only_topics and len(topics) < len(wanted):
        raise UsageError("The topic is an address or the number of a paper.", "Give words to search for.")
    searches = [replace(narrow, topic=topic) for topic in topics]
    if not topics and replace(narrow, newest_first=False) != Search():
        if wanted:
            what = "--author, --title, --category, --from and --to narrow a search, and nothing is searched for."
            raise UsageError(what, "Add a topic, or leave them out.")
        searches = [narrow]
    if not wanted and not searches:
        raise UsageError("Nothing to fetch.", 'Name a topic, an arXiv id, a DOI or a URL: `fetch "graph learning"`.')
    for search in searches:
        search_query(search)
    return [one for one in wanted if not one.topic], searches


def _loose_files(home: Home, library: Store) -> dict[str, Path]:
    """The PDFs in papers/, by MD5, that the library has not read; known by size and time, a file is not opened."""
    known = {path: (size, modified) for path, (size, modified, _, _) in known_files(library).items()}
    loose: dict[str, Path] = {}
    for path in find_pdfs([home.papers]).pdfs if home.papers.is_dir() else ():
        try:
            stat = path.stat()
            if known.get(str(path)) != (stat.st_size, stat.st_mtime_ns):
                loose[file_state(path).md5] = path
        except (OSError, FileProblem):
            continue  # the ingest reports it
    return {md5: path for md5, path in loose.items() if library.paper(md5=md5) is None}
