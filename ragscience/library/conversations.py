"""Stored conversations, turn by turn, in vectorstore/history.sqlite."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragscience.core.answer_records import VERSION_1_NAMES
from ragscience.core.errors import HistoryDamaged, NothingFound, RagScienceError, UsageError
from ragscience.core.records import Answer
from ragscience.core.serialization import from_json, storable, to_json
from ragscience.library.history_schema import (
    connect_for_reading,
    connect_for_writing,
    has_checksums,
    history_errors,
    turn_checksum,
)

__all__ = ["Conversation", "History", "KeptAnswer"]

SHOWN_MATCHES = 5
LONGEST_NUMBER = 18
"""Digits that SQLite's integers can hold."""

_ALL = """
SELECT c.conversation_id, c.name, COUNT(t.turn_id), MIN(t.created_at), MAX(t.created_at),
       (SELECT question FROM turns WHERE conversation_id = c.conversation_id ORDER BY turn_id LIMIT 1)
FROM conversations c JOIN turns t USING (conversation_id)
"""
_TURN = "SELECT turn_id, conversation_id, created_at, record, {checksum} FROM turns"


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


class History:
    """The conversations of one library, open for reading or for writing; close it, or use it in a `with`.

    Every method raises RagScienceError for a damaged or unreadable file, LibraryUnavailable if another
    program holds it for too long.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection | None) -> None:
        self._path = path
        self._connection = connection
        """None for a history without a file."""
        with history_errors(path):
            is_sealed = connection is not None and has_checksums(connection)
        self._turn = _TURN.format(checksum="checksum" if is_sealed else "NULL")
        self._damaged: set[int] = set()
        """The turns that were left out so far because they are not what was written."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """For reading; empty if there is no file. Raises LibraryUnavailable for another schema version."""
        return cls(path, connect_for_reading(path))

    @classmethod
    def open_for_writing(cls, path: Path) -> Self:
        """For writing; created if missing, in an existing folder. Raises as `open`."""
        return cls(path, connect_for_writing(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.close()

    @property
    def damage(self) -> str:
        """That turns were left out because they are not what was written; empty for none."""
        if not self._damaged:
            return ""
        count = len(self._damaged)
        what = "1 saved answer is" if count == 1 else f"{count} saved answers are"
        return f"{what} damaged and left out. `python query.py history delete ID` deletes a conversation with it."

    def conversations(self) -> list[Conversation]:
        """All conversations, the last changed first."""
        rows = self._rows(_ALL + "GROUP BY c.conversation_id ORDER BY MAX(t.turn_id) DESC")
        return [_conversation(row) for row in rows]

    def last(self) -> Conversation | None:
        """The conversation of the newest turn, or None."""
        rows = self._rows(_ALL + "GROUP BY c.conversation_id ORDER BY MAX(t.turn_id) DESC LIMIT 1")
        return _conversation(rows[0]) if rows else None

    def named(self, name: str) -> Conversation | None:
        """The conversation of that name, or None."""
        rows = self._rows(_ALL + "WHERE c.name = ? GROUP BY c.conversation_id", storable(name))
        return _conversation(rows[0]) if rows else None

    def conversation(self, conversation_id: int) -> Conversation | None:
        """The conversation of that id, or None."""
        rows = self._rows(_ALL + "WHERE c.conversation_id = ? GROUP BY c.conversation_id", conversation_id)
        return _conversation(rows[0]) if rows else None

    def questions(self, limit: int) -> list[str]:
        """The last `limit` questions of all conversations, the newest first."""
        return [str(row[0]) for row in self._rows("SELECT question FROM turns ORDER BY turn_id DESC LIMIT ?", limit)]

    def numbered(self, number: str) -> Conversation | None:
        """The conversation whose id these digits are, or None."""
        return self.conversation(int(number)) if len(number) <= LONGEST_NUMBER else None

    def turns(self, conversation_id: int) -> list[KeptAnswer]:
        """The turns of a conversation, the first first."""
        return self._kept(self._rows(f"{self._turn} WHERE conversation_id = ? ORDER BY turn_id", conversation_id))

    def answer(self, start: str = "") -> KeptAnswer | None:
        """The answer whose id begins with `start`, or the newest of all if that is empty; None without one.

        Raises UsageError if several ids match.
        """
        if not start:
            rows = self._rows(f"{self._turn} ORDER BY turn_id DESC LIMIT 1")
        else:
            text = storable(start)
            rows = self._rows(f"{self._turn} WHERE substr(answer_id, 1, ?) = ? ORDER BY answer_id", len(text), text)
        kept = self._kept(rows[: SHOWN_MATCHES + 1])
        exact = [item for item in kept if item.answer.answer_id == start]
        if len(kept) > 1 and not exact:
            shown = ", ".join(item.answer.answer_id for item in kept[:SHOWN_MATCHES])
            raise UsageError(f"Several answers begin with {start}: {shown}.", "Give more of the id.")
        return (exact or kept)[0] if kept else None

    def find(self, key: str) -> Conversation | KeptAnswer:
        """What `key` means: a conversation's name or number, else the beginning of an answer's id.

        Raises NothingFound if nothing matches, UsageError if several answers do.
        """
        key = key.strip()
        conversation = self.named(key) if key else None
        if conversation is None and key.isdecimal():
            conversation = self.numbered(key)
        found = conversation or (self.answer(key) if key else None)
        if found is None:
            raise NothingFound(
                f"The history has no conversation or answer {key!r}.", "`python query.py history list` shows them."
            )
        return found

    def search(self, text: str, limit: int) -> list[KeptAnswer]:
        """The newest `limit` turns whose question or answer has every word of `text`.

        A word also matches longer ones that begin with it. Raises UsageError if the text has no word.
        """
        words = re.findall(r"\w+", storable(text))
        if not words:
            raise UsageError(f"There is no word in {text!r}.", "Give a word of the question or the answer.")
        found = self._by_index(words, limit) or self._by_reading(words, limit)
        return self._kept(row for number in found for row in self._rows(f"{self._turn} WHERE turn_id = ?", number))

    def add(
        self, answers: Iterable[tuple[Answer, str]], *, conversation_id: int | None = None, name: str = ""
    ) -> int | None:
        """Store answers, each with its time (ISO 8601, UTC), in one transaction; the conversation's id.

        They go to the conversation `conversation_id`, else to the one called `name`, else to a new one; one that was
        deleted meanwhile is created again. Stored turns are unchanged. None if there was nothing to do.
        """
        kept = list(answers)
        if not kept:
            return None
        with self._transaction() as connection:
            place = _place(connection, conversation_id, storable(name))
            for answer, created_at in kept:
                _insert(connection, place, answer, created_at)
            return place

    def rename(self, conversation_id: int | None, name: str) -> None:
        """Give a conversation another name, as `check_name` gives it; None: one that is not stored yet.

        Raises UsageError if another one has the name.
        """
        with self._transaction() as connection:
            text = storable(name)
            row = connection.execute("SELECT conversation_id FROM conversations WHERE name = ?", (text,)).fetchone()
            if row is not None and row[0] != conversation_id:
                raise UsageError(f"Another conversation is called {name!r}.", "Choose another name.")
            connection.execute("UPDATE conversations SET name = ? WHERE conversation_id = ?", (text, conversation_id))

    def delete(self, what: Conversation | KeptAnswer | None) -> int:
        """Delete a conversation, one turn, or with None everything, with its bytes; returns the number of turns."""
        with self._transaction() as connection:
            if what is None:
                rows = connection.execute("SELECT turn_id FROM turns")
            elif isinstance(what, Conversation):
                rows = connection.execute(
                    "SELECT turn_id FROM turns WHERE conversation_id = ?", (what.conversation_id,)
                )
            else:
                answer_id = storable(what.answer.answer_id)
                rows = connection.execute("SELECT turn_id FROM turns WHERE answer_id = ?", (answer_id,))
            gone = rows.fetchall()
            connection.executemany("DELETE FROM turns WHERE turn_id = ?", gone)
            connection.execute(
                "DELETE FROM conversations WHERE conversation_id NOT IN (SELECT conversation_id FROM turns)"
            )
            if _has_index(connection):
                connection.executemany("DELETE FROM turns_text WHERE rowid = ?", gone)
                # The index keeps deleted text until its parts are merged.
                connection.execute("INSERT INTO turns_text (turns_text) VALUES ('optimize')")
        with history_errors(self._path):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(gone)

    def _by_index(self, words: Sequence[str], limit: int) -> list[int]:
        """By FTS5; empty if it is missing or incomplete (an SQLite without it wrote some turns)."""
        if self._connection is None:
            return []
        with history_errors(self._path):
            if not _has_index(self._connection):
                return []
        whole = self._rows("SELECT (SELECT COUNT(*) FROM turns) = (SELECT COUNT(*) FROM turns_text)")
        if not whole[0][0]:
            return []
        query = " ".join(f'"{word}"*' for word in words)
        rows = self._rows(
            "SELECT rowid FROM turns_text WHERE turns_text MATCH ? ORDER BY rowid DESC LIMIT ?", query, limit
        )
        return [row[0] for row in rows]

    def _by_reading(self, words: Sequence[str], limit: int) -> list[int]:
        """By reading every turn, which also finds a word inside another one, as scripts without spaces need it."""
        statement = """
            SELECT turn_id FROM turns WHERE NOT EXISTS (
                SELECT 1 FROM json_each(?)
                WHERE question || ' ' || answer NOT LIKE '%' || REPLACE(value, '_', '!_') || '%' ESCAPE '!'
            ) ORDER BY turn_id DESC LIMIT ?
        """
        return [row[0] for row in self._rows(statement, json.dumps(words), limit)]

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        with history_errors(self._path):
            return self._connection.execute(statement, values).fetchall()

    def _kept(self, rows: Iterable[tuple[Any, ...]]) -> list[KeptAnswer]:
        found = []
        try:
            for turn_id, place, created_at, record, checksum in rows:
                if checksum is not None and checksum != turn_checksum(created_at, record):
                    self._damaged.add(turn_id)
                else:
                    found.append(KeptAnswer(int(place), str(created_at), from_json(Answer, record, VERSION_1_NAMES)))
            return found
        except ValueError as error:
            raise HistoryDamaged(
                f"The history {self._path} is damaged: {error}.", "Move the file away; a new history is then started."
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it, synced to disk, or nothing."""
        if self._connection is None:
            raise RagScienceError(f"The history {self._path} is not open for writing.")
        connection = self._connection
        with history_errors(self._path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


def _place(connection: sqlite3.Connection, conversation_id: int | None, name: str) -> int:
    by_id = connection.execute(
        "SELECT conversation_id FROM conversations WHERE conversation_id = ?", (conversation_id,)
    ).fetchone()
    row = (
        by_id
        or connection.execute("SELECT conversation_id FROM conversations WHERE name = ?", (name or None,)).fetchone()
    )
    if row is None:
        return int(connection.execute("INSERT INTO conversations (name) VALUES (?)", (name or None,)).lastrowid or 0)
    return int(row[0])


def _insert(connection: sqlite3.Connection, conversation_id: int, answer: Answer, created_at: str) -> None:
    question, text, record = storable(answer.question), storable(answer.text), to_json(answer, allow_nan=True)
    cursor = connection.execute(
        "INSERT OR IGNORE INTO turns (conversation_id, answer_id, created_at, question, answer, record, checksum)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            conversation_id,
            storable(answer.answer_id),
            created_at,
            question,
            text,
            record,
            turn_checksum(created_at, record),
        ),
    )
    if cursor.rowcount and _has_index(connection):
        connection.execute(
            "INSERT INTO turns_text (rowid, question, answer) VALUES (?, ?, ?)", (cursor.lastrowid, question, text)
        )


def _has_index(connection: sqlite3.Connection) -> bool:
    """Whether there is a full-text index, and this SQLite can use it."""
    try:
        connection.execute("SELECT 1 FROM turns_text LIMIT 0")
    except sqlite3.OperationalError:  # "no such table", "no such module"
        return False
    return True


def _conversation(row: tuple[Any, ...]) -> Conversation:
    number, name, turns, started_at, changed_at, title = row
    return Conversation(int(number), name or "", title, turns, started_at, changed_at)
