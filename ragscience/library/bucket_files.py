"""Papers in a bucket, which stands in place of the folder papers/: `s3://lab/pdf/a.pdf` is papers/a.pdf of the home.

So a library that moves from a folder to a bucket, or to another bucket, reads nothing again, and what was cited stays
what it is. Files elsewhere are on this machine as ever.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem, SourceError
from ragscience.library.atomic_files import disk_errors, read_checked_json, write_checked_json
from ragscience.library.bucket import Bucket, StoredObject
from ragscience.library.ingestion import Failure, FileState, FoundFiles, LocalFiles, file_state

if TYPE_CHECKING:
    from ragscience.library.home import Home

__all__ = ["BucketFiles", "last_address"]

CACHE_BYTES = 2 << 30
"""Of PDFs on this machine's disk, about; what was not used for longest goes first."""
_USED_SECONDS = 60.0
"""What was used so short a time ago stays: another process may be about to open it."""
_PART = ".part-"
_SAVED_EVERY = 50
"""MD5s that a killed run loses at most."""
_S3 = "s3:/"
_NO_NAME = "%"
"""Stands in a path for the empty part of a key, and before a part that begins so: no file's name is empty."""


class BucketFiles(LocalFiles):
    """The files of papers where papers/ is a bucket. An object is only downloaded where its bytes are needed.

    What is known of the objects is kept in vectorstore/objects.json; where that is lost, objects whose ETag is not
    their MD5 are downloaded once more.
    """

    def __init__(self, home: Home, bucket: Bucket, cache: Path, *, offline: bool = False) -> None:
        self.address = bucket.address
        self.is_offline = offline
        self._bucket = bucket
        self._papers = Path(os.path.abspath(home.papers))  # noqa: PTH100  # as find_pdfs does
        self._cache = cache
        self._index = home.objects
        known_address, objects = _read_index(home)
        self._known = objects if known_address == bucket.address else {}
        """The objects as they were last listed, with the MD5s that are known."""
        self._unsaved = 0
        self._seen: dict[str, StoredObject] = {}
        """What was listed or looked at by this one."""

    def name_of(self, path: Path) -> str:
        """The object's name; empty for a file that is not in the bucket."""
        text, address = str(path), self.address.replace("//", "/", 1)
        if text.startswith(_S3):  # as a person pastes it; Path has taken one of the slashes
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
        return f"{self.address}/{name}" if name else path

    def find(self, paths: Sequence[Path], on_found: Callable[[int], None] = lambda _: None) -> FoundFiles:
        """As `find_pdfs`: PDFs in the bucket by their names, elsewhere by the folders. Raises SourceError."""
        local: list[Path] = []
        pdfs: dict[Path, None] = {}
        failures: list[Failure] = []
        everything = {self.address.replace("//", "/", 1), str(self._papers)}
        for path in paths:
            name, message = self.name_of(path), ""
            if name or str(path) in everything or os.path.abspath(path) in everything:  # noqa: PTH100
                found = self._listed(name, on_found)
                pdfs |= dict.fromkeys(self.path_of(each) for each in found)
                message = f"There is no paper {self.address}/{name}." if name and not found else ""
            elif str(path).startswith(_S3):
                message = f"s3://{str(path).removeprefix(_S3)} is not in {self.address}."
            else:
                local.append(path)
            if message:
                fix = "Check the name, and RAG_PAPERS."
                failures.append(Failure(path, FileProblem(message, fix, reason="missing")))
        rest = super().find(local, lambda count: on_found(count + len(pdfs)))
        return FoundFiles((*pdfs, *rest.pdfs), rest.others, (*failures, *rest.failures))

    def listing(self) -> dict[Path, StoredObject]:
        """All PDFs of the bucket by their paths in the library. Raises SourceError: never a part of them."""
        return {self.path_of(name): self._seen[name] for name in self._listed("", lambda _: None)}

    def md5_if_known(self, found: StoredObject) -> str:
        """The MD5 of an object of a listing, where its bytes were read before; else empty."""
        known = self._known.get(found.name)
        return known.md5 if known is not None and found.is_as(known) else ""

    @property
    def knows_papers(self) -> bool:
        """Whether there were PDFs when the bucket was listed last."""
        return bool(self._known)

    def _listed(self, under: str, on_found: Callable[[int], None]) -> list[str]:
        """The names of the PDFs that `under` names, an object or what is below a folder; of all where it is empty."""
        self._require_network()
        found = {each.name: each for each in self._bucket.objects(under, on_found) if _is_paper(each.name)}
        if under:
            below = f"{under.rstrip('/')}/"
            found = {name: each for name, each in found.items() if name == under or name.startswith(below)}
            self._seen |= found
        else:
            self._seen = found
            if found:  # an empty list may be a mistake, and what was known of the objects is worth keeping
                self._known = {name: replace(each, md5=self.md5_if_known(each)) for name, each in found.items()}
                self._unsaved += 1
        return sorted(found)

    def state(self, path: Path, known: Collection[str] = ()) -> FileState:
        """The object as it is now. It is downloaded where its MD5 is not known and its ETag is none of `known`."""
        name = self.name_of(path)
        if not name:
            return super().state(path)
        found = self._seen.get(name) or self._looked_at(name)
        md5 = self.md5_if_known(found) or (found.etag if found.etag in known else "") or self._downloaded(found)
        if self._known.get(name) != (noted := replace(found, md5=md5)):
            self._known[name] = noted
            self._unsaved += 1
            if self._unsaved % _SAVED_EVERY == 0:
                self.save()
        return FileState(path, md5, found.size_bytes, found.modified_ns)

    def _looked_at(self, name: str) -> StoredObject:
        """The object as it is now. Raises FileProblem where there is none."""
        self._require_network()
        found = self._bucket.head(name)
        if found is None:
            fix = "Put it back, or run `python ingest.py sync` to remove it from the library."
            raise FileProblem(f"{name} is no longer in {self.address}.", fix, reason="missing")
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
        if name not in self._seen:
            self._require_network()
        return name not in self._seen and self._bucket.head(name) is None

    def exists(self, path: str) -> bool:
        """Whether there is such a file; of an object, whether it was there when they were last listed."""
        name = self.name_of(Path(path))
        return name in self._known if name else super().exists(path)

    @contextmanager
    def opened(self, path: Path, md5: str, *, only_here: bool = False) -> Iterator[Path]:
        """The cached file, downloaded first where it is not there. Raises FileProblem or SourceError."""
        name = self.name_of(path)
        if not name:
            yield path
            return
        file = self._cached(md5, name)
        if file is None and not only_here:
            if self._downloaded(self._looked_at(name)) != md5:
                message = f"{name} has changed in {self.address} since it was read."
                raise FileProblem(message, "`python ingest.py` reads it as it is.", reason="changed")
            file = self._cached(md5, name)
        if file is None:
            raise FileProblem(f"{name} is not in the cache of papers.", "Run it again.", reason="cache-size")
        yield file

    def link(self, path: Path, seconds: int) -> str:
        """A link under which anybody may read the object for so long; empty for a file of this machine."""
        name = self.name_of(path)
        return self._bucket.link(name, seconds) if name else ""

    def save(self) -> None:
        """Keep what was learnt of the objects."""
        if self._unsaved:
            with disk_errors(self._index):
                self._index.parent.mkdir(parents=True, exist_ok=True)
                rows = [astuple(each) for each in self._known.values()]
                write_checked_json(self._index, {"address": self.address, "objects": rows})
            self._unsaved = 0

    def _require_network(self) -> None:
        if self.is_offline:
            fix = "Leave --offline out, or unset RAG_OFFLINE."
            raise SourceError(f"The papers are in {self.address}, and --offline forbids asking it.", fix)

    # The cache: a folder for each file, which has the MD5 of its bytes as name and appears when the file is complete

    def _cached(self, md5: str, name: str) -> Path | None:
        """The file with these bytes, under the name that the object has; one that is damaged is removed."""
        folder, wanted = self._cache / md5, self._cache / md5 / _file_name(name)
        first = next(iter(sorted(folder.glob("*"))), None)
        with suppress(FileProblem, OSError):
            if first is not None and file_state(first).md5 == md5:
                with suppress(FileExistsError):
                    os.link(first, wanted)
                os.utime(folder)
                return wanted
        shutil.rmtree(folder, ignore_errors=True)
        return None

    def _downloaded(self, found: StoredObject) -> str:
        """Download the object into the cache; its MD5. Raises RagScienceError where the disk is full."""
        self._require_network()
        with disk_errors(self._cache):
            self._cache.mkdir(parents=True, exist_ok=True)
            self._make_room(found.size_bytes)
            part = Path(tempfile.mkdtemp(prefix=f"{_PART}{os.getpid()}-", dir=self._cache))
            try:
                with (part / _file_name(found.name)).open("xb") as file:
                    md5 = self._bucket.download(found, file)
                    file.flush()
                    os.fsync(file.fileno())
                with suppress(OSError):  # the same bytes were stored meanwhile
                    part.rename(self._cache / md5)
            finally:
                shutil.rmtree(part, ignore_errors=True)
        return md5

    def _make_room(self, size: int) -> None:
        """Remove what killed downloads left, and what was not used for longest until `size` bytes more fit."""
        found: list[tuple[float, int, Path]] = []
        for folder in self._cache.iterdir():
            with suppress(OSError):  # another process has removed it
                if folder.name.startswith(_PART):
                    if not _is_running(folder.name.split("-")[1]):
                        shutil.rmtree(folder, ignore_errors=True)
                elif folder.is_dir():
                    # A file may have several names.
                    taken = max((path.stat().st_size for path in folder.iterdir()), default=0)
                    found.append((folder.stat().st_mtime, taken, folder))
        total = sum(taken for _, taken, _ in found) + size
        for used, taken, folder in sorted(found):
            if total <= CACHE_BYTES or used > time.time() - _USED_SECONDS:
                return
            shutil.rmtree(folder, ignore_errors=True)
            total -= taken


def last_address(home: Home) -> str:
    """Where the papers of this home were last read from; empty: from its folder papers/ alone."""
    return _read_index(home)[0]


def _read_index(home: Home) -> tuple[str, dict[str, StoredObject]]:
    try:
        content = read_checked_json(home.objects)
        return content["address"], {row[0]: StoredObject(*row) for row in content["objects"]}
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def _file_name(name: str) -> str:
    """The object's own name without its folders: what a reader's window shows."""
    base = name.rpartition("/")[2]
    return base if len(os.fsencode(base)) <= 200 else f"{hashlib.sha256(base.encode()).hexdigest()}.pdf"


def _is_paper(name: str) -> bool:
    """Whether an object is a PDF; hidden ones (`.trash/a.pdf`, `../a.pdf`) are left out, as in a folder."""
    is_hidden = any(part.startswith(".") for part in name.split("/"))
    return not is_hidden and "\0" not in name and name.lower().endswith(".pdf")
