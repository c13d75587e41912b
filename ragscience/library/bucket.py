"""A bucket: its objects are listed, looked at, downloaded and linked to. Nothing is ever written to it."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from threading import Lock
from typing import Any, BinaryIO

from ragscience.core.errors import FileProblem, SourceError
from ragscience.library.s3_errors import s3_problem

__all__ = ["Bucket", "StoredObject"]

_PAGE = 1000
"""Objects in a page of a listing: the most that S3 gives."""
_PART_BYTES = 1 << 16
_CONNECTIONS = 32
_DOWNLOADS = 3
"""How often an object is downloaded that does not come whole."""
_MD5 = re.compile(r"[0-9a-f]{32}")
_AGAIN = "Run the same command again: what was read is kept."
_NO_LISTING = "Check AWS_ENDPOINT_URL: a server with S3's API answers otherwise."


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of a bucket."""

    name: str
    """Its key behind the prefix: `2017/attention.pdf`."""
    size_bytes: int
    etag: str
    """The MD5 of the bytes for some objects, for others not."""
    modified_ns: int
    """In nanoseconds since 1970, whole seconds."""
    md5: str = ""
    """Of its bytes; empty where they have not been read."""

    def is_as(self, other: StoredObject | None) -> bool:
        """Whether it was not written again since it was the other one."""
        if other is None:
            return False
        mine, theirs = (self.etag, self.size_bytes, self.modified_ns), (other.etag, other.size_bytes, other.modified_ns)
        return mine == theirs


