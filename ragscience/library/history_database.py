"""Conversations and audit records: what is kept of an answer, the tables of the database, and opening it."""

import hashlib
import math
import os
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragscience.core.errors import DiskProblem, HistoryDamaged, LibraryUnavailable, UsageError
from ragscience.core.records import Answer, Hit, Paper, StoredChunk
from ragscience.core.serialization import select
from ragscience.library.atomic_files import connect, connect_to_read, explained, is_ours, undone

HISTORY_VERSION = 4
_APPLICATION_ID = 0x52534348  # "RSCH": distinguishes this file from any other SQLite database
_BUSY_SECONDS = 5.0
_MOVE = "Move the file away; a new history is then started."

_TABLES = """
-- `checksum` is that of the id and the name, plus what its turns have as `listed`, so that a lost turn shows.
CREATE TABLE conversations (
    conversation_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT UNIQUE,
    checksum INTEGER
);

-- `record` is the whole answer as JSON; question and answer stand beside it to be listed and searched. `listed` is the
-- checksum of the columns before it, which a list reads alone; `checksum` that of all from `conversation_id` on.
CREATE TABLE turns (
    turn_id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    answer_id TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    question TEXT NOT NULL,
    listed INTEGER NOT NULL,
    answer TEXT NOT NULL,
    record TEXT NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE INDEX turns_by_conversation ON turns (conversation_id, turn_id);

CREATE TABLE audit (
    audit_id INTEGER PRIMARY KEY AUTOINCREMENT,
    answer_id TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    record TEXT NOT NULL,
    checksum INTEGER NOT NULL
);
"""


MAX_NAME_CHARS = 100


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in a list; one without turns does not exist."""

    conversation_id: int
    name: str
    """Its name from `--chat`, or empty."""
    title: str
    """Its first question."""
    turns: int
    started_at: str
    """ISO 8601, UTC, as `changed_at`: when the first and the last turn were stored."""
    changed_at: str


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A turn: the answer as it was given, with its question."""

    conversation_id: int | None
    """None for a turn that is not stored."""
    created_at: str
    """ISO 8601, UTC."""
    answer: Answer
    audit: Mapping[str, Any] | None = None
    """The audit record to store with it (`of_answer`); None for none, and where it was read."""


def check_name(name: str) -> str:
    """A conversation's name as stored. Raises UsageError for one that is empty, too long, a number, or not text."""
    stripped = " ".join(name.split())
    if not stripped or len(stripped) > MAX_NAME_CHARS or not stripped.isprintable():
        fix = f"Give 1 to {MAX_NAME_CHARS} characters: --chat thesis"
        raise UsageError(f"{name!r} is no name for a conversation.", fix)
    if stripped.isdecimal():
        raise UsageError(f"The name {stripped} looks like a conversation's number.", "Add a letter.")
    return stripped


def connect_for_reading(path: Path) -> sqlite3.Connection | None:
    """A read-only connection, or None if there is no file; also works in a read-only folder.

    Raises LibraryUnavailable for another version of the schema, RagScienceError for a file that is not a history.
    """
    with history_errors(path):
        if not path.exists():
            return None
        connection = connect_to_read(path, _BUSY_SECONDS)
        with undone(connection.close):
            if _version(connection, path):
                return connection
        connection.close()
        return None


def connect_for_writing(path: Path) -> sqlite3.Connection:
    """A connection for writing, each commit synced to disk; the file is readable by its owner only.

    Raises LibraryUnavailable for another version of the schema or a file that stays busy, RagScienceError for a file
    that is not a history or not writable.
    """
    with history_errors(path):
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = connect(path, "mode=rw", _BUSY_SECONDS)
        with undone(connection.close):
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
            if not _version(connection, path):
                _make(connection, path)
        return connection


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the tables; 0 where there are none."""
    version = is_ours(connection, _APPLICATION_ID)
    if version is None:
        raise HistoryDamaged(f"{path} is a database of something else.", _MOVE)
    if version not in (0, HISTORY_VERSION):
        raise LibraryUnavailable(
            f"{path} was written by another version (schema {version}; this one knows {HISTORY_VERSION}); it is left "
            "as it is.",
            "Use that version, or move the file away; a new history is then started.",
        )
    return version


def checksum_of(*columns: object) -> int:
    """CRC-32 of the columns of a row, in UTF-8, 0 to 2**32 - 1."""
    return zlib.crc32("\0".join(map(str, columns)).encode("utf-8", "surrogatepass"))


def _make(connection: sqlite3.Connection, path: Path) -> None:
    # Another process may be doing the same: then it is done.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if not _version(connection, path):
        for statement in _TABLES.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {HISTORY_VERSION}")
    connection.execute("COMMIT")


@contextmanager
def history_errors(path: Path) -> Iterator[None]:
    """Turn an error of SQLite or the system about `path` into RagScienceError, or LibraryBusy."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise explained(f"The history {path}", error, lambda message: HistoryDamaged(message, _MOVE)) from error
    except UnicodeDecodeError as error:  # as in database_errors
        raise HistoryDamaged(f"The history {path} is damaged: its schema is not text.", _MOVE) from error
    except OSError as error:
        fix = "Check the permissions and the disk, or ask with --no-history."
        raise DiskProblem(f"The history {path} cannot be used: {error.strerror or error}.", fix) from error


