"""Finds problems of a library and their fixes: a list of checks, each a small function. Writes and repairs nothing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlsplit

from ragscience.core.errors import FileProblem, RagScienceError, SourceError
from ragscience.core.system import limit_memory
from ragscience.core.tokenizing import counted, some_of
from ragscience.library.ingestion import LOCAL, LocalFiles, file_state, find_pdfs
from ragscience.library.paper_rows import path_within
from ragscience.library.sealed_rows import READ_ALL_AGAIN
from ragscience.library.seen_files import NOT_FAILED, SkippedFiles, removed
from ragscience.models.model_choice import ModelRow
from ragscience.models.model_servers import Ollama, OpenAIServer

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.bucket import BucketFiles
    from ragscience.library.store import Home, Store


def database(home: Home, given: Given, open_library: Callable[[], Store], is_here: bool) -> Iterator[DoctorFinding]:
    """Whether the database can be opened and is consistent; one in the home is read as a whole, about 2 s for each GB.

    Raises RagScienceError, sqlite3.Error.
    """
    with open_library() as library, library.snapshot():
        papers = library.papers()
        counts = len(papers), sum(paper.chunks for paper in papers)
        held = library.about.papers, library.about.chunks
    # The full check holds the database's own indexes against their tables, too.
    check = "quick" if given.fast else "integrity"
    verdict = _verdict(home.database, check) if is_here and home.database.exists() else "ok"
    if verdict != "ok":
        yield DoctorFinding("database", "error", f"The database is damaged: {verdict}.", READ_ALL_AGAIN)
    elif counts != held:
        message = f"The library's tables do not agree: they hold {counts[0]} papers with {counts[1]} passages."
        yield DoctorFinding("database", "error", message, READ_ALL_AGAIN)
    else:
        yield DoctorFinding("database", "ok", "The database is intact.")


def contents(library: Store) -> Iterator[DoctorFinding]:
    """Whether every page, passage, vector and token vector is what was written; reads all of them."""
    damaged = library.verify()
    yield from few((DoctorFinding("contents", "error", *one) for one in damaged), "papers are damaged")
    if not damaged:
        yield DoctorFinding("contents", "ok", "Every page, passage and vector is what was written.")


def other_databases(home: Home) -> Iterator[DoctorFinding]:
    """Whether conversations and the small caches that are databases are intact."""
    kinds = (
        (home.history, "Your conversations are"),
        *((path, f"The conversations of {path.stem} are") for path in sorted(home.people.glob("*.sqlite"))),
    )
    for path, what in kinds:
        verdict = _verdict(path, "quick") if path.is_file() else "ok"
        if verdict != "ok":
            remedy = f"`mv {quoted(path)} {quoted(path)}.damaged`; a new one is created."
            yield DoctorFinding("database", "error", f"{what} damaged: {verdict}.", remedy)


def _verdict(path: Path, check: str) -> str:
    """What SQLite's `check` ("quick" or "integrity") says of a database, "ok" for nothing; makes no files beside it."""
    log = path.with_name(f"{path.name}-wal")
    options = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{options}"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return " ".join(str(connection.execute(f"PRAGMA {check}_check(1)").fetchone()[0]).split())
    except sqlite3.Error as error:
        return str(error)


