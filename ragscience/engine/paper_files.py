"""Where the papers of a home are: in its folder papers/, or in the bucket that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.core.errors import SourceError, UsageError
from ragscience.library.ingestion import LOCAL, LocalFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ragscience.core.records import Paper
    from ragscience.core.settings import Settings
    from ragscience.library.store import Home

__all__ = ["paper_files", "refuse_papers_in", "require_some_left"]


def paper_files(home: Home, settings: Settings) -> LocalFiles:
    """What reads the files of this home's papers; nothing is asked of a server yet."""
    if not settings.papers:
        return LOCAL
    from ragscience.library.bucket import Bucket
    from ragscience.library.object_storage import BucketFiles
    from ragscience.library.paper_cache import PaperCache

    cache = PaperCache(settings.cache_folder.expanduser() / "bucket_papers", settings.papers_cache_mb << 20)
    return BucketFiles(home, Bucket(settings.papers), cache, offline=settings.offline)


def require_some_left(home: Home, settings: Settings, papers: Sequence[Paper], gone: Collection[Paper]) -> None:
    """Raise SourceError where no paper at all is left of those in the bucket: that is no reason to remove them.

    A wrong prefix, a new bucket, a server that has lost its data or a setting that was forgotten look just like it.
    """
    if not gone:
        return
    from ragscience.library.object_storage import last_address

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
