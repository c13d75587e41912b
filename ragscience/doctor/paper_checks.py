"""A library's papers against their files: gone, changed, unreadable, scanned, twice there, set aside, not yet read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.doctor.findings import Finding, few
from ragscience.doctor.machine_checks import May
from ragscience.duplicates import duplicates
from ragscience.errors import FileProblem, ModelProblem
from ragscience.ingestion import file_state, find_pdfs
from ragscience.reading.ocr import find_tessdata

if TYPE_CHECKING:
    from ragscience.records import Paper
    from ragscience.store import Home, Library

__all__ = ["files", "notes", "strangers", "twice"]

MOST_HASHED = 100
"""Files of which the bytes are looked at: more would take long, and that they are new is plain."""
_SCANNED = "scanned"
"""What the warning of a page without a text layer says."""


def files(papers: Sequence[Paper], may: May) -> Iterator[Finding]:
    """Whether each paper's file is there as it was read."""
    found = [finding for paper in papers if (finding := _of_file(paper, may)) is not None]
    yield from few(found, "papers have such a file")
    if not found:
        yield Finding("papers", "ok", "The files of all papers are as they were read.")


def _of_file(paper: Paper, may: May) -> Finding | None:
    path = Path(paper.path)
    try:
        stat = path.stat()
    except FileNotFoundError:
        message = f"{paper.file} is in the library, but its file is gone."
        return Finding("papers", "warning", message, "`python ingest.py sync` removes it.")
    except OSError as error:
        message = f"{paper.file} is in the library, but its file cannot be reached: {error.strerror}."
        return Finding("papers", "warning", message, f"Look at the disk: `ls -l {shlex.quote(paper.path)}`.")
    if not may(path, os.R_OK):
        remedy = f"`chmod u+r {shlex.quote(paper.path)}`, by the user whom it belongs to."
        return Finding("papers", "warning", f"{paper.file} is in the library, but its file cannot be read.", remedy)
    if stat.st_size != paper.size_bytes:
        return Finding("papers", "warning", f"{paper.file} has changed since it was read.", "`python ingest.py sync`.")
    return None


def notes(library: Library, papers: Sequence[Paper], ocr_language: str) -> Iterator[Finding]:
    """What was noted when papers were read; for scanned pages, what it takes to have them read."""
    scanned = {paper.paper_id for paper in papers if paper.warnings and _has_scans(library, paper)}
    lacking = ""
    try:
        if scanned:
            find_tessdata(ocr_language)
    except ModelProblem as problem:
        lacking = f" First: {problem.fix}"

    def found() -> Iterator[Finding]:
        for paper in papers:
            remedy = f"`python ingest.py show {shlex.quote(paper.file)}` tells more."
            if paper.paper_id in scanned:
                again = f"`python ingest.py {shlex.quote(paper.path)} --ocr`"
                remedy = f"`python ingest.py remove {shlex.quote(paper.file)}`, then {again}, reads them.{lacking}"
            for warning in paper.warnings:
                yield Finding("papers", "warning", f"{paper.file}: {warning}", remedy)

    yield from few(found(), "such notes about papers; `python ingest.py show` has each")


def _has_scans(library: Library, paper: Paper) -> bool:
    return any(_SCANNED in page.warning for page in library.pages(paper.paper_id))


def twice(library: Library) -> Iterator[Finding]:
    """Papers that are there in other bytes, too, and files that were set aside for a newer one."""
    found = (
        Finding(
            "duplicates",
            "warning",
            f"{pair.older} is the same paper as {pair.newer}, which is newer.",
            "`python ingest.py duplicates --dedupe keep-newest` keeps the newer one alone.",
        )
        for pair in duplicates(library)
    )
    yield from few(found, "pairs; `python ingest.py duplicates` has all")
    aside = library.aside()
    if aside:
        newer = ", ".join(sorted({paper.file for paper in aside.values()})[:3])
        message = f"{len(aside)} older versions are set aside, of {newer}."
        yield Finding("duplicates", "info", message, "`python ingest.py FILE` reads one all the same.")


def strangers(home: Home, library: Library, papers: Sequence[Paper]) -> Iterator[Finding]:
    """Files in papers/ that the library does not have."""
    known = {paper.path for paper in papers}
    new = [path for path in find_pdfs([home.papers])[0] if str(path) not in known] if home.papers.is_dir() else []
    if len(new) <= MOST_HASHED:
        new = list(_unknown(new, {paper.md5 for paper in papers} | library.aside().keys()))
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


def _unknown(paths: Iterable[Path], known: set[str]) -> Iterator[Path]:
    for path in paths:
        try:
            if file_state(path).md5 in known:
                continue
        except FileProblem:
            pass
        yield path
