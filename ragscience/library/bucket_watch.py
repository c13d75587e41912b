"""A bucket as a folder that is watched: listed now and then, as it reports nothing by itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from ragscience.core.errors import SourceError
from ragscience.library.bucket_files import BucketFiles
from ragscience.library.folder_watch import TICK_SECONDS, Mark, Stop

__all__ = ["BucketFolder"]


class BucketFolder:
    """The PDFs of a bucket."""

    back = "it can be read again"

    def __init__(self, files: BucketFiles, path: Path) -> None:
        self.path = path
        self.shown = files.bucket.address
        self.lost = ""
        """Why its papers cannot be listed now."""
        self._files = files
        self._was_listed = False

    def files(self) -> dict[Path, Mark] | None:
        """The objects by their paths in the library; None while they cannot be listed, or all of them are missing.

        Raises SourceError where they cannot be listed the first time.
        """
        had_some = self._files.knows_papers
        try:
            found = self._files.listing()
        except SourceError as error:
            if not self._was_listed:
                raise
            self.lost = f"{error} Its papers stay in the library."
            return None
        self._was_listed = True
        if not found and had_some:
            self.lost = f"{self.shown} has no PDF any more; its papers stay in the library."
            return None
        return {path: (each.size_bytes, each.modified_ns, crc32(each.etag.encode()), 0) for path, each in found.items()}

    @staticmethod
    def ticks(stop: Stop) -> Iterator[bool]:
        """False several times a second until `stop` is set: nothing is known of changes."""
        while not stop.is_set():
            yield False
            time.sleep(TICK_SECONDS)
