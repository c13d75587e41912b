"""Opens what the settings name: the library of the home or one in LanceDB, and the papers in its folder or a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.core.errors import SourceError, UsageError
from ragscience.library.ingestion import LOCAL, LocalFiles
from ragscience.library.store import Home, Library, Store

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ragscience.core.records import Paper
    from ragscience.core.settings import Settings

__all__ = ["EMBEDDED", "open_at", "open_store", "paper_files", "refuse_papers_in", "require_some_left"]

EMBEDDED = "vectorstore"
"""What names the library in the home's own folder; all else is a URI."""


def open_store(home: Home, settings: Settings, *, writing: bool = False) -> Store:
    """The library that the setting `library` names. Raises as `open_at`."""
    return open_at(home, settings.library, writing=writing)


def open_at(home: Home, uri: str, *, writing: bool = False, is_copy: bool = False) -> Store:
    """The library at a URI, or the home's own for "vectorstore"; the home keeps all that is a person's.

    One that `is_copy` of the home's library does not write the home's ledger.

    Raises LibraryBusy while another process writes it, LibraryUnavailable for a newer format, UsageError where a
    package is missing, RagScienceError where the place cannot be read.
    """
    if uri == EMBEDDED:
        return Library.open_for_writing(home) if writing else Library.open(home)
    from ragscience.library.lance_store import open_lance

    return open_lance(home, uri, writing=writing, keeps_ledger=not is_copy)


def paper_files(home: Home, settings: Settings) -> LocalFiles:
    """What reads the files of this home's papers; nothing is asked of a server yet."""
    if not settings.papers:
        return LOCAL
    from ragscience.library.bucket import Bucket, BucketFiles

    cache = settings.cache_folder.expanduser() / "bucket_papers"
    return BucketFiles(home, Bucket(settings.papers), cache, offline=settings.offline)


def require_some_left(home: Home, settings: Settings, papers: Sequence[Paper], gone: Collection[Paper]) -> None:
    """Raise SourceError where no paper at all is left of those in the bucket: that is no reason to remove them.

    A wrong prefix, a new bucket, a server that has lost its data or a setting that was forgotten look just like it.
    """
    if not gone:
        return
    from ragscience.library.bucket import last_address

    address = settings.papers or last_address(home)
    within = [paper for paper in papers if paper.path.startswith(f"{home.papers}/")] if address else []
    if not within or any(paper not in gone for paper in within):
        return
    what = f"None of the library's {len(within):,} papers is in {address if settings.papers else 'papers/'}"
    where = "" if settings.papers else f", and they were in {address} before"
    do = "Check" if settings.papers else "Set"
    fix = f"{do} RAG_PAPERS. Papers that are to go: `python ingest.py remove '*' --yes`."
    raise SourceError(f"{what}{where}: nothing was removed.", fix)


def refuse_papers_in(settings: Settings) -> None:
    """Raise UsageError where papers/ is a bucket, to which nothing is written."""
    if settings.papers:
        fix = f"Put it there, as with `aws s3 cp FILE {settings.papers}/`, and run `python ingest.py`."
        raise UsageError(f"The papers are in {settings.papers}, where this program writes nothing.", fix)
