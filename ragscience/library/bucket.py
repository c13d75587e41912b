"""Papers in a bucket of S3, or of a server with its API: listed, downloaded and linked to, never written.

The bucket stands in place of the folder papers/: `s3://lab/pdf/a.pdf` is papers/a.pdf of the home. So a library that
moves from a folder to a bucket, or to another bucket, reads nothing again, and what was cited stays what it is. Files
elsewhere are on this machine as ever.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

from ragscience.core.errors import FileProblem, RagScienceError, SourceError, missing_package
from ragscience.library.atomic_files import disk_errors, read_checked_json, write_checked_json
from ragscience.library.ingestion import Failure, FileState, FoundFiles, LocalFiles, file_state

if TYPE_CHECKING:
    from ragscience.library.atomic_files import Home


_PAGE = 1000
"""Objects in a page of a listing: the most that S3 gives."""
_DOWNLOADS = 3
"""How often an object is downloaded that does not come whole."""
_MD5 = re.compile(r"[0-9a-f]{32}")
CACHE_BYTES = 2 << 30
"""Of PDFs on this machine's disk, about; what was not used for longest goes first."""
_USED_SECONDS = 60.0
"""What was used so short a time ago stays: another process may be about to open it."""
_PART, _PART_SECONDS = ".part-", 86_400.0
"""Folders of downloads; one that is a day old is of a killed process."""
_SAVED_EVERY = 50
"""MD5s that a killed run loses at most."""
_S3 = "s3:/"
_GUIDE = "docs/object-storage.md"
_LATER = f"Try again later: what was read is kept. Else check AWS_ENDPOINT_URL and AWS_DEFAULT_REGION ({_GUIDE})."
_KEYS = f"Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE ({_GUIDE})."
_RIGHTS = "The key needs s3:ListBucket on the bucket and s3:GetObject on its objects; check it, and its date of expiry."
_PUT_BACK = "Put it back, or run `python ingest.py sync` to remove it from the library."
_REFUSED = "403 AccessDenied AllAccessDisabled AccountProblem"
_PROBLEMS = (
    (FileProblem, "404 NoSuchKey", "{name} is no longer in {address}.", _PUT_BACK, "missing"),
    (FileProblem, "412 PreconditionFailed", "{name} was changed while it was read.", "Run it again.", "changed"),
    (FileProblem, _REFUSED, "{name} in {address} may not be read ({code}).", _RIGHTS, "refused"),
    (
        FileProblem, "500 InternalError InvalidObjectState",  # the last one is of an archive (Glacier)
        "{name} in {address} cannot be read: the server answers {code}.", _LATER, "network",
    ),
    (SourceError, "NoSuchBucket", "There is no bucket {bucket}.", "Check RAG_PAPERS and AWS_ENDPOINT_URL.", "missing"),
    (SourceError, _REFUSED, "{address} may not be listed ({code}).", _RIGHTS, "refused"),
    (
        SourceError, "401 InvalidAccessKeyId SignatureDoesNotMatch ExpiredToken InvalidToken",
        "{address} does not accept the credentials ({code}).", _KEYS, "no-credentials",
    ),
)  # fmt: skip
"""What is wrong with a single object, then with all of the bucket: the codes that say so, message, fix and reason."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of a bucket."""

    name: str
    """Its key after the prefix: `2017/attention.pdf`."""
    size_bytes: int
    etag: str
    """The MD5 of the bytes for some objects, for others not."""
    modified_ns: int
    """In nanoseconds since 1970, whole seconds."""
    md5: str = field(default="", compare=False)
    """Of its bytes; empty where they have not been read."""


