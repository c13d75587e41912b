"""A bucket of S3 or of a server with its API: listed, looked at, downloaded and linked to, never written."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from ragscience.core.errors import FileProblem, RagScienceError, SourceError

__all__ = ["Bucket", "StoredObject"]

_PAGE = 1000
"""Objects in a page of a listing: the most that S3 gives."""
_DOWNLOADS = 3
"""How often an object is downloaded that does not come whole."""
_MD5 = re.compile(r"[0-9a-f]{32}")
_GUIDE = "docs/object-storage.md"
_LATER = "Try again later: what was read is kept."
_KEYS = f"Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE ({_GUIDE})."
_RIGHTS = "The key needs s3:ListBucket on the bucket and s3:GetObject on its objects; check it, and its date of expiry."
_REFUSED = frozenset({"403", "AccessDenied", "AllAccessDisabled", "AccountProblem"})
_WRONG_KEY = frozenset({"401", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"})
_WRONG_REGION = frozenset({"301", "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraint"})
_NOT_REACHED = frozenset({"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError", "SSLError"})


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
    md5: str = ""
    """Of its bytes; empty where they have not been read."""

    def is_as(self, other: StoredObject | None) -> bool:
        """Whether it was not written again since it was the other one."""
        mine = self.etag, self.size_bytes, self.modified_ns
        return other is not None and mine == (other.etag, other.size_bytes, other.modified_ns)


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
        self._lock = Lock()

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
            fix = "pip install -r requirements-s3.txt"
            raise SourceError(f"Papers in {self.address} need botocore, which is not installed.", fix) from error
        try:
            with self._lock:  # sessions are made by one thread
                client = self._made
            yield client
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
                found += [self._object(row["Key"], row["Size"], row) for row in rows if not row["Key"].endswith("/")]
                on_page(len(found))
        return found

    def head(self, name: str) -> StoredObject | None:
        """The object of that name; None where it cannot be had, and a listing of the name lacks it, too."""
        try:
            with self._client(name) as client:
                reply = client.head_object(Bucket=self.bucket, Key=self._prefix + name)
                return self._object(self._prefix + name, reply["ContentLength"], reply)
        except FileProblem as problem:
            if problem.reason not in ("missing", "refused"):
                raise
            # S3 also answers 404 for a bucket that does not exist, and 403 for an object that does not exist where
            # s3:ListBucket is granted for a prefix alone: the listing tells.
            found = next((each for each in self.objects(name) if each.name == name), None)
            if found is not None and problem.reason == "refused":
                raise
            return found

    def download(self, wanted: StoredObject, file: BinaryIO) -> str:
        """Write the object's bytes to `file`, from its beginning; their MD5.

        Raises FileProblem where it is another object by now, or comes incomplete each time, OSError of `file`.
        """
        why, before = "", ""
        for _ in range(_DOWNLOADS):
            file.seek(0)
            key = self._prefix + wanted.name
            with self._client(wanted.name) as client:
                reply = client.get_object(Bucket=self.bucket, Key=key, IfMatch=f'"{wanted.etag}"')
            md5, length = hashlib.md5(usedforsecurity=False), 0
            for part in _parts(reply["Body"]):
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

    def _object(self, key: str, size: int, row: dict[str, Any]) -> StoredObject:
        try:
            return StoredObject(
                key.removeprefix(self._prefix),
                size,
                row["ETag"].strip('"'),
                int(row["LastModified"].timestamp()) * 10**9,
            )
        except (KeyError, AttributeError) as error:
            raise ValueError("no size, ETag or time") from error


def _parts(body: Any) -> Iterator[bytes]:
    """The bytes as they come, as far as they come."""
    from botocore.exceptions import BotoCoreError

    try:
        yield from body.iter_chunks(1 << 16)
    except (OSError, BotoCoreError):
        return
    finally:
        body.close()


def _problem(error: Exception, address: str, name: str) -> RagScienceError:
    """What a failed request means; FileProblem where it concerns the object alone.

    No text of a server is repeated: it may name keys.
    """
    response: Any = getattr(error, "response", None) or {}
    code, kind = str(response.get("Error", {}).get("Code", "")), type(error).__name__
    code = code if code.isascii() and (code.isalnum() or not code) else "an unknown error"
    what = f"{name} in {address}" if name else address
    if code == "NoSuchBucket":
        bucket = address.removeprefix("s3://").partition("/")[0]
        return SourceError(f"There is no bucket {bucket}.", "Check RAG_PAPERS and AWS_ENDPOINT_URL.", reason="missing")
    if code in ("404", "NoSuchKey") and name:
        fix = "Put it back, or run `python ingest.py sync` to remove it from the library."
        return FileProblem(f"{name} is no longer in {address}.", fix, reason="missing")
    if code in ("412", "PreconditionFailed"):
        return FileProblem(f"{name} was changed while it was read.", "Run `python ingest.py` again.", reason="changed")
    if code in _REFUSED:
        if name:
            return FileProblem(f"{what} may not be read ({code}).", _RIGHTS, reason="refused")
        return SourceError(f"{address} may not be listed ({code}).", _RIGHTS, reason="refused")
    if name and code in ("500", "InternalError", "InvalidObjectState"):  # the last one is of an archive (Glacier)
        return FileProblem(f"{what} cannot be read: the server answers {code}.", _LATER, reason="network")
    host = urlsplit(str(getattr(error, "kwargs", {}).get("endpoint_url", "")))
    at = f" at {host.scheme}://{host.netloc.rpartition('@')[2]}" if host.netloc else ""
    reason, fix = "network", f"Check AWS_ENDPOINT_URL and AWS_DEFAULT_REGION ({_GUIDE}). {_LATER}"
    if code in _WRONG_KEY:
        why, fix, reason = f"does not accept the credentials ({code})", _KEYS, "no-credentials"
    elif code in _WRONG_REGION:
        why, fix = f"is in another region ({code})", "Set AWS_DEFAULT_REGION to the bucket's region."
    elif code == "RequestTimeTooSkewed":
        why, fix = "does not accept the request: the clocks differ", "Set this machine's clock."
    elif code == "500":  # botocore's word for what is not XML, or ends too early
        why = "cannot be read: the server fails, or the answer is not S3's"
    elif code:
        why, fix = f"cannot be read: the server answers {code}", _LATER
    elif "Credential" in kind or "Token" in kind or kind == "ProfileNotFound":
        why, fix, reason = f"cannot be read without credentials ({kind})", _KEYS, "no-credentials"
    elif kind in _NOT_REACHED:
        how = "its certificate is not trusted" if kind == "SSLError" else "no server answers"
        why = f"cannot be reached: {how}{at}"
    elif "Timeout" in kind or kind == "ConnectionClosedError":
        how = "does not answer in time" if "Timeout" in kind else "broke the connection"
        why = f"cannot be read: the server{at} {how}"
    else:
        why = f"cannot be read: the settings of AWS are not valid, or the answer is not S3's ({kind})"
    return SourceError(f"{address} {why}.", fix, reason=reason)
