"""Where an interrupted run stands, in vectorstore/agent.sqlite, so that the same question goes on from there.

LangGraph's own SQLite checkpointer with a serializer that writes JSON and reads nothing else: what lies on disk builds
no objects. The file is a cache: losing it costs the steps of runs that were not finished.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite import SqliteSaver

__all__ = ["JsonSerializer", "kept_runs"]

_JSON = "json"
_MOST_RUNS = 20
"""Interrupted runs that are kept; the oldest leave first."""


class JsonSerializer:
    """LangGraph's SerializerProtocol over JSON alone: tuples and sets come back as lists, errors as their text."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """("json", the value as UTF-8). Raises TypeError for what is not plain."""
        return _JSON, json.dumps(obj, default=_plain).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value. Raises ValueError for any other type, and for what is not JSON."""
        kind, raw = data
        if kind != _JSON:
            raise ValueError(f"a checkpoint of type {kind!r}, not {_JSON!r}")
        try:
            return json.loads(raw)
        except (RecursionError, TypeError) as error:
            raise ValueError(f"a checkpoint that is no JSON: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, BaseException):
        return {"error": f"{type(value).__name__}: {value}"}
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not plain")


@contextmanager
def kept_runs(path: Path | None) -> Iterator[SqliteSaver | None]:
    """The checkpointer over the file at `path`, for one process at a time; None where there can be none.

    That is without a path, where another run holds the file, and where it cannot be written: the run goes on without,
    and cannot be gone on with. A file that is damaged is made anew.
    """
    connection = None if path is None else _opened(path)
    if connection is None:
        yield None
        return
    with closing(connection):
        yield _saver(connection)


def _opened(path: Path) -> sqlite3.Connection | None:
    for attempt in (1, 2):
        try:
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(path, timeout=0.0, check_same_thread=False)
        except (OSError, sqlite3.OperationalError):
            return None
        try:
            # The lock is the system's, and lasts as long as the connection: one run at a time, also after a kill.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA secure_delete = ON")
            _saver(connection).setup()
            connection.execute("BEGIN EXCLUSIVE")
            _forget_oldest(connection)
            connection.commit()
        except sqlite3.DatabaseError as error:
            connection.close()
            if isinstance(error, sqlite3.OperationalError) or attempt == 2:
                return None
            for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
                each.unlink(missing_ok=True)
        else:
            return connection
    return None


def _forget_oldest(connection: sqlite3.Connection) -> None:
    # A checkpoint's id begins with the time, so the newest run has the greatest.
    rows = connection.execute(
        "SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY MAX(checkpoint_id) DESC LIMIT -1 OFFSET ?",
        (_MOST_RUNS,),
    ).fetchall()
    for (run,) in rows:
        connection.execute("DELETE FROM checkpoints WHERE thread_id = ?", (run,))
        connection.execute("DELETE FROM writes WHERE thread_id = ?", (run,))


def _saver(connection: sqlite3.Connection) -> SqliteSaver:
    """A saver over the connection; a write that fails later costs the checkpoint, not the run."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    class Saver(SqliteSaver):
        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            try:
                return super().put(config, checkpoint, metadata, new_versions)
            except sqlite3.Error:
                keys = config["configurable"]
                return {"configurable": {**keys, "checkpoint_id": checkpoint["id"]}}

        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            with suppress(sqlite3.Error):
                super().put_writes(config, writes, task_id, task_path)

    return Saver(connection, serde=JsonSerializer())