class Bucket:
    """The objects under a prefix of a bucket. Who asks, where and how often, the AWS_ variables and files say.

    Methods raise SourceError where the bucket cannot be used at all, FileProblem where a single object cannot be had.
    Any number of threads may call them.
    """

    def __init__(self, address: str, *, timeout_seconds: float = 20.0) -> None:
        """`address` is `s3://bucket/prefix`; a request waits `timeout_seconds` for each part of its answer."""
        self.address = address.rstrip("/")
        self.bucket, _, prefix = self.address.removeprefix("s3://").partition("/")
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._timeout = timeout_seconds

    @cached_property
    def _made(self) -> Any:
        from botocore.config import Config
        from botocore.session import Session

        config = Config(
            connect_timeout=min(self._timeout, 10.0),
            read_timeout=self._timeout,
            retries={"mode": "standard"},
            signature_version="s3v4",
            max_pool_connections=32,
        )
        return Session().create_client("s3", config=config)

    @contextmanager
    def _client(self, name: str = "") -> Iterator[Any]:
        """Botocore's client, for a request about the object of that name, or about them all; errors in words."""
        try:
            from botocore.exceptions import BotoCoreError, ClientError
            from botocore.parsers import ResponseParserError
        except ImportError as error:
            raise missing_package(self.address, "botocore", "lab", SourceError) from error
        try:
            yield self._made
        except (OSError, ValueError, BotoCoreError, ClientError, ResponseParserError) as error:
            has_secret = "@" in str(error)  # an endpoint with a password, which --debug would print
            raise _problem(error, self.address, name) from (None if has_secret else error)

    def objects(self, under: str = "", on_page: Callable[[int], None] = lambda _: None) -> list[StoredObject]:
        """The objects whose names begin with `under`, all of them; `on_page` gets how many there are so far."""
        found: list[StoredObject] = []
        with self._client() as client:
            asked = {"Bucket": self.bucket, "Prefix": self._prefix + under}
            pages = client.get_paginator("list_objects_v2").paginate(**asked, PaginationConfig={"PageSize": _PAGE})
            for page in pages:
                rows = page.get("Contents", ())
                # A key that ends in a slash is what some programs put in place of a folder.
                found += [self._object(row) for row in rows if not row["Key"].endswith("/")]
                on_page(len(found))
        return found

    def head(self, name: str) -> StoredObject:
        """The object of that name; a FileProblem says "missing" where there is none."""
        key = self._prefix + name
        with self._client(name) as client:
            reply = client.head_object(Bucket=self.bucket, Key=key)
            return self._object({**reply, "Key": key, "Size": reply["ContentLength"]})

    def download(self, wanted: StoredObject, file: BinaryIO) -> str:
        """Write the object's bytes to `file`, from its beginning; their MD5.

        Raises FileProblem where it is another object by now, or comes incomplete each time, OSError of `file`.
        """
        from botocore.exceptions import BotoCoreError

        why, before, key = "", "", self._prefix + wanted.name
        for _ in range(_DOWNLOADS):
            file.seek(0)
            with self._client(wanted.name) as client:
                reply = client.get_object(Bucket=self.bucket, Key=key, IfMatch=f'"{wanted.etag}"')
            md5, length = hashlib.md5(usedforsecurity=False), 0
            with suppress(BotoCoreError), closing(reply["Body"]) as body:  # as far as it comes
                for part in body.iter_chunks(1 << 16):
                    length += len(part)
                    if length > wanted.size_bytes:
                        break
                    md5.update(part)
                    file.write(part)
            # From "Checking object integrity", Amazon S3 User Guide: the ETag of an object from a single PUT, in plain
            # text or encrypted by S3's own keys, is the MD5 of its bytes. Twice the same: the server's are none.
            is_md5 = _MD5.fullmatch(wanted.etag) and reply.get("ServerSideEncryption", "AES256") == "AES256"
            if length != wanted.size_bytes:
                why = f"{length:,} of {wanted.size_bytes:,} bytes came"
            elif not is_md5 or md5.hexdigest() in (wanted.etag, before):
                return md5.hexdigest()
            else:
                why, before = "its bytes are not those of its ETag", md5.hexdigest()
        message = f"{wanted.name} could not be downloaded from {self.address}: {why}."
        raise FileProblem(message, "Run the same command again: what was read is kept.", reason="network")

    def link(self, name: str, seconds: int) -> str:
        """An address under which anybody may read the object for so many seconds."""
        place = {"Bucket": self.bucket, "Key": self._prefix + name, "ResponseContentType": "application/pdf"}
        given = {"Params": {**place, "ResponseContentDisposition": "inline"}, "ExpiresIn": seconds}
        with self._client(name) as client:
            return str(client.generate_presigned_url("get_object", **given))

    def _object(self, row: dict[str, Any]) -> StoredObject:
        try:
            modified_ns = int(row["LastModified"].timestamp()) * 10**9
            return StoredObject(row["Key"].removeprefix(self._prefix), row["Size"], row["ETag"].strip('"'), modified_ns)
        except (KeyError, AttributeError) as error:
            raise ValueError("no size, ETag or time") from error


