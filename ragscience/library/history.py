"""Conversations on disk, turn by turn, with the audit record of each answer, in vectorstore/history.sqlite."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from typing import Any, Self

from ragscience.core.errors import NothingFound, RagScienceError, UsageError
from ragscience.core.records import Answer
from ragscience.core.serialization import from_json, storable, to_json
from ragscience.core.system import Closing
from ragscience.library.atomic_files import has_lost_commits
from ragscience.library.history_database import Conversation as Conversation
from ragscience.library.history_database import KeptAnswer as KeptAnswer
from ragscience.library.history_database import check_name as check_name
from ragscience.library.history_database import checksum_of, connect_for_reading, connect_for_writing, history_errors

SHOWN_MATCHES = 5
LONGEST_NUMBER = 18
"""Digits that SQLite's integers can hold."""
_LOST_LOG = (
    "The last answers of an interrupted run are lost, as their log is damaged. `python query.py history list` shows "
    "the others."
)
AUDITED = 10_000
"""Audit records that are kept, the newest ones: at 10 to 20 KB each some 150 MB at most."""

_CONVERSATIONS = """
SELECT conversation_id, COALESCE(name, ''), checksum
FROM (SELECT conversation_id FROM turns UNION SELECT conversation_id FROM conversations)
LEFT JOIN conversations USING (conversation_id) WHERE {where}
"""
_LISTED = "SELECT turn_id, conversation_id, answer_id, created_at, question, listed FROM turns"
_TURNS = "SELECT turn_id, conversation_id, answer_id, created_at, question, listed, answer, record, checksum FROM turns"
_SEALED = "UPDATE conversations SET checksum = COALESCE(checksum, 0) + ? WHERE conversation_id = ?"
_UNSEALED = """
UPDATE conversations AS one SET checksum = checksum - COALESCE(
    (SELECT SUM(listed) FROM turns WHERE {where} AND conversation_id = one.conversation_id), 0)
"""
_AUDIT = "SELECT audit_id, created_at, record, checksum FROM audit"


