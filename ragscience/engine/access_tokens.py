"""Who may use a served library: people with a role, each by a token, in `serve_tokens.json` of the home.

A token is 256 random bits, so its SHA-256 is kept and nothing slower: a slow hash protects words that people choose, of
which a thief tries many; 2**256 tokens cannot be tried at any speed, and a slow hash would cost every request. Of a
token only the hash is looked up, so how long a look-up takes tells nothing of the tokens that there are.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, get_args

from ragscience.core.errors import LibraryUnavailable, NothingFound, UsageError
from ragscience.library.atomic_files import disk_errors, write_atomically

__all__ = ["OWNER", "ROLES", "AccessTokens", "Person", "Role", "Token", "check_person", "hash_of", "new_token"]

Role = Literal["reader", "writer"]
ROLES: tuple[Role, ...] = get_args(Role)
"""A reader reads and asks; a writer also adds papers, removes them and builds the graph."""
_OLD_ROLES = {"editor": "writer", "owner": "writer"}
"""Roles of token files from before there were two."""
PREFIX = "ragscience_"
"""Of every token, so that programs which look for secrets find it: `ragscience_[0-9a-f]{64}`."""
_VERSION = 1
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks."""

    name: str
    """Empty for the library's own user, who sits at its machine."""
    role: Role


OWNER = Person("", "writer")
"""The library's own user."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token."""

    name: str
    """The person's, one token each."""
    role: Role
    sha256: str
    """Of the token, in hexadecimal."""
    created_at: str
    """ISO 8601, UTC."""


def check_person(name: str) -> str:
    """The name of a person. Raises UsageError for one that is no safe file name everywhere."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} is no name for a person.",
            "Give 1 to 32 of a-z, 0-9, _ and -, beginning with a letter or digit.",
        )
    return name


def new_token() -> str:
    """256 random bits in hexadecimal, behind the prefix."""
    return PREFIX + secrets.token_hex(32)


def hash_of(token: str) -> str:
    """The SHA-256 of a token, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class AccessTokens:
    """The tokens of one library; each look sees the file as it is now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._tokens: Mapping[str, Token] = {}

    @classmethod
    def of_home(cls, folder: Path) -> Self:
        """Those of the home in that folder. Raises UsageError for a folder that is not there."""
        from ragscience.core.settings import check_home
        from ragscience.library.store import Home

        check_home(folder)
        return cls(Home(folder).serve_tokens)

    def all(self) -> list[Token]:
        """The tokens by name; none without a file. Raises LibraryUnavailable for a damaged or unreadable file."""
        return sorted(self._read().values(), key=lambda token: token.name)

    def token_of(self, sha256: str) -> Token | None:
        """The token with that hash. Raises as `all`."""
        found = self._read().get(sha256)
        return found if found is not None and hmac.compare_digest(found.sha256, sha256) else None

    def verify(self, token: str) -> Token | None:
        """What is kept of that token; None for one that is not known. Raises as `all`."""
        return self.token_of(hash_of(token))

    def add(self, name: str, role: Role = "reader") -> str:
        """Make a token for a person; the token, which is nowhere else.

        Raises UsageError for a bad name and for one that has a token, RagScienceError where it cannot be written.
        """
        check_person(name)
        with self._changing() as tokens:
            if any(token.name == name for token in tokens.values()):
                raise UsageError(f"{name} has a token.", f"Revoke it first: python query.py serve token revoke {name}")
            made = new_token()
            kept = Token(name, role, hash_of(made), datetime.now(UTC).isoformat(timespec="seconds"))
            tokens[kept.sha256] = kept
        return made

    def revoke(self, name: str) -> Token:
        """End a person's token; a running server refuses it from the next request on. Raises NothingFound."""
        with self._changing() as tokens:
            found = next((token for token in tokens.values() if token.name == name), None)
            if found is None:
                raise NothingFound(f"{name[:80]!r} has no token.", "`python query.py serve token list` shows them.")
            del tokens[found.sha256]
        return found

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Token]]:
        """The tokens to change, written behind; one process at a time."""
        with disk_errors(self._path):
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)
                tokens = dict(self._read())
                yield tokens
                listed = [asdict(token) for token in sorted(tokens.values(), key=lambda token: token.name)]
                text = json.dumps({"version": _VERSION, "tokens": listed}, indent=1) + "\n"
                write_atomically(self._path, text.encode(), private=True)
            finally:
                os.close(folder)

    def _read(self) -> Mapping[str, Token]:
        try:
            stat = self._path.stat()
            now = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if now != self._seen:
                self._tokens = {token.sha256: token for token in _tokens(json.loads(self._path.read_bytes()))}
                self._seen = now
        except FileNotFoundError:
            self._tokens, self._seen = {}, None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise LibraryUnavailable(
                f"The tokens in {self._path.name} cannot be read: {_reason(error)}.",
                "Move the file away, and make the tokens again: python query.py serve token add NAME",
            ) from error
        return self._tokens


def _tokens(value: Any) -> Iterator[Token]:
    """The tokens of the file's JSON. Raises ValueError, TypeError or KeyError for anything else."""
    if value["version"] != _VERSION or not isinstance(value["tokens"], list):
        raise ValueError("it was written by another version")
    names = set()
    for entry in value["tokens"]:
        token = Token(**{**entry, "role": _OLD_ROLES.get(entry["role"], entry["role"])})
        if (
            not _NAME.fullmatch(token.name)
            or token.name in names
            or token.role not in ROLES
            or not _HASH.fullmatch(token.sha256)
            or not isinstance(token.created_at, str)
        ):
            raise ValueError("it is not what was written")
        names.add(token.name)
        yield token


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) if type(error) is ValueError else "it is not what was written"
