"""The agentic loop as a LangGraph StateGraph: decompose, retrieve, reason, reflect, and again or generate.

    decompose_query → retrieve → reason → reflect ── good enough, or at a limit ──► generate_answer
          ▲                                  │
          └───────── with the feedback ──────┘

Each finished step is kept in vectorstore/agent.sqlite, by LangGraph's SQLite checkpointer with a serializer that writes
and reads JSON only: what is on disk builds no objects. The file is a cache; losing it costs the steps of runs that were
not finished. LangGraph is imported inside functions.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragscience.agent.agent_state import AgentContext, AgentState
from ragscience.agent.nodes import Nodes
from ragscience.core.records import Answer

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph.state import CompiledStateGraph

__all__ = ["JsonSerializer", "answer_by_agent", "kept_runs"]

_JSON = "json"
_MOST_RUNS = 20
"""Interrupted runs that are kept; the oldest leave first."""


def answer_by_agent(
    context: AgentContext, *, checkpoints: Path | None, run_id: str, on_resume: Callable[[int], None] | None = None
) -> Answer:
    """The answer to `context.request.question` by as many passes as the limits allow, with its trace.

    Each finished step is kept in the SQLite file `checkpoints` (None keeps nothing) under `run_id`, which must identify
    the question, the library and all settings: a run that was interrupted goes on where it stopped when the same
    id comes again, and `on_resume` receives the number of finished steps. A finished run leaves nothing behind.
    Raises what `context.search` raises where nothing at all could be searched for, and what `on_step` raises.
    """
    # What takes long to import is not of the run's own time.
    import langgraph.graph  # noqa: F401
    from langsmith.run_helpers import tracing_context

    with kept_runs(checkpoints) as saver, tracing_context(enabled=False):
        earlier = None if saver is None else _interrupted(saver, run_id)
        nodes = Nodes(context, earlier["spent"] if earlier else {})
        if earlier is not None and on_resume is not None:
            on_resume(len(earlier["steps"]))
        graph = _graph(nodes, saver)
        config: Any = {
            "configurable": {"thread_id": run_id},
            "recursion_limit": 5 * context.limits.iterations + 10,
        }
        how: dict[str, Any] = {} if saver is None else {"durability": "sync"}
        state: Any = graph.invoke(None if earlier else _begun(context), config, **how)
        if saver is not None:
            _forget(saver, run_id)
        return nodes.answer(state)


def _begun(context: AgentContext) -> AgentState:
    return {
        "question": context.request.question,
        "iteration": 0,
        "asked": [],
        "parts": [],
        "queue": [],
        "found": [],
        "fresh": 0,
        "notes": [],
        "feedback": {"score": 0.0, "missing": [], "unsupported": []},
        "best": {},
        "timings": {},
        "stages": [],
        "steps": [],
        "warnings": [],
        "spent": {},
    }


def _graph(nodes: Nodes, saver: SqliteSaver | None) -> CompiledStateGraph[Any, Any, Any, Any]:
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(AgentState)
    steps: list[Any] = [nodes.decompose_query, nodes.retrieve, nodes.reason, nodes.reflect, nodes.generate_answer]
    for node in steps:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "decompose_query")
    graph.add_conditional_edges("decompose_query", nodes.after_decompose, ["retrieve", "generate_answer"])
    graph.add_conditional_edges("retrieve", nodes.after_retrieve, ["reason", "decompose_query", "generate_answer"])
    graph.add_edge("reason", "reflect")
    graph.add_conditional_edges("reflect", nodes.after_reflect, ["decompose_query", "generate_answer"])
    graph.add_edge("generate_answer", END)
    return graph.compile(checkpointer=saver)


def _interrupted(saver: SqliteSaver, run_id: str) -> Any:
    """The state of a run that did not come to its end, or None; what cannot be read is forgotten."""
    try:
        kept = saver.get_tuple({"configurable": {"thread_id": run_id}})
        values = kept.checkpoint["channel_values"] if kept else {}
        whole = isinstance(values, dict) and _begun_keys() <= values.keys() and bool(values["spent"])
    except (ValueError, KeyError, TypeError, sqlite3.Error):
        whole = False
    if whole:
        return values
    _forget(saver, run_id)
    return None


def _begun_keys() -> set[str]:
    return set(AgentState.__annotations__) - {"draft"}


def _forget(saver: SqliteSaver, run_id: str) -> None:
    with suppress(sqlite3.Error):
        saver.delete_thread(run_id)


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
    """The checkpointer over the file at `path`, for one process at a time; None if there cannot be one.

    That is without a path, while another run holds the file, or if it cannot be written: the run then has no
    checkpoints and cannot be resumed. A damaged file is replaced.
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
