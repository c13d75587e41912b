"""Papers in a bucket, which stands in place of the folder papers/: `s3://lab/pdf/a.pdf` is papers/a.pdf of the home.

So a library that moves from a folder to a bucket, or to another bucket, reads nothing again, and what was cited stays
what it is. Files elsewhere are on this machine as ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem, SourceError
from ragscience.library.bucket import Bucket, StoredObject
from ragscience.library.ingestion import Failure, FileState, FoundFiles, LocalFiles
from ragscience.library.object_index import ObjectIndex
from ragscience.library.paper_cache import PaperCache

if TYPE_CHECKING:
    from ragscience.library.store import Home

__all__ = ["BucketFiles"]

_OFFLINE = "Leave --offline out, or unset RAG_OFFLINE."
_S3 = "s3:/"
_NO_NAME = "%"
"""Stands in a path for the empty part of a key, and before a part that begins so: no file's name is empty."""


class BucketFiles(LocalFiles):
    """The files of papers where papers/ is a bucket. An object is only downloaded where its bytes are needed."""

    def __init__(self, home: Home, bucket: Bucket, cache: PaperCache, *, offline: bool = False) -> None:
        self.bucket = bucket
        self._papers = Path(os.path.abspath(home.papers))  # noqa: PTH100  # as find_pdfs does
        self._index = ObjectIndex(home, bucket.address)
        self._cache = cache
        self.is_offline = offline
        self._seen: dict[str, StoredObject] = {}
        """What was listed or looked at last."""

    def name_of(self, path: Path) -> str:
        """The object's name; empty for a file that is not in the bucket."""
        text = str(path)
        if text.startswith(_S3):  # as a person pastes it; Path has taken one of the slashes
            address = self.bucket.address.replace("//", "/", 1)
            return text.removeprefix(f"{address}/") if text.startswith(f"{address}/") else ""
        full = Path(os.path.abspath(path))  # noqa: PTH100
        if self._papers not in full.parents:
            return ""
        return "/".join(part.removeprefix(_NO_NAME) for part in full.relative_to(self._papers).parts)

    def path_of(self, name: str) -> Path:
        """The path that an object has in the library: `a//b.pdf` has papers/a/%/b.pdf, and `%.pdf` papers/%%.pdf."""
        parts = (f"{_NO_NAME}{part}" if not part or part.startswith(_NO_NAME) else part for part in name.split("/"))
        return self._papers.joinpath(*parts)

    def shown(self, path: str) -> str:
        """The address of the object, for a person."""
        name = self.name_of(Path(path))
        return f"{self.bucket.address}/{name}" if name else path

    def find(self, paths: Sequence[Path], on_found: Callable[[int], None] = lambda _: None) -> FoundFiles:
        """As `find_pdfs`: PDFs in the bucket by their names, elsewhere by the folders. Raises SourceError."""
        local: list[Path] = []
        pdfs: dict[Path, None] = {}
        failures: list[Failure] = []
        for path in paths:
            name = self.name_of(path)
            if self._is_all(path) or name:
                found = self._listed(name, on_found)
                pdfs |= dict.fromkeys(self.path_of(each) for each in found)
                if name and not found:
                    message = f"There is no paper {self.bucket.address}/{name}."
                    failures.append(Failure(path, FileProblem(message, "Check the name.", reason="missing")))
            elif str(path).startswith(_S3):
                message = f"s3://{str(path).removeprefix(_S3)} is not in {self.bucket.address}."
                failures.append(Failure(path, FileProblem(message, "Check RAG_PAPERS.", reason="missing")))
            else:
                local.append(path)
        rest = super().find(local, lambda count: on_found(count + len(pdfs)))
        return FoundFiles((*pdfs, *rest.pdfs), rest.others, (*failures, *rest.failures))

    def _is_all(self, path: Path) -> bool:
        return str(path) == self.bucket.address.replace("//", "/", 1) or Path(os.path.abspath(path)) == self._papers  # noqa: PTH100

    def listing(self, on_found: Callable[[int], None] = lambda _: None) -> dict[Path, StoredObject]:
        """All PDFs of the bucket by their paths in the library. Raises SourceError: never a part of them."""
        return {self.path_of(name): self._seen[name] for name in self._listed("", on_found)}

    def md5_if_known(self, found: StoredObject) -> str:
        """The MD5 of an object of a listing, where its bytes were read before; else empty."""
        return self._index.md5(found)

    @property
    def knows_papers(self) -> bool:
        """Whether there were PDFs when the bucket was listed last."""
        return bool(self._index.names())

    def _listed(self, under: str, on_found: Callable[[int], None]) -> list[str]:
        """The names of the PDFs that `under` names, an object or what is below a folder; of all where it is empty."""
        self._require_network()
        found = {each.name: each for each in self.bucket.objects(under, on_found) if _is_paper(each.name)}
        if under:
            below = f"{under.rstrip('/')}/"
            found = {name: each for name, each in found.items() if name == under or name.startswith(below)}
            self._seen |= found
        else:
            self._seen = found
            if found:  # an empty list may be a mistake, and what was known of the objects is worth keeping
                self._index.list_again(found.values())
        return sorted(found)

    def state(self, path: Path, known: Collection[str] = ()) -> FileState:
        """The object as it is now. It is downloaded where its MD5 is not known and its ETag is none of `known`."""
        name = self.name_of(path)
        if not name:
            return super().state(path)
        found = self._seen.get(name) or self._looked_at(name)
        md5 = self._index.md5(found) or (found.etag if found.etag in known else "")
        if not md5:
            self._require_network()
            md5 = self._cache.store(name, found.size_bytes, lambda file: self.bucket.download(found, file))
        self._index.put(found, md5)
        return FileState(path, md5, found.size_bytes, found.modified_ns)

    def _looked_at(self, name: str) -> StoredObject:
        """The object as it is now. Raises FileProblem where there is none."""
        self._require_network()
        found = self.bucket.head(name)
        if found is None:
            fix = "Put it back, or run `python ingest.py sync` to remove it from the library."
            raise FileProblem(f"{name} is no longer in {self.bucket.address}.", fix, reason="missing")
        self._seen[name] = found
        return found

    def is_as(self, state: FileState) -> bool:
        """Of an object always: its bytes were read from the cache, where they cannot change."""
        return bool(self.name_of(state.path)) or super().is_as(state)

    def is_gone(self, path: Path) -> bool:
        """Whether the server says, asked for this object alone, that there is none: a listing may lack objects."""
        name = self.name_of(path)
        if not name:
            return super().is_gone(path)
        if name in self._seen:
            return False
        self._require_network()
        return self.bucket.head(name) is None

    def exists(self, path: str) -> bool:
        """Whether there is such a file; of an object, whether it was there when they were last listed."""
        name = self.name_of(Path(path))
        return name in self._index if name else super().exists(path)

    @contextmanager
    def opened(self, path: Path, md5: str, *, only_here: bool = False) -> Iterator[Path]:
        """The cached file, downloaded first where it is not there. Raises FileProblem or SourceError."""
        name = self.name_of(path)
        with ExitStack() as stack:
            if not name:
                yield stack.enter_context(super().opened(path, md5))
                return
            file = stack.enter_context(self._cache.opened(md5, name))
            if file is None and not only_here:
                self._fetch(name, md5)
                file = stack.enter_context(self._cache.opened(md5, name))
            if file is None:  # or another process has just made room
                why = f"{name} was removed from the cache before it was read."
                raise FileProblem(why, "Raise RAG_PAPERS_CACHE_MB, and run it again.", reason="cache-size")
            yield file

    def _fetch(self, name: str, md5: str) -> None:
        """Download the object into the cache. Raises FileProblem where its bytes have another MD5."""
        found = self._looked_at(name)
        stored = self._cache.store(name, found.size_bytes, lambda file: self.bucket.download(found, file))
        if stored != md5:
            message = f"{name} has changed in {self.bucket.address} since it was read."
            raise FileProblem(message, "`python ingest.py` reads it as it is.", reason="changed")

    def link(self, path: Path, seconds: int) -> str:
        """A link under which anybody may read the object for so long; empty for a file of this machine."""
        name = self.name_of(path)
        return self.bucket.link(name, seconds) if name else ""

    def save(self) -> None:
        """Keep what was learnt of the objects."""
        self._index.save()

    def _require_network(self) -> None:
        if self.is_offline:
            raise SourceError(f"The papers are in {self.bucket.address}, and --offline forbids asking it.", _OFFLINE)


def _is_paper(name: str) -> bool:
    """Whether an object is a PDF; hidden ones (`.trash/a.pdf`, `../a.pdf`) are left out, as in a folder."""
    is_hidden = any(part.startswith(".") for part in name.split("/"))
    return not is_hidden and "\0" not in name and name.lower().endswith(".pdf")
