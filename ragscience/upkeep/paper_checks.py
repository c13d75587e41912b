"""Checks of papers and their files: gone, changed, unreadable, scanned, duplicate, suppressed, not yet read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem, ModelProblem
from ragscience.core.tokenizing import counted
from ragscience.library import left_out
from ragscience.library.duplicates import Duplicate, duplicates
from ragscience.library.ingestion import LOCAL, file_state, find_pdfs
from ragscience.library.skipped_files import NOT_FAILED, SkippedFiles
from ragscience.reading.ocr import find_tessdata
from ragscience.upkeep.findings import Finding, few, quoted

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.store import Home, Store
    from ragscience.upkeep.findings import Given

__all__ = ["files", "new_files", "notes", "versions"]

MOST_HASHED = 100
"""New files whose bytes are compared; more would take long."""
_SCANNED = "scanned"
"""In the warning of a page without a text layer."""


def files(home: Home, library: Store, given: Given) -> Iterator[Finding]:
    """Whether each paper's file is there, unchanged; one that was moved to another place in papers/ is found."""
    papers = library.papers()
    if given.where is not LOCAL:
        from ragscience.library.bucket_files import BucketFiles
        from ragscience.upkeep.bucket_checks import bucket

        assert isinstance(given.where, BucketFiles)  # noqa: S101 - for the type: there is no other kind
        yield from bucket(home, library, papers, given.where)
        papers = [paper for paper in papers if given.where.shown(paper.path) == paper.path]
        if not papers:
            return
    problems = [(paper, problem) for paper in papers if (problem := _file_problem(paper, given))]
    moved = _moved(home, [paper for paper, _ in problems if not os.path.lexists(paper.path)])
    found = [
        Finding("papers", "info", f"{paper.file} is now {moved[paper.md5]}.", "`python ingest.py` notes the new place.")
        if paper.md5 in moved
        else Finding("papers", "warning", f"{paper.file} {what}.", remedy)
        for paper, (what, remedy) in problems
    ]
    yield from few(found, "papers have such a file")
    if not found:
        yield Finding("papers", "ok", "The files of all papers are unchanged.")


def _moved(home: Home, gone: Sequence[Paper]) -> dict[str, Path]:
    """Where in papers/ files are now that are gone from their places, by MD5; only those of their sizes are read."""
    sizes, md5s = {paper.size_bytes for paper in gone}, {paper.md5 for paper in gone}
    there = find_pdfs([home.papers]).pdfs if gone and home.papers.is_dir() else []
    alike = [path for path in there if path.is_file() and path.stat().st_size in sizes]
    return {md5: path for path in alike if (md5 := _md5(path)) in md5s}


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


def notes(library: Store, given: Given) -> Iterator[Finding]:
    """The warnings of papers; for scanned pages, how to have them read."""
    papers = library.papers()
    scanned = {
        paper.paper_id
        for paper in papers
        if paper.warnings and any(_SCANNED in page.warning for page in library.contents(paper.paper_id).pages)
    }
    lacking = ""
    try:
        if scanned:
            find_tessdata(given.ocr_language)
    except ModelProblem as problem:
        lacking = f" First: {problem.fix}"

    def found() -> Iterator[Finding]:
        for paper in papers:
            remedy = f"`python ingest.py show {quoted(paper.file)}` shows more."
            if paper.paper_id in scanned:
                again = f"`python ingest.py {quoted(paper.path)} --ocr`"
                remedy = f"`python ingest.py remove {quoted(paper.file)}`, then {again}, reads them.{lacking}"
            for warning in paper.warnings:
                yield Finding("papers", "warning", f"{paper.file}: {warning}", remedy)

    yield from few(found(), "such notes about papers; `python ingest.py show` shows them")


def versions(library: Store) -> Iterator[Finding]:
    """Papers that are there in two versions, and files that are suppressed for a newer one."""
    found = (
        Finding(
            "duplicates",
            "warning",
            f"{pair.older} is the same paper as {pair.newer}, which is {_kept_for(pair)}.",
            "`python ingest.py duplicates --dedupe keep-newest` keeps only the newer one.",
        )
        for pair in duplicates(library)
    )
    yield from few(found, "pairs; `python ingest.py duplicates` has all")
    aside = left_out.aside(library)
    if aside:
        newer = ", ".join(sorted({paper.file for paper in aside.values()})[:3])
        message = f"{counted(len(aside), 'older version is', 'older versions are')} left out, of {newer}."
        yield Finding("duplicates", "info", message, "`python ingest.py FILE` reads one all the same.")
    removed = [path for path in left_out.removed(library).values() if os.path.exists(path)]  # noqa: PTH110  # a name as it is kept
    if removed:
        what = counted(len(removed), "removed paper is", "removed papers are")
        message = f"{what} left out: {_names([Path(path).name for path in removed])}."
        yield Finding("papers", "info", message, "`python ingest.py add FILE` reads one all the same.")


def _kept_for(pair: Duplicate) -> str:
    return "more complete" if pair.newer_by == "completeness" else "newer"


def new_files(home: Home, library: Store, given: Given) -> Iterator[Finding]:
    """Files that could not be read, and files in papers/ that the library does not have; those of a bucket: `files`."""
    if given.where is not LOCAL:
        return
    papers = library.papers()
    skipped = SkippedFiles(home).present({paper.path for paper in papers})
    known = {paper.path for paper in papers} | {file.path for file in skipped}
    unreadable = [Path(file.path).name for file in skipped if file.reason not in NOT_FAILED]
    if unreadable:
        message = f"{counted(len(unreadable), 'file', 'files')} could not be read: {_names(unreadable)}."
        yield Finding("papers", "info", message, "`python ingest.py list --failed` says why, and what to do.")
    new = [path for path in find_pdfs([home.papers]).pdfs if str(path) not in known] if home.papers.is_dir() else []
    if len(new) <= MOST_HASHED:
        md5s = {paper.md5 for paper in papers} | left_out.aside(library).keys() | left_out.removed(library).keys()
        new = [path for path in new if _md5(path) not in md5s]
    found = (
        Finding(
            "papers",
            "warning",
            f"{path.relative_to(home.papers)} is in papers/ and not in the library.",
            "`python ingest.py` reads it, or says why it cannot.",
        )
        for path in new
    )
    yield from few(found, "files are in papers/ and not in the library")


def _names(names: Sequence[str]) -> str:
    """The first three, and how many more."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _md5(path: Path) -> str:
    try:
        return file_state(path).md5
    except FileProblem:
        return ""