def _problem(error: Exception, address: str, name: str) -> RagScienceError:
    """What a failed request means; FileProblem where it concerns the object alone.

    No text of a server is repeated: it may name keys.
    """
    response: Any = getattr(error, "response", None) or {}
    code, kind = str(response.get("Error", {}).get("Code", "")), type(error).__name__
    code = code if code.isascii() and (code.isalnum() or not code) else "an unknown error"
    said = {"name": name, "address": address, "code": code, "bucket": address.split("/")[2]}
    for problem, codes, message, fix, reason in _PROBLEMS:
        if code in codes.split() and (name or problem is SourceError):
            return problem(message.format(**said), fix, reason=reason)
    if "Credential" in kind or "Token" in kind or kind == "ProfileNotFound":
        return SourceError(f"{address} cannot be read without credentials ({kind}).", _KEYS, reason="no-credentials")
    why = f"cannot be read: the settings of AWS are not valid, or the answer is not S3's ({kind})"
    if code and code != "500":  # botocore's word for what is not XML, or ends too early
        why = f"cannot be read: the server answers {code}"
    elif "Connect" in kind or "Timeout" in kind:
        host = urlsplit(str(getattr(error, "kwargs", {}).get("endpoint_url", "")))
        why = f"cannot be reached: no server answers at {host.scheme}://{host.netloc.rpartition('@')[2]}"
    return SourceError(f"{address} {why}.", _LATER, reason="network")


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
        return full.relative_to(self._papers).as_posix() if self._papers in full.parents else ""

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
            name = self.name_of(path)
            if not name and not {str(path), os.path.abspath(path)} & everything:  # noqa: PTH100
                local.append(path)
                continue
            found = self._listed(name, on_found)
            pdfs |= dict.fromkeys(self._papers / each for each in found)
            if name and not found:
                message = f"There is no paper {self.address}/{name}."
                failures.append(Failure(path, FileProblem(message, "Check the name.", reason="missing")))
        rest = super().find(local, lambda count: on_found(count + len(pdfs)))
        return FoundFiles((*pdfs, *rest.pdfs), rest.others, (*failures, *rest.failures))

    def listing(self) -> dict[Path, StoredObject]:
        """All PDFs of the bucket by their paths in the library. Raises SourceError: never a part of them."""
        return {self._papers / name: self._seen[name] for name in self._listed("", lambda _: None)}

    def md5_if_known(self, found: StoredObject) -> str:
        """The MD5 of an object of a listing, where its bytes were read before; else empty."""
        known = self._known.get(found.name)
        return known.md5 if found == known and known else ""

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
        md5 = self.md5_if_known(found)
        if not md5:
            md5 = found.etag if found.etag in known else self._downloaded(found).parent.name
            self._known[name] = replace(found, md5=md5)
            self._unsaved += 1
            if self._unsaved % _SAVED_EVERY == 0:
                self.save()
        return FileState(path, md5, found.size_bytes, found.modified_ns)

    def _looked_at(self, name: str) -> StoredObject:
        """The object as it is now. Raises FileProblem where there is none."""
        self._require_network()
        self._seen[name] = self._bucket.head(name)
        return self._seen[name]

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
        try:
            self._looked_at(name)
        except FileProblem as problem:
            if problem.reason == "missing":
                return True
            raise
        return False

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
        """Download the object into the cache. Raises RagScienceError where the disk is full."""
        with disk_errors(self._cache):
            self._cache.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # another process makes room as well
                self._make_room(found.size_bytes)
            part = Path(tempfile.mkdtemp(prefix=_PART, dir=self._cache))
            try:
                name = found.name.rpartition("/")[2]  # what a reader's window shows
                with (part / (name if len(os.fsencode(name)) <= 200 else "paper.pdf")).open("xb") as file:
                    md5 = self._bucket.download(found, file)
                    file.flush()
                    os.fsync(file.fileno())
                with suppress(OSError):  # the same bytes were stored meanwhile
                    part.rename(self._cache / md5)
                return next((self._cache / md5).glob("*"))
            finally:
                shutil.rmtree(part, ignore_errors=True)

    def _make_room(self, size: int) -> None:
        """Remove what was not used for longest, parts of killed downloads too, until `size` bytes more fit."""
        now = time.time()
        folders = sorted((folder.stat().st_mtime, folder) for folder in self._cache.iterdir())
        sizes = {folder: sum(path.stat().st_size for path in folder.iterdir()) for _, folder in folders}
        total = size + sum(sizes.values())
        for used, folder in folders:
            is_part = folder.name.startswith(_PART) and used < now - _PART_SECONDS
            is_unused = abs(now - used) >= _USED_SECONDS  # also where the clock was put back
            if is_part or (total > CACHE_BYTES and is_unused):
                shutil.rmtree(folder, ignore_errors=True)
                total -= sizes[folder]


def last_address(home: Home) -> str:
    """Where the papers of this home were last read from; empty: from its folder papers/ alone."""
    return _read_index(home)[0]


def _read_index(home: Home) -> tuple[str, dict[str, StoredObject]]:
    try:
        content = read_checked_json(home.objects)
        return content["address"], {row[0]: StoredObject(*row) for row in content["objects"]}
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}


def _is_paper(name: str) -> bool:
    """Whether an object is a PDF that a folder could hold, and not hidden (`.trash/a.pdf`, `../a.pdf`)."""
    return name.lower().endswith(".pdf") and all(
        part and part[0] != "." and "\0" not in part for part in name.split("/")
    )
