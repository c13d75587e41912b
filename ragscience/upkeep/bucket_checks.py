"""Checks of papers in a bucket: that it can be read, what is gone from it or changed, and what was not read yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import SourceError
from ragscience.core.tokenizing import counted
from ragscience.library import left_out
from ragscience.library.ingestion import find_pdfs
from ragscience.library.skipped_files import SkippedFiles
from ragscience.upkeep.findings import Finding, few

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.bucket import StoredObject
    from ragscience.library.bucket_files import BucketFiles
    from ragscience.library.store import Home, Store

__all__ = ["bucket"]

_READ = "`python ingest.py` reads it, or says why it cannot."


def bucket(home: Home, library: Store, papers: Sequence[Paper], where: BucketFiles) -> Iterator[Finding]:
    """What the bucket has and lacks of the library's papers; one request for 1,000 objects, nothing is downloaded."""
    address = where.address
    shadowed = find_pdfs([home.papers]).pdfs if home.papers.is_dir() else ()
    if shadowed:
        message = (
            f"{counted(len(shadowed), 'PDF')} in papers/ on this machine {'is' if len(shadowed) == 1 else 'are'} not"
        )
        fix = f"Move them to {address}, or unset RAG_PAPERS."
        yield Finding("papers", "info", f"{message} read: papers/ is {address}.", fix)
    if where.is_offline:
        fix = "`python query.py doctor --network` asks it."
        yield Finding("papers", "info", f"The papers are in {address}, which was not asked.", fix)
        return
    try:
        listed = where.listing()
    except SourceError as problem:
        yield Finding("papers", "error", problem.message, problem.fix)
        return
    yield Finding("papers", "ok", f"{address} can be listed: {counted(len(listed), 'PDF')}.")
    yield from few(_gone_or_changed(where, listed, papers), "papers have such a file")
    aside = {paper.md5 for paper in papers} | left_out.aside(library).keys() | left_out.removed(library).keys()
    known = {paper.path for paper in papers} | {
        file.path for file in SkippedFiles(home, where.exists).present({paper.path for paper in papers})
    }
    new = [each for path, each in listed.items() if str(path) not in known and where.md5_if_known(each) not in aside]
    found = (
        Finding("papers", "warning", f"{each.name} is in {address} and not in the library.", _READ) for each in new
    )
    yield from few(found, f"objects are in {address} and not in the library")


def _gone_or_changed(
    where: BucketFiles, listed: Mapping[Path, StoredObject], papers: Sequence[Paper]
) -> Iterator[Finding]:
    for paper in papers:
        path = Path(paper.path)
        there = listed.get(path)
        if not where.name_of(path):
            continue
        if there is None:
            fix = "Put it back; `python ingest.py sync` takes it out."
            if where.is_gone(path):
                message = f"{paper.file} is in the library, but its object is gone from {where.address}."
                yield Finding("papers", "warning", message, fix)
        elif there.size_bytes != paper.size_bytes or where.md5_if_known(there) not in ("", paper.md5):
            yield Finding(
                "papers", "warning", f"{paper.file} has changed since it was read.", "`python ingest.py sync`."
            )
