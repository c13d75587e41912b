"""Papers in a bucket of S3, or of a server with its API: listed and downloaded, never written.

The bucket stands in place of the folder papers/: `s3://lab/pdf/a.pdf` is papers/a.pdf of the home. So a library that
moves from a folder to a bucket, or to another bucket, reads nothing again, and what was cited stays what it is. Files
elsewhere are on this machine as ever.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ragscience.core.errors import FileProblem, RagScienceError, SourceError, missing_package
from ragscience.core.paper_records import formats_read
from ragscience.library.atomic_files import Home, disk_errors, read_checked_json, write_checked_json
from ragscience.library.ingestion import FileState, FoundFiles, LocalFiles, file_state

_DOWNLOADS = 3
"""How often an object is downloaded that does not come whole; other requests are botocore's to try again."""
CACHE_BYTES = 2 << 30
"""Of PDFs on this machine's disk, about; what was not used for longest goes first."""
_MD5 = re.compile(r"[0-9a-f]{32}")
_CHECK = (
    "Try again later, what was read is kept; or check RAG_PAPERS, the key and its rights (AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE), AWS_ENDPOINT_URL and AWS_DEFAULT_REGION: docs/object-storage.md."
)
_GONE = ("404", "NoSuchKey")
_PUT_BACK = "Check the name and put it back, or run `python ingest.py sync` to remove it from the library."


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of a bucket."""

    name: str
    """Its key after the prefix: `2017/attention.pdf`."""
    size_bytes: int
    etag: str
    """Another one for other bytes; of some objects it is their MD5."""
    modified_ns: int
    """In nanoseconds since 1970, whole seconds."""


class BucketFiles(LocalFiles):
    """The files of papers where papers/ is a bucket. An object is only downloaded where its bytes are needed.

    Who asks, where and how often, the AWS_ variables and files say. Methods raise SourceError where the bucket cannot
    be used at all, FileProblem where a single object cannot be had. The MD5s of the objects are kept in
    vectorstore/objects.json; where that is lost, objects whose ETag is not their MD5 are downloaded once more.
    """

    def __init__(self, home: Home, address: str, cache: Path, *, offline: bool = False) -> None:
        """`address` is `s3://bucket/prefix`."""
        self.address = address.rstrip("/")
        self.is_offline = offline
        self._bucket, _, prefix = self.address.removeprefix("s3://").partition("/")
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._papers = Path(os.path.abspath(home.papers))  # noqa: PTH100  # as find_pdfs does
        self._cache = cache
        self._index = home.objects
        known_address, known = known_objects(home)
        self._known: dict[str, tuple[str, str]] = known if known_address == self.address else {}
        """ETag and MD5, empty where it is not known, of the objects as they were last listed."""
        self._seen: dict[str, StoredObject] = {}
        """What was listed or looked at by this one."""

    @cached_property
    def _made(self) -> Any:
        from botocore.config import Config
        from botocore.session import Session

        waits = {"connect_timeout": 10, "read_timeout": 20, "retries": {"mode": "standard"}}
        return Session().create_client("s3", config=Config(signature_version="s3v4", max_pool_connections=32, **waits))

    @contextmanager
    def _client(self, name: str = "") -> Iterator[Any]:
        """Botocore's client, for a request about the object of that name, or about them all; errors in words."""
        if self.is_offline:
            fix = "Leave --offline out, or unset RAG_OFFLINE."
            raise SourceError(f"The papers are in {self.address}, and the network is switched off.", fix)
        try:
            from botocore.exceptions import BotoCoreError, ClientError
            from botocore.parsers import ResponseParserError
        except ImportError as error:
            raise missing_package(self.address, "botocore", "lab", SourceError) from error
        try:
            yield self._made
        except (OSError, ValueError, KeyError, BotoCoreError, ClientError, ResponseParserError) as error:
            # An endpoint may have a password, which --debug would print.
            raise self._problem(error, name) from (None if "@" in str(error) else error)

    def _problem(self, error: Exception, name: str) -> RagScienceError:
        """What a failed request means: where the server answers, of the object alone. Its text may name keys."""
        code = str((getattr(error, "response", None) or {}).get("Error", {}).get("Code", ""))
        what = code if code.isascii() and code.isalnum() else type(error).__name__
        if not name or not code:
            return SourceError(f"{self.address} cannot be read: {what}.", _CHECK, reason="network")
        if code in _GONE:
            return FileProblem(f"{name} is not in {self.address}.", _PUT_BACK, reason="missing")
        return FileProblem(f"{name} cannot be read from {self.address}: {what}.", _CHECK, reason="network")

    def name_of(self, path: Path) -> str | None:
        """The object's name; empty for the whole bucket, None for a file that is not in it."""
        address = self.address.replace("//", "/", 1)  # as a person pastes it; Path has taken one of the slashes
        if f"{path}/".startswith(f"{address}/"):
            path = self._papers / str(path)[len(address) + 1 :]
        full = Path(os.path.abspath(path))  # noqa: PTH100
        if full != self._papers and self._papers not in full.parents:
            return None
        return "" if full == self._papers else full.relative_to(self._papers).as_posix()

    def shown(self, path: str) -> str:
        """The address of the object, for a person."""
        name = self.name_of(Path(path))
        return f"{self.address}/{name}" if name else path

    def find(self, paths: Sequence[Path], on_found: Callable[[int], None] = lambda _: None) -> FoundFiles:
        """As `find_pdfs`: PDFs in the bucket by their names, elsewhere by the folders. Raises SourceError."""
        local: list[Path] = []
        pdfs: dict[Path, None] = {}
        for path in paths:
            name = self.name_of(path)
            if name is None:
                local.append(path)
                continue
            names = self._listed(name, on_found) or [name] * bool(name)  # its state says what is wrong
            pdfs |= dict.fromkeys(self._papers / each for each in names)
        rest = super().find(local, lambda count: on_found(count + len(pdfs)))
        return replace(rest, pdfs=(*pdfs, *rest.pdfs))

    def listing(self) -> dict[Path, StoredObject]:
        """All PDFs of the bucket by their paths in the library. Raises SourceError: never a part of them."""
        return {self._papers / name: self._seen[name] for name in self._listed("", lambda _: None)}

    def md5_if_known(self, found: StoredObject) -> str:
        """The MD5 of an object, where its bytes were read before; else empty."""
        etag, md5 = self._known.get(found.name, ("", ""))
        return md5 if etag == found.etag else ""

    def _listed(self, under: str, on_found: Callable[[int], None]) -> list[str]:
        """The names of the PDFs that `under` names, an object or what is below a folder; of all where it is empty."""
        found: dict[str, StoredObject] = {}
        with self._client() as client:
            asked = {"Bucket": self._bucket, "Prefix": self._prefix + under}
            for page in client.get_paginator("list_objects_v2").paginate(**asked):
                objects = [self._object(row["Key"], row, row["Size"]) for row in page.get("Contents", ())]
                found |= {each.name: each for each in objects if _is_paper(each.name, under)}
                on_found(len(found))
        self._seen = self._seen | found if under else found
        if found and not under:  # an empty list may be a mistake, and what was known of the objects is worth keeping
            self._known = {name: (each.etag, self.md5_if_known(each)) for name, each in found.items()}
        return sorted(found)

    def _object(self, key: str, row: dict[str, Any], size: int) -> StoredObject:
        modified_ns = int(row["LastModified"].timestamp()) * 10**9
        return StoredObject(key.removeprefix(self._prefix), size, row["ETag"].strip('"'), modified_ns)

    def state(self, path: Path, known: Collection[str] = ()) -> FileState:
        """The object as it is now. It is downloaded where its MD5 is not known and its ETag is none of `known`."""
        name = self.name_of(path)
        if not name:
            return super().state(path)
        found = self._seen.get(name) or self._looked_at(name)
        md5 = self.md5_if_known(found)
        if not md5:
            md5 = found.etag if found.etag in known else self._downloaded(found).parent.name
            self._known[name] = (found.etag, md5)
        return FileState(path, md5, found.size_bytes, found.modified_ns)

    def _looked_at(self, name: str) -> StoredObject:
        """The object as it is now. Raises FileProblem where there is none."""
        key = self._prefix + name
        with self._client(name) as client:
            reply = client.head_object(Bucket=self._bucket, Key=key)
            self._seen[name] = self._object(key, reply, reply["ContentLength"])
        return self._seen[name]

    def is_as(self, state: FileState) -> bool:
        """Of an object always: its bytes were read from the cache, where they cannot change."""
        return bool(self.name_of(state.path)) or super().is_as(state)

    def is_gone(self, path: Path) -> bool:
        """Whether the server says, asked for this object alone, that there is none: a listing may lack objects."""
        name = self.name_of(path)
        if not name:
            return super().is_gone(path)
        try:
            return not (self._seen.get(name) or self._looked_at(name))
        except FileProblem as problem:
            if problem.reason == "missing":
                return True
            raise

    def exists(self, path: str) -> bool:
        """Whether there is such a file; of an object, whether it was there when they were last listed."""
        name = self.name_of(Path(path))
        return name in self._known if name else super().exists(path)

    @contextmanager
    def opened(self, path: Path, md5: str) -> Iterator[Path]:
        """The cached file, downloaded first where it is not there. Raises FileProblem or SourceError."""
        name = self.name_of(path)
        if not name:
            yield path
            return
        file = self._cached(md5) or self._downloaded(self._looked_at(name))
        if file.parent.name != md5:
            message = f"{name} has changed in {self.address} since it was read."
            raise FileProblem(message, "`python ingest.py` reads it as it is.", reason="changed")
        yield file

    def save(self) -> None:
        """Keep what was learnt of the objects."""
        if self._known:
            with disk_errors(self._index):
                self._index.parent.mkdir(parents=True, exist_ok=True)
                write_checked_json(self._index, {"address": self.address, "objects": self._known})

    # The cache: a folder for each file, which has the MD5 of its bytes as name and appears when the file is complete

    def _cached(self, md5: str) -> Path | None:
        """The file with these bytes, under the name of an object that has them; one that is damaged is removed."""
        folder = self._cache / md5
        file = next(folder.glob("*"), None)
        with suppress(FileProblem, OSError):
            if file is not None and file_state(file).md5 == md5:
                os.utime(folder)
                return file
        shutil.rmtree(folder, ignore_errors=True)
        return None

    def _downloaded(self, found: StoredObject) -> Path:
        """Download the object into the cache. Raises FileProblem, and RagScienceError where the disk is full."""
        from botocore.exceptions import BotoCoreError

        with disk_errors(self._cache):
            self._cache.mkdir(parents=True, exist_ok=True)
            self._make_room(found.size_bytes)
            with tempfile.TemporaryDirectory(prefix=".part-", dir=self._cache, ignore_cleanup_errors=True) as part:
                name = found.name.rpartition("/")[2]  # what a reader's window shows
                file = Path(part) / (name if len(os.fsencode(name)) <= 200 else f"paper{Path(name).suffix}")
                for _ in range(_DOWNLOADS):
                    with self._client(found.name) as client:
                        place = {"Bucket": self._bucket, "Key": self._prefix + found.name}
                        reply = client.get_object(**place, IfMatch=f'"{found.etag}"')
                    # Botocore holds the length, and the checksum where S3 has one, against what comes.
                    with suppress(BotoCoreError), closing(reply["Body"]) as body:
                        with file.open("wb") as target:
                            shutil.copyfileobj(body, target)
                        md5 = file_state(file).md5
                        # From "Checking object integrity", Amazon S3 User Guide: the ETag of an object from a single
                        # PUT, in plain text or encrypted by S3's own keys, is the MD5 of its bytes.
                        is_md5 = _MD5.fullmatch(found.etag) and reply.get("ServerSideEncryption", "AES256") == "AES256"
                        if not is_md5 or md5 == found.etag:
                            with suppress(OSError):  # the same bytes were stored meanwhile
                                Path(part).rename(self._cache / md5)
                            return next((self._cache / md5).glob("*"))
        message = f"{found.name} could not be downloaded whole from {self.address}."
        raise FileProblem(message, "Run the same command again: what was read is kept.", reason="network")

    def _make_room(self, size: int) -> None:
        """Remove what was not used for longest, parts of killed downloads too, until `size` bytes more fit."""
        with suppress(FileNotFoundError):  # another process makes room as well
            folders = sorted(self._cache.iterdir(), key=lambda folder: folder.stat().st_mtime)
            sizes = [sum(path.stat().st_size for path in folder.iterdir()) for folder in folders]
            for folder, held in zip(folders, sizes, strict=True):
                if size + sum(sizes) <= CACHE_BYTES:
                    break
                shutil.rmtree(folder, ignore_errors=True)
                size -= held


def known_objects(home: Home) -> tuple[str, dict[str, tuple[str, str]]]:
    """Where the papers were last read from, empty where from papers/ alone; ETag and MD5 of each object there."""
    kept = read_checked_json(home.objects) or {"address": "", "objects": {}}
    return kept["address"], {name: (etag, md5) for name, (etag, md5) in kept["objects"].items()}


def _is_paper(name: str, under: str) -> bool:
    """Whether an object is a file that a folder could hold, not hidden (`.trash/a.pdf`, `../a.pdf`), and `under` it."""
    is_hidden = any(part.strip("\0")[:1] in ("", ".") for part in name.split("/"))
    is_under = f"{name}/".startswith(f"{under.rstrip('/')}/" if under else "")
    return is_under and not is_hidden and name.lower().endswith((".pdf", *formats_read()))