def ledger(home: Home, library: Store) -> Iterator[DoctorFinding]:
    """Whether ingested.json matches the database."""
    remedy = "`python ingest.py` rebuilds it from the database."
    try:
        listed = {md5: entry["path"] for md5, entry in json.loads(home.ledger.read_bytes())["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        yield DoctorFinding("ledger", "warning", f"ingested.json cannot be read: {error}.", remedy)
        return
    # The ledger has names that are not text by their escapes, so these are compared by MD5 only.
    root = str(home.root.absolute())
    true = {paper.md5: os.fsdecode(path_within(root, paper.path)) for paper in library.papers()}
    wrong = {md5 for md5 in listed.keys() & true.keys() if true[md5].isprintable() and listed[md5] != true[md5]}
    if differing := len((listed.keys() ^ true.keys()) | wrong):
        message = f"ingested.json differs from the library in {counted(differing, 'paper', 'papers')}."
        yield DoctorFinding("ledger", "warning", message, remedy)
    else:
        yield DoctorFinding("ledger", "ok", "ingested.json matches the library.")


def indexes(library: Store) -> Iterator[DoctorFinding]:
    """Whether the indexes are of the database's generation."""
    from ragscience.library.store import Library

    if isinstance(library, Library):
        if library.dense.is_stale():
            remedy = "`python ingest.py rebuild --indexes` rebuilds it."
            yield DoctorFinding("indexes", "warning", "The dense index is behind the library.", remedy)
        elif (info := library.dense.info()) is not None:
            how = "exact" if info.form == "flat" else info.form
            yield DoctorFinding("indexes", "ok", f"The dense index holds {info.count} vectors ({how}).")
    missing, size = library.tokens.not_kept(), library.tokens.size_bytes()
    if not missing:
        yield DoctorFinding("indexes", "ok", f"Token vectors of every passage, {size / 2**20:.0f} MiB.")
    elif size:
        remedy = "`python ingest.py rebuild --indexes` makes them, as far as 2 GiB hold them."
        message = f"{missing} passages have no token vectors, so questions take longer."
        yield DoctorFinding("indexes", "warning", message, remedy)


MOST_HASHED = 100
"""New files whose bytes are compared; more would take long."""
_SCANNED = "scanned"
"""In the warning of a page without a text layer."""
_READ = "`python ingest.py` reads it, or says why it cannot."


def files(home: Home, library: Store, given: Given) -> Iterator[DoctorFinding]:
    """Whether each paper's file is there, unchanged."""
    papers = library.papers()
    if given.where is not LOCAL:
        from ragscience.library.bucket import BucketFiles

        assert isinstance(given.where, BucketFiles)  # noqa: S101 - for the type: there is no other kind
        yield from _bucket(home, library, papers, given.where)
        papers = [paper for paper in papers if given.where.shown(paper.path) == paper.path]
        if not papers:
            return
    problems = ((paper, problem) for paper in papers if (problem := _file_problem(paper)))
    found = [DoctorFinding("papers", "warning", f"{paper.file} {what}.", remedy) for paper, (what, remedy) in problems]
    yield from few(found, "papers have such a file")
    if not found:
        yield DoctorFinding("papers", "ok", "The files of all papers are unchanged.")


def _file_problem(paper: Paper) -> tuple[str, str] | None:
    """The problem of a paper's file, and its fix."""
    path = Path(paper.path)
    try:
        stat = path.stat()
    except FileNotFoundError:
        moved = "If it was moved, `python ingest.py FOLDER` with its new folder finds it"
        return "is in the library, but its file is gone", f"{moved}; `python ingest.py sync` takes it out."
    except OSError as error:
        what = f"is in the library, but its file cannot be reached: {error.strerror}"
        return what, f"Check the disk: `ls -l {quoted(path)}`."
    return ("has changed since it was read", "`python ingest.py sync`.") if stat.st_size != paper.size_bytes else None


def _bucket(home: Home, library: Store, papers: Sequence[Paper], where: BucketFiles) -> Iterator[DoctorFinding]:
    """What the bucket has and lacks of the library's papers; one request for 1,000 objects, nothing is downloaded."""
    if where.is_offline:
        fix = "`python query.py doctor --network` asks it."
        yield DoctorFinding("papers", "info", f"The papers are in {where.address}, which was not asked.", fix)
        return
    try:
        listed = where.listing()
    except SourceError as problem:
        yield DoctorFinding("papers", "error", problem.message, problem.fix)
        return
    yield DoctorFinding("papers", "ok", f"{where.address} can be listed: {counted(len(listed), 'PDF')}.")
    found, known = [], {paper.path for paper in papers}
    for paper in papers:
        path, there = Path(paper.path), listed.get(Path(paper.path))
        if where.name_of(path) and there is None and where.is_gone(path):
            message = f"{paper.file} is in the library, but its object is gone from {where.address}."
            fix = "Put it back; `python ingest.py sync` takes it out."
            found.append(DoctorFinding("papers", "warning", message, fix))
        elif there and (there.size_bytes != paper.size_bytes or where.md5_if_known(there) not in ("", paper.md5)):
            message = f"{paper.file} has changed since it was read."
            found.append(DoctorFinding("papers", "warning", message, "`python ingest.py sync`."))
    yield from few(found, "papers have such a file")
    known |= {file.path for file in SkippedFiles(home, where.exists).present(known)}
    md5s = _md5s(library, papers)
    new = [each for path, each in listed.items() if str(path) not in known and where.md5_if_known(each) not in md5s]
    message = f"is in {where.address} and not in the library"
    yield from few(
        (DoctorFinding("papers", "warning", f"{each.name} {message}.", _READ) for each in new),
        f"objects are in {where.address} and not in the library",
    )


def notes(library: Store) -> Iterator[DoctorFinding]:
    """The warnings of papers; for scanned pages, how to have them read."""

    def found() -> Iterator[DoctorFinding]:
        for paper in library.papers():
            pages = library.contents(paper.paper_id).pages if paper.warnings else ()
            remedy = f"`python ingest.py show {quoted(paper.file)}` shows more."
            if any(_SCANNED in page.warning for page in pages):
                again = f"`python ingest.py {quoted(paper.path)} --ocr`"
                remedy = f"`python ingest.py remove {quoted(paper.file)}`, then {again}, reads them."
            for warning in paper.warnings:
                yield DoctorFinding("papers", "warning", f"{paper.file}: {warning}", remedy)

    yield from few(found(), "such notes about papers; `python ingest.py show` shows them")


def new_files(home: Home, library: Store, given: Given) -> Iterator[DoctorFinding]:
    """Files that could not be read, and files in papers/ that the library does not have; those of a bucket: `files`."""
    if given.where is not LOCAL:
        return
    papers = library.papers()
    skipped = SkippedFiles(home).present({paper.path for paper in papers})
    known = {paper.path for paper in papers} | {file.path for file in skipped}
    unreadable = [Path(file.path).name for file in skipped if file.reason not in NOT_FAILED]
    if unreadable:
        message = f"{counted(len(unreadable), 'file', 'files')} could not be read: {some_of(unreadable)}."
        yield DoctorFinding("papers", "info", message, "`python ingest.py list --failed` says why, and what to do.")
    new = [path for path in find_pdfs([home.papers]).pdfs if str(path) not in known] if home.papers.is_dir() else []
    if len(new) <= MOST_HASHED:
        md5s = _md5s(library, papers)
        new = [path for path in new if _md5(path) not in md5s]
    message = "is in papers/ and not in the library"
    found = (DoctorFinding("papers", "warning", f"{path.relative_to(home.papers)} {message}.", _READ) for path in new)
    yield from few(found, "files are in papers/ and not in the library")


def _md5s(library: Store, papers: Sequence[Paper]) -> set[str]:
    """Of the library's papers and of the files that are left out of it."""
    return {paper.md5 for paper in papers} | removed(library).keys()


def _md5(path: Path) -> str:
    try:
        return file_state(path).md5
    except FileProblem:
        return ""


def examine(
    home: Home,
    given: Given,
    open_library: Callable[[], Store] | None = None,
    *,
    on_check: Callable[[str], object] = bool,
) -> Iterator[DoctorFinding]:
    """Check the disk, the databases, the papers' files and the caches; `on_check` gets the name of each check.

    `open_library` opens a library that is not in the home. A check that cannot be made is a finding; nothing about the
    state of the library raises.
    """
    from ragscience.library.store import Library

    opened = open_library or partial(Library.open, home)

    def made(name: str, area: str, check: Callable[..., Iterable[DoctorFinding]], *on: object) -> list[DoctorFinding]:
        on_check(name)
        return list(guarded(area, check, *on))

    def look_inside() -> Iterator[DoctorFinding]:
        with opened() as store:
            about = store.about
            yield from made("leftovers", "leftovers", leftovers, home, given)
            if about.papers:
                held = f"{counted(about.papers, 'paper')}, {counted(about.chunks, 'passage')}."
                yield DoctorFinding("papers", "ok", held)
            else:
                put = "Put PDFs into papers/ and run `python ingest.py`."
                yield DoctorFinding("papers", "warning", "The library is empty.", put)
            if not given.fast:
                found = made("contents", "contents", contents, store)
                yield from (one for one in found if about.papers or one.severity != "ok")
            if about.papers:
                yield from made("files", "papers", files, home, store, given)
                yield from made("notes", "papers", notes, store)
                yield from made("new files", "papers", new_files, home, store, given)
                yield from made("ledger", "ledger", ledger, home, store)
                yield from made("indexes", "indexes", indexes, store)

    yield from made("disk", "disk", disk, home)
    yield from made("memory", "memory", memory)
    found = made("database", "database", database, home, given, opened, open_library is None)
    yield from found
    if worst(found) != "error":
        yield from guarded("papers", look_inside)
    yield from made("conversations", "database", other_databases, home)


# What a check finds; and the checks of the machine, its models and servers, and what killed runs left.

Severity = Literal["ok", "info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From harmless to grave."""
FEW = 10


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of one check."""

    area: str
    """"disk", "database", "papers", …"""
    severity: Severity
    message: str
    remedy: str = ""
    """What to do about it, with the command; empty where nothing is to be done."""


def worst(findings: Sequence[DoctorFinding]) -> Severity:
    """The gravest of their severities; "ok" for none."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default="ok")


def few(findings: Iterable[DoctorFinding], what: str) -> Iterator[DoctorFinding]:
    """The first ten, then the number of the others: "12 more papers …"."""
    each = iter(findings)
    last = None
    for last in islice(each, FEW):
        yield last
    left = sum(1 for _ in each)
    if left and last is not None:
        yield DoctorFinding(last.area, last.severity, f"{left} more {what}.", last.remedy)


def guarded(area: str, check: Callable[..., Iterable[DoctorFinding]], *given: Any) -> Iterator[DoctorFinding]:
    """The findings of `check(*given)`; an error that stops it is a finding, too."""
    try:
        yield from check(*given)
    except RagScienceError as problem:
        yield DoctorFinding(area, "error", problem.message, problem.fix)
    except (OSError, sqlite3.Error, ValueError, KeyError, TypeError) as error:
        remedy = "Check the disk and the permissions; `python ingest.py rebuild` rebuilds everything."
        yield DoctorFinding(area, "error", f"This could not be checked: {error}.", remedy)


def quoted(path: Path | str) -> str:
    """A path as a shell takes it."""
    return shlex.quote(str(path))


@dataclass(frozen=True, slots=True)
class Given:
    """What the checks depend on beside the home."""

    now: datetime
    """With a time zone."""
    where: LocalFiles = LOCAL
    """Where the papers' files are."""
    fast: bool = False
    """The contents of the database are not verified."""


_SECONDS = 10.0
_NO_OLLAMA = "Start it with `ollama serve`, or set RAG_OLLAMA_URL; without it, answers are made of quotes."


def models(rows: Iterable[ModelRow], needed: Collection[str]) -> Iterator[DoctorFinding]:
    """A finding for each part; a model that is missing is an error for the parts of `needed`, else an info."""
    for row in rows:
        if row.model is not None:
            yield DoctorFinding("models", "ok", f"{row.part}: {row.model} ({row.why}).", row.warning)
        else:
            severity: Severity = "error" if row.part in needed else "info"
            what = row.why if row.why.endswith(".") else f"no model, {row.why}."  # a sentence says what failed
            yield DoctorFinding("models", severity, f"{row.part}: {what}", row.warning)


def network(arxiv_url: str, ollama: Ollama, servers: Iterable[OpenAIServer]) -> Iterator[DoctorFinding]:
    """Whether arXiv's API, Ollama and the servers with OpenAI's API answer, by one small request each."""
    yield _arxiv(arxiv_url)
    for server in (*servers, ollama):
        status, is_ollama = server.status, server is ollama
        if status.running:
            name = f"Ollama {status.version}" if is_ollama else "The server"
            models = counted(len(status.models), "model")
            yield DoctorFinding("network", "ok", f"{name} at {server.shown} answers and has {models}.")
        else:
            why = f"{status.why[:1].upper()}{status.why[1:]}."
            yield DoctorFinding(
                "network", *(("info", why, _NO_OLLAMA) if is_ollama else ("warning", why, server.remedy))
            )


def _arxiv(url: str) -> DoctorFinding:
    import httpx

    host = urlsplit(url).netloc
    remedy = f"`curl -I {url}` shows more; until then `python ingest.py fetch` cannot be used."
    headers = {"User-Agent": "ragscience-doctor"}
    try:
        code = httpx.head(url, headers=headers, timeout=_SECONDS, follow_redirects=True).status_code
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return DoctorFinding("network", "warning", f"{host} cannot be reached: {error}.", remedy)
    # A request without a query may be refused: the server still responds.
    if code >= 500 or code in (403, 429):
        return DoctorFinding("network", "warning", f"{host} answers with HTTP {code}.", "Try again in a few minutes.")
    return DoctorFinding("network", "ok", f"{host} can be reached.")


LOW_DISK_BYTES = 2**30
NO_DISK_BYTES = 100 * 2**20
AT_WORK_SECONDS = 3600
"""An older temporary file is of no running process."""
_FULL = "Make room before the next ingest: `du -sh papers vectorstore` shows the sizes."


def disk(home: Home) -> Iterator[DoctorFinding]:
    """The free space, compared with what the library takes."""
    place = next(folder for folder in (home.root, *home.root.parents) if folder.is_dir())
    used = _size(*(path for path in home.vectorstore.rglob("*") if path.is_file())) if home.vectorstore.is_dir() else 0
    yield disk_room(shutil.disk_usage(place).free, used)


def disk_room(free: int, used: int) -> DoctorFinding:
    """What `free` bytes mean for a library of `used` bytes; a rebuild needs its size once more."""
    if free < NO_DISK_BYTES:
        return DoctorFinding("disk", "error", f"Only {free // 2**20} MiB are left on the disk.", _FULL)
    if free < LOW_DISK_BYTES:
        return DoctorFinding("disk", "warning", f"{free // 2**20} MiB are left on the disk.", _FULL)
    left = f"{free / 2**30:.1f} GiB are left on the disk"
    if free < used:
        message = f"{left}, less than the {used / 2**30:.1f} GiB that the library takes."
        return DoctorFinding("disk", "warning", message, "Make room before `python ingest.py rebuild`.")
    return DoctorFinding("disk", "ok", f"{left}; the library takes {used / 2**20:.0f} MiB.")


def memory() -> Iterator[DoctorFinding]:
    """Whether the memory of the process that reads PDFs can be limited."""
    if not limit_memory(lambda _: None):
        message = "This system sets no limit on the memory of the process that reads PDFs; only its time is limited."
        yield DoctorFinding("memory", "info", message, "")


def leftovers(home: Home, given: Given) -> Iterator[DoctorFinding]:
    """Files of killed runs and unfinished downloads that no running process can need."""

    def is_old(path: Path) -> bool:
        return path.is_file() and given.now.timestamp() - path.stat().st_mtime > AT_WORK_SECONDS

    temporary = [*home.root.glob(f"{home.ledger.name}.*.tmp"), *home.vectorstore.rglob("*.tmp"), *home.parts.glob("*")]
    old = sorted({path for path in temporary if is_old(path)})
    if old:
        what = counted(len(old), "file of a killed run or download", "files of killed runs or downloads")
        remedy = f"`rm {' '.join(map(quoted, old))}`."
        yield DoctorFinding("leftovers", "info", f"{what}, {_size(*old) / 2**20:.1f} MiB.", remedy)
    else:
        yield DoctorFinding("leftovers", "ok", "No leftover files.")


def _size(*paths: Path) -> int:
    return sum(path.stat().st_size for path in paths if path.exists())
