"""Who may use a served library: people with a role, each by a token, in `serve_tokens.json` of the home.

A token is 256 random bits, so its SHA-256 is kept and nothing slower: a slow hash protects words that people choose, of
which a thief tries many; 2**256 tokens cannot be tried at any speed, and a slow hash would cost every request. Of a
token only the hash is looked up, so how long a look-up takes tells nothing of the tokens that there are.
"""

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

from filelock import FileLock

from ragscience.core.errors import LibraryUnavailable, NothingFound, UsageError
from ragscience.core.serialization import from_json, to_json
from ragscience.library.atomic_files import Home, disk_errors, write_atomically

Role = Literal["reader", "writer"]
"""A reader reads and asks; a writer also adds papers, removes them and builds the graph."""
PREFIX = "ragscience_"
"""Of every token, so that programs which look for secrets find it: `ragscience_[0-9a-f]{64}`."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks, as their token is kept."""

    name: str
    """One token each; empty for the library's own user, who sits at its machine."""
    role: Role
    sha256: str = ""
    """Of the token, in hexadecimal."""
    created_at: str = ""
    """ISO 8601, UTC."""


OWNER = Person("", "writer")
"""The library's own user."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the file holds."""

    version: Literal[1]
    tokens: tuple[Person, ...]
    checksum: str = ""
    """SHA-256 of the tokens as JSON; files of older versions have none."""


def hash_of(token: str) -> str:
    """The SHA-256 of a token, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class AccessTokens:
    """The tokens of one library; each look reads the file as it is now."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def of_home(cls, folder: Path) -> Self:
        """Those of the home in that folder. Raises UsageError for a folder that is not there."""
        from ragscience.core.settings import check_home

        check_home(folder)
        return cls(Home(folder).serve_tokens)

    def all(self) -> list[Person]:
        """The tokens by name; none without a file. Raises LibraryUnavailable for a damaged or unreadable file."""
        try:
            kept = from_json(_Kept, self._path.read_bytes())
            found = kept.tokens
            names = {token.name for token in found if _NAME.fullmatch(token.name) and len(token.sha256) == 64}
            if len(names) < len(found) or kept.checksum not in ("", hash_of(to_json(found))):
                raise ValueError("it is not what was written")
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not what was written"
            fix = "Move the file away, and make the tokens again: python query.py serve token add NAME"
            raise LibraryUnavailable(f"The tokens in {self._path.name} cannot be read: {why}.", fix) from error
        return sorted(found, key=lambda token: token.name)

    def add(self, name: str, role: Role = "reader") -> str:
        """Make a token for a person; the token, which is nowhere else.

        Raises UsageError for a bad name and for one that has a token, RagScienceError where it cannot be written.
        """
        if not _NAME.fullmatch(name):
            fix = "Give 1 to 32 of a-z, 0-9, _ and -, beginning with a letter or digit."
            raise UsageError(f"{name[:80]!r} is no name for a person.", fix)
        with self._changing() as tokens:
            if name in tokens:
                raise UsageError(f"{name} has a token.", f"Revoke it first: python query.py serve token revoke {name}")
            made = PREFIX + secrets.token_hex(32)
            tokens[name] = Person(name, role, hash_of(made), datetime.now(UTC).isoformat(timespec="seconds"))
        return made

    def revoke(self, name: str) -> Person:
        """End a person's token; a running server refuses it from the next request on. Raises NothingFound."""
        with self._changing() as tokens:
            if name not in tokens:
                raise NothingFound(f"{name[:80]!r} has no token.", "`python query.py serve token list` shows them.")
            return tokens.pop(name)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Person]]:
        """The tokens by name, to change, and written afterwards; one process at a time."""
        with disk_errors(self._path), FileLock(self._path.with_suffix(".lock"), mode=0o600):
            tokens = {token.name: token for token in self.all()}
            yield tokens
            found = tuple(tokens[name] for name in sorted(tokens))
            text = to_json(_Kept(1, found, hash_of(to_json(found))), indent=1) + "\n"
            write_atomically(self._path, text.encode(), private=True)