# The audit record of an answer: enough to see where it came from. A passage is named by the MD5 of its file and its
# offsets, because its id changes with a rebuild. Of its text only the digest is kept: the library has the text.

AUDIT_SCHEMA_VERSION = 2
"""Of a record. A change that breaks a reader raises it; a new field does not."""
_CREDENTIALS = re.compile(r"(?<=://)[^\s/?#@]+(?:@[^\s/?#@]+)*@")
_URL_END = re.compile(r"[?#].*", re.DOTALL)
_IS_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_OF_ANSWER = (
    "answer_id trace_id question searched profile passages signals second_look concepts paths answer mode route "
    "refused answerability prompt_cut citations sentences timings_ms tokens"
)
_OF_PASSAGE = (
    "rank md5 start end chunk_id file path page_start page_end section kind url text_sha256 score scores found_by"
)
_OF_CITATION = "file path page start end quote supported"


def of_answer(answer: Answer, papers: Mapping[int, Paper], warnings: Iterable[str] = ()) -> dict[str, Any]:
    """What a record says of the answer itself, as JSON; `papers` has the passages' papers by id.

    `warnings` are those of the run that are not the answer's own.
    """
    found, said = answer.found, dict.fromkeys([*answer.found.warnings, *answer.warnings, *warnings])
    sentences = [
        select("text verdict score evidence", each, evidence=each.evidence and select(_OF_CITATION, each.evidence))
        for each in answer.sentences
    ]
    record: dict[str, Any] = plain(
        select(
            _OF_ANSWER,
            answer,
            found,
            searched=found.question,
            passages=[_passage(hit, papers.get(hit.chunk.paper_id)) for hit in found.hits],
            second_look=found.verdict or None,
            paths=[asdict(path) for path in found.paths],
            answer=answer.text,
            citations=[select(_OF_CITATION, each) for each in answer.citations],
            sentences=sentences,
            timings_ms={**found.timings_ms, **answer.timings_ms},
        )
    )
    outside = {"warnings": [*said], "trace": [asdict(step) for step in answer.trace]}
    return record | without_credentials(outside)  # type: ignore[no-any-return]


def place_of(chunk: StoredChunk, paper: Paper | None) -> dict[str, Any]:
    """A passage's name that survives a rebuild: its file's MD5 (empty if unknown) and its offsets."""
    return {"md5": paper.md5 if paper else "", "start": chunk.start, "end": chunk.end}


def without_credentials(value: Any) -> Any:
    """The value as `plain`, without user and password in its URLs; a text that is a URL loses its query, too."""
    if isinstance(value, str):
        bare = _CREDENTIALS.sub("", value)
        return _URL_END.sub("", bare) if _IS_URL.fullmatch(bare) else bare
    if isinstance(value, Mapping):
        return {name: without_credentials(item) for name, item in value.items()}
    return [without_credentials(item) for item in value] if isinstance(value, list | tuple) else plain(value)


def plain(value: Any) -> Any:
    """The value as JSON: None for NaN and infinity, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _passage(hit: Hit, paper: Paper | None) -> dict[str, Any]:
    url = without_credentials(paper.metadata.url) if paper else ""
    sha256 = hashlib.sha256(hit.chunk.text.encode("utf-8", "surrogatepass")).hexdigest()
    return select(_OF_PASSAGE, hit, hit.chunk, **place_of(hit.chunk, paper), url=url, text_sha256=sha256)