class History(Closing):
    """The answers of one person, open for reading or for writing; close it, or use it in a `with`.

    Every method raises RagScienceError for a damaged or unreadable file, LibraryUnavailable if another program holds
    it for too long. Turns and audit records that are not what was written are left out: see `damage`.
    """

    def __init__(self, path: Path, connect: Callable[[Path], sqlite3.Connection | None]) -> None:
        self._path = path
        self._lost_log = has_lost_commits(path)
        self._connection = connect(path)
        """None for a history without a file."""
        self._damaged: set[tuple[str, int]] = set()

    @classmethod
    def open(cls, path: Path) -> Self:
        """For reading; empty if there is no file. Raises LibraryUnavailable for another schema version."""
        return cls(path, connect_for_reading)

    @classmethod
    def open_for_writing(cls, path: Path) -> Self:
        """For writing; created if missing, in an existing folder. Raises as `open`."""
        return cls(path, connect_for_writing)

    def close(self) -> None:
        """Release the file."""
        if self._connection is not None:
            self._connection.close()

    @property
    def damage(self) -> str:
        """What was left out so far because it is not what was written; empty for nothing."""
        said = [_LOST_LOG] if self._lost_log else []
        for kind, how, fix in (
            ("saved answer", "damaged and left out", "history delete ID` deletes a conversation with it"),
            ("audit record", "damaged and left out", "audit --delete-all` deletes them all"),
            ("conversation", "without a name or an answer: damaged", "history delete ID` deletes it"),
        ):
            count = sum(place[0] == kind for place in self._damaged)
            what = f"1 {kind} is" if count == 1 else f"{count} {kind}s are"
            said += [f"{what} {how}. `python query.py {fix}."] if count else []
        return " ".join(said)

    # Conversations

    def conversations(self) -> list[Conversation]:
        """All conversations, the last changed first."""
        return self._conversations("TRUE")

    def last(self) -> Conversation | None:
        """The conversation of the newest turn, or None."""
        newest = "conversation_id = (SELECT conversation_id FROM turns ORDER BY turn_id DESC LIMIT 1)"
        return next(iter(self._conversations(newest)), None)

    def named(self, name: str) -> Conversation | None:
        """The conversation of that name, or None."""
        return next(iter(self._conversations("name = ?", storable(name))), None)

    def numbered(self, number: int | str) -> Conversation | None:
        """The conversation of that number, or None."""
        if len(str(number)) > LONGEST_NUMBER:
            return None
        return next(iter(self._conversations("conversation_id = ?", int(number))), None)

    def _conversations(self, where: str, *values: object) -> list[Conversation]:
        found = []
        for number, name, checksum in self._rows(_CONVERSATIONS.format(where=where), *values):
            rows = self._rows(f"{_LISTED} WHERE conversation_id = ? ORDER BY turn_id", number)
            turns = self._whole(rows)
            if checksum != checksum_of(number, name) + sum(row[-1] for row in rows if isinstance(row[-1], int)):
                name = ""
                if len(turns) == len(rows):
                    self._damaged.add(("conversation", number))
            if turns:
                times = sorted(row[3] for row in turns)
                one = Conversation(number, name, turns[0][4], len(turns), times[0], times[-1])
                found.append((turns[-1][0], one))
        return [one for _, one in sorted(found, key=lambda each: -each[0])]

    def questions(self, limit: int) -> list[str]:
        """The last `limit` questions of all conversations, the newest first."""
        return [row[4] for row in self._whole(self._rows(f"{_LISTED} ORDER BY turn_id DESC LIMIT ?", limit))]

    def turns(self, conversation_id: int) -> list[KeptAnswer]:
        """The turns of a conversation, the first first."""
        return self._kept(self._rows(f"{_TURNS} WHERE conversation_id = ? ORDER BY turn_id", conversation_id))

    def answer(self, start: str = "") -> KeptAnswer | None:
        """The answer whose id begins with `start`, or the newest of all if that is empty; None without one.

        Raises UsageError if several ids match.
        """
        if not start:
            kept = self._kept(self._rows(f"{_TURNS} ORDER BY turn_id DESC LIMIT 1"))
            return kept[0] if kept else None
        answer_id = self._meant("turns", start)
        kept = self._kept(self._rows(f"{_TURNS} WHERE answer_id = ?", answer_id)) if answer_id else []
        return kept[0] if kept else None

    def find(self, key: str | int) -> Conversation | KeptAnswer:
        """What `key` means: a conversation's name or number, else the beginning of an answer's id.

        An int is only a conversation's number. Raises NothingFound if nothing matches, UsageError if several do.
        """
        if isinstance(key, int):
            numbered = self.numbered(key)
            if numbered is None:
                raise NothingFound(f"There is no conversation {key}.", "`python query.py history list` shows them.")
            return numbered
        key = key.strip()
        conversation = self.named(key) if key else None
        if conversation is None and key.isdecimal():
            conversation = self.numbered(key)
        found = conversation or (self.answer(key) if key else None)
        if found is None:
            fix = "`python query.py history list` shows them."
            raise NothingFound(f"The history has no conversation or answer {key!r}.", fix)
        return found

    def search(self, text: str, limit: int) -> list[KeptAnswer]:
        """The newest `limit` turns whose question or answer has every word of `text`, or one that begins with it.

        Case and accents do not matter; a word that is not ASCII is found inside others, too, as scripts without blanks
        need it. Raises UsageError if the text has no word.
        """
        from ragscience.reading.text_cleaning import plain_letters

        words = re.findall(r"\w+", plain_letters(storable(text)))
        if not words:
            raise UsageError(f"There is no word in {text!r}.", "Give a word of the question or the answer.")
        wanted = [re.compile(rf"\b{word}" if word.isascii() else re.escape(word)) for word in words]
        found: list[KeptAnswer] = []
        for (number,) in self._rows("SELECT turn_id FROM turns ORDER BY turn_id DESC"):
            for row in self._whole(self._rows(f"{_TURNS} WHERE turn_id = ?", number)):
                said = plain_letters(f"{row[4]} {row[6]}")
                if len(found) < limit and all(word.search(said) for word in wanted):
                    found += self._kept([row])
        return found

    def add(self, turns: Iterable[KeptAnswer], *, conversation_id: int | None = None, name: str = "") -> int:
        """Store turns with their audit records in one transaction; the conversation's id.

        They go to the conversation `conversation_id`, else to the one called `name`, else to a new one; one that was
        deleted meanwhile is created again. Stored turns are unchanged.
        """
        with self._transaction() as connection:
            place = _place(connection, conversation_id, storable(name))
            for turn in turns:
                _insert(connection, place, turn)
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
            query = "SELECT COALESCE(name, '') FROM conversations WHERE conversation_id = ?"
            if before := connection.execute(query, (conversation_id,)).fetchone():
                change = checksum_of(conversation_id, text) - checksum_of(conversation_id, *before)
                query = "UPDATE conversations SET name = ? WHERE conversation_id = ?"
                connection.execute(query, (text, conversation_id))
                connection.execute(_SEALED, (change, conversation_id))

    def delete(self, what: Conversation | KeptAnswer | None) -> int:
        """Delete a conversation, one turn, or with None everything, with its bytes; returns the number of turns.

        Audit records are not deleted.
        """
        where, value = "TRUE", list[object]()
        if isinstance(what, Conversation):
            where, value = "conversation_id = ?", [what.conversation_id]
        elif what is not None:
            where, value = "answer_id = ?", [storable(what.answer.answer_id)]
        with self._deleting() as connection:
            connection.execute(_UNSEALED.format(where=where), value)
            gone = connection.execute(f"DELETE FROM turns WHERE {where}", value).rowcount  # noqa: S608 - ours
            empty = "DELETE FROM conversations WHERE conversation_id NOT IN (SELECT conversation_id FROM turns)"
            connection.execute(empty)
        return gone

    # Audit records

    def audit(self, limit: int) -> list[dict[str, Any]]:
        """The newest `limit` audit records, the newest first."""
        return self._audited(self._rows(f"{_AUDIT} ORDER BY audit_id DESC LIMIT ?", limit))

    def audit_record(self, start: str) -> dict[str, Any] | None:
        """The record of the answer whose id begins with `start`, or None. Raises UsageError if several ids match."""
        answer_id = self._meant("audit", start)
        rows = self._rows(f"{_AUDIT} WHERE answer_id = ?", answer_id) if answer_id else []
        return next(iter(self._audited(rows)), None)

    def delete_audit(self) -> int:
        """Delete every audit record, with its bytes; how many. Conversations stay."""
        with self._deleting() as connection:
            return connection.execute("DELETE FROM audit").rowcount

    def _meant(self, table: str, start: str) -> str | None:
        text = storable(start)
        query = f"SELECT answer_id FROM {table} WHERE substr(answer_id, 1, ?) = ? ORDER BY answer_id"  # noqa: S608 - ours
        rows = self._rows(query, len(text), text)
        ids = [str(row[0]) for row in rows]
        if len(ids) > 1 and text not in ids:
            fix = "Give more of the id."
            raise UsageError(f"Several answers begin with {start}: {', '.join(ids[:SHOWN_MATCHES])}.", fix)
        return text if text in ids else next(iter(ids), None)

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        with history_errors(self._path):
            return self._connection.execute(statement, values).fetchall()

    def _kept(self, rows: Sequence[tuple[Any, ...]]) -> list[KeptAnswer]:
        return [
            KeptAnswer(place, created_at, from_json(Answer, record))
            for _, place, _, created_at, *_, record, _ in self._whole(rows)
        ]

    def _audited(self, rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
        return [json.loads(row[2]) for row in self._whole(rows, "audit record")]

    def _whole(self, rows: Sequence[tuple[Any, ...]], kind: str = "saved answer") -> list[tuple[Any, ...]]:
        """The rows that are what was written: a number, columns and their checksum; others are noted as damaged."""
        whole = [row[-1] == checksum_of(*row[1:-1]) for row in rows]
        self._damaged |= {(kind, row[0]) for row, is_whole in zip(rows, whole, strict=True) if not is_whole}
        return list(compress(rows, whole))

    @contextmanager
    def _deleting(self) -> Iterator[sqlite3.Connection]:
        """A transaction; then the write-ahead log is emptied, which may have the words of what was deleted."""
        with self._transaction() as connection:
            yield connection
        with history_errors(self._path):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it, synced to disk, or nothing."""
        if self._connection is None:
            raise RagScienceError(f"The history {self._path} is not open for writing.")
        with history_errors(self._path), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection


def _place(connection: sqlite3.Connection, conversation_id: int | None, name: str) -> int:
    row = None
    for column, value in (("conversation_id", conversation_id), ("name", name or None)):
        query = f"SELECT conversation_id FROM conversations WHERE {column} = ?"  # noqa: S608 - our own column
        row = row or connection.execute(query, (value,)).fetchone()
    if row is None:
        place = connection.execute("INSERT INTO conversations (name) VALUES (?)", (name or None,)).lastrowid or 0
        connection.execute(_SEALED, (checksum_of(place, name), place))
        return place
    return int(row[0])


def _insert(connection: sqlite3.Connection, conversation_id: int, turn: KeptAnswer) -> None:
    answer, at = turn.answer, turn.created_at
    answer_id, record = storable(answer.answer_id), to_json(answer, allow_nan=True)
    columns = conversation_id, answer_id, at, storable(answer.question)
    listed = checksum_of(*columns)
    whole = (*columns, listed, storable(answer.text), record)
    added = "INSERT OR IGNORE INTO turns VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)"
    cursor = connection.execute(added, (*whole, checksum_of(*whole)))
    if cursor.rowcount:
        connection.execute(_SEALED, (listed, conversation_id))
    if cursor.rowcount and turn.audit is not None:
        kept = to_json(turn.audit)
        cursor = connection.execute(
            "INSERT OR IGNORE INTO audit (answer_id, created_at, record, checksum) VALUES (?, ?, ?, ?)",
            (answer_id, at, kept, checksum_of(at, kept)),
        )
        connection.execute("DELETE FROM audit WHERE audit_id <= ?", ((cursor.lastrowid or 0) - AUDITED,))
