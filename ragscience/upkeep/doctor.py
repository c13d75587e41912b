"""Finds problems of a library and their fixes: a list of checks, each a small function. Writes and repairs nothing."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from ragscience.core.errors import FileProblem, SourceError
from ragscience.core.records import Paper
from ragscience.core.tokenizing import counted, some_of
from ragscience.library.bucket import BucketFiles
from ragscience.library.ingestion import LOCAL, file_state, find_pdfs
from ragscience.library.paper_rows import path_within
from ragscience.library.sealed_rows import READ_ALL_AGAIN
from ragscience.library.seen_files import NOT_FAILED, SkippedFiles, removed
from ragscience.library.store import Home, Library, Store
from ragscience.upkeep import machine_checks
from ragscience.upkeep.machine_checks import DoctorFinding, Given, few, guarded, quoted, worst


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
    opened = open_library or partial(Library.open, home)

    def made(name: str, area: str, check: Callable[..., Iterable[DoctorFinding]], *on: object) -> list[DoctorFinding]:
        on_check(name)
        return list(guarded(area, check, *on))

    def look_inside() -> Iterator[DoctorFinding]:
        with opened() as store:
            about = store.about
            yield from made("leftovers", "leftovers", machine_checks.leftovers, home, given)
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

    yield from made("disk", "disk", machine_checks.disk, home)
    yield from made("memory", "memory", machine_checks.memory)
    found = made("database", "database", database, home, given, opened, open_library is None)
    yield from found
    if worst(found) != "error":
        yield from guarded("papers", look_inside)
    yield from made("conversations", "database", other_databases, home)