class Bucket:
    """The objects under a prefix of a bucket. Who asks, where and how often, the AWS_ variables and files say.

    Methods raise SourceError where the bucket cannot be used at all, FileProblem where a single object cannot be had.
    Any number of threads may call them.
    """

    def __init__(self, address: str, *, timeout_seconds: float = 20.0, slowest: float = 20_000) -> None:
        """`address` is `s3://bucket/prefix`.

        A request waits `timeout_seconds` for each part of its answer, and is sent three times unless AWS_MAX_ATTEMPTS
        says otherwise; a download slower than `slowest` bytes a second is given up.
        """
        self.address = address.rstrip("/")
        self.bucket, _, prefix = self.address.removeprefix("s3://").partition("/")
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._timeout = timeout_seconds
        self._slowest = slowest
        self._lock = Lock()

    @cached_property
    def _client(self) -> Any:
        """Botocore's client, which threads may share."""
        try:
            from botocore.config import Config
            from botocore.session import Session
        except ImportError as error:
            fix = "pip install -r requirements-s3.txt"
            raise SourceError(f"Papers in {self.address} need botocore, which is not installed.", fix) from error
        config = Config(
            connect_timeout=min(self._timeout, 10.0),
            read_timeout=self._timeout,
            retries={"mode": "standard"},
            signature_version="s3v4",
            max_pool_connections=_CONNECTIONS,
        )
        return Session().create_client("s3", config=config)

    def objects(self, under: str = "", on_page: Callable[[int], None] = lambda _: None) -> Iterator[StoredObject]:
        """The objects whose names begin with `under`, a page at a time; `on_page` gets how many there are so far.

        Where a page cannot be had, the error comes instead of the objects behind it.
        """
        more: dict[str, str] = {}
        count = 0
        while True:
            asked = {"Bucket": self.bucket, "Prefix": self._prefix + under, "MaxKeys": _PAGE, **more}
            page = self._call("list_objects_v2", "", **asked)
            for row in page.get("Contents", ()):
                if not row["Key"].endswith("/"):  # what some programs put in place of a folder
                    yield self._object(row["Key"].removeprefix(self._prefix), row.get("Size"), row)
                    count += 1
            on_page(count)
            if not page.get("IsTruncated"):
                return
            token = page.get("NextContinuationToken")
            if not token or token == more.get("ContinuationToken"):
                raise SourceError(
                    f"{self.address} cannot be listed: the server does not say how to go on.", _NO_LISTING
                )
            more = {"ContinuationToken": token}

    def head(self, name: str) -> StoredObject | None:
        """The object of that name; None where it cannot be had, and a listing of the name lacks it, too."""
        try:
            reply = self._call("head_object", name, **self._place(name))
        except FileProblem as problem:
            if problem.reason not in ("missing", "refused"):
                raise
            # S3 also answers 404 for a bucket that does not exist, and 403 for an object that does not exist where
            # s3:ListBucket is granted for a prefix alone: the listing tells.
            found = next((each for each in self.objects(name) if each.name == name), None)
            if found is not None and problem.reason == "refused":
                raise
            return found
        return self._object(name, reply.get("ContentLength"), reply)

    def download(self, wanted: StoredObject, file: BinaryIO) -> str:
        """Write the object's bytes to `file`, from its beginning; their MD5.

        Raises FileProblem where it is another object by now, or comes incomplete each time, OSError of `file`.
        """
        why, before = "", ""
        for _ in range(_DOWNLOADS):
            file.seek(0)
            reply = self._call("get_object", wanted.name, **self._place(wanted.name), IfMatch=f'"{wanted.etag}"')
            md5, length = hashlib.md5(usedforsecurity=False), 0
            try:
                for part in self._parts(reply["Body"], wanted.size_bytes):
                    length += len(part)
                    if length > wanted.size_bytes:
                        break
                    md5.update(part)
                    file.write(part)
            except _Broken as error:
                why = str(error)
                continue
            if length != wanted.size_bytes:
                why = f"{length:,} of {wanted.size_bytes:,} bytes came"
            elif not _is_md5(wanted.etag, reply) or md5.hexdigest() in (wanted.etag, before):
                return md5.hexdigest()  # twice the same: the server's ETags are no MD5s
            else:
                why, before = "its bytes are not those of its ETag", md5.hexdigest()
        message = f"{wanted.name} could not be downloaded from {self.address}: {why}."
        raise FileProblem(message, _AGAIN, reason="network")

    def link(self, name: str, seconds: int) -> str:
        """An address under which anybody may read the object for so many seconds."""
        inline = {"ResponseContentType": "application/pdf", "ResponseContentDisposition": "inline"}
        given = {"Params": {**self._place(name), **inline}, "ExpiresIn": seconds}
        return str(self._call("generate_presigned_url", name, ClientMethod="get_object", **given))

    def _parts(self, body: Any, size: int) -> Iterator[bytes]:
        """The bytes as they come. Raises _Broken where the connection ends, stops or is too slow."""
        from botocore.exceptions import FlexibleChecksumError

        end = time.monotonic() + self._timeout + size / self._slowest
        try:
            while part := body.read(_PART_BYTES):
                yield part
                if time.monotonic() > end:
                    raise _Broken("the connection is too slow")
        except FlexibleChecksumError as error:
            raise _Broken("its bytes do not have the checksum that the server names") from error
        except self._expected() as error:
            raise _Broken("the connection broke") from error
        finally:
            body.close()

    def _place(self, name: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self._prefix + name}

    def _call(self, method: str, name: str, **given: Any) -> Any:
        try:
            with self._lock:  # sessions are made by one thread
                client = self._client
            return getattr(client, method)(**given)
        except self._expected() as error:
            has_secret = "@" in str(error)  # an endpoint with a password, which --debug would print
            raise s3_problem(error, self.address, name) from (None if has_secret else error)

    def _object(self, name: str, size: int | None, row: dict[str, Any]) -> StoredObject:
        modified, etag = row.get("LastModified"), row.get("ETag", "").strip('"')
        if size is None or not etag or not isinstance(modified, datetime):
            what = f"{name} in {self.address} cannot be told from other versions of it"
            raise SourceError(f"{what}: the server gives no size, ETag or time.", _NO_LISTING)
        return StoredObject(name, size, etag, int(modified.timestamp()) * 10**9)

    @staticmethod
    def _expected() -> tuple[type[Exception], ...]:
        try:
            from botocore.exceptions import BotoCoreError, ClientError
            from botocore.parsers import ResponseParserError
        except ImportError:
            return ()
        return (OSError, ValueError, BotoCoreError, ClientError, ResponseParserError)


class _Broken(Exception):
    """A download came to an end before its time."""


def _is_md5(etag: str, reply: dict[str, Any]) -> bool:
    """Whether the ETag should be the MD5 of the bytes: not of parts that were put together, and not of encrypted bytes.

    From "Checking object integrity", Amazon S3 User Guide: an object from a single PUT, in plain text or encrypted
    by S3's own keys.
    """
    is_plain = reply.get("ServerSideEncryption", "AES256") == "AES256" and "SSECustomerAlgorithm" not in reply
    return bool(_MD5.fullmatch(etag)) and is_plain
