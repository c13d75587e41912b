"""Checks of papers and their files: gone, changed, unreadable, scanned, duplicate, suppressed, not yet read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem, SourceError
from ragscience.core.tokenizing import counted, some_of
from ragscience.library import left_out
from ragscience.library.ingestion import LOCAL, file_state, find_pdfs
from ragscience.library.left_out import NOT_FAILED, SkippedFiles, duplicates
from ragscience.upkeep.machine_checks import DoctorFinding, few, quoted

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.bucket import BucketFiles
    from ragscience.library.store import Home, Store
    from ragscience.upkeep.machine_checks import Given


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
    problems = ((paper, problem) for paper in papers if (problem := _file_problem(paper, given)))
    found = [DoctorFinding("papers", "warning", f"{paper.file} {what}.", remedy) for paper, (what, remedy) in problems]
    yield from few(found, "papers have such a file")
    if not found:
        yield DoctorFinding("papers", "ok", "The files of all papers are unchanged.")


def _file_problem(paper: Paper, given: Given) -> tuple[str, str] | None:
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
    if not given.may(path, os.R_OK):
        remedy = f"`chmod u+r {quoted(path)}`, as the file's owner."
        return "is in the library, but its file cannot be read", remedy
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


def versions(library: Store) -> Iterator[DoctorFinding]:
    """Papers that are there in two versions, and removed ones whose files are there."""
    remedy = "`python ingest.py duplicates --dedupe keep-newest` keeps only the newer one."
    found = (
        DoctorFinding(
            "duplicates",
            "warning",
            f"{pair.older} is {pair.why}.",
            remedy,
        )
        for pair in duplicates(library)
    )
    yield from few(found, "pairs; `python ingest.py duplicates` has all")
    removed = [path for path in left_out.removed(library).values() if os.path.exists(path)]  # noqa: PTH110  # a name as it is kept
    if removed:
        what = counted(len(removed), "removed paper is", "removed papers are")
        message = f"{what} left out: {some_of([Path(path).name for path in removed])}."
        yield DoctorFinding("papers", "info", message, "`python ingest.py add FILE` reads one all the same.")


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
    return {paper.md5 for paper in papers} | left_out.removed(library).keys()


def _md5(path: Path) -> str:
    try:
        return file_state(path).md5
    except FileProblem:
        return ""
