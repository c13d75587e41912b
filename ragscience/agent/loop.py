"""The agentic loop as a LangGraph StateGraph: decompose, retrieve, reason, reflect, and again or generate.

    decompose_query → retrieve → reason → reflect ── good enough, or at a limit ──► generate_answer
          ▲                                  │
          └───────── with the feedback ──────┘

The one module of this room that imports LangGraph for the graph itself, and only when its function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragscience.agent.agent_context import AgentContext
from ragscience.agent.agent_state import AgentState
from ragscience.agent.checkpoints import kept_runs
from ragscience.agent.nodes import Nodes
from ragscience.records import Answer

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph.state import CompiledStateGraph

__all__ = ["answer_by_agent"]


def answer_by_agent(
    context: AgentContext, *, checkpoints: Path | None, run_id: str, on_resume: Callable[[int], None] | None = None
) -> Answer:
    """The answer to `context.request.question` by as many passes as the limits allow, with its trace.

    Each finished step is kept in the SQLite file `checkpoints` (None keeps nothing) under `run_id`, which must stand
    for the question, the library and all settings: a run that was interrupted goes on where it stopped when the same
    id comes again, and `on_resume` is told how many steps are done already. A finished run leaves nothing behind.
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
        "notices": [],
        "spent": {},
    }


def _graph(nodes: Nodes, saver: SqliteSaver | None) -> CompiledStateGraph[Any, Any, Any, Any]:
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(AgentState)
    for node in (nodes.decompose_query, nodes.retrieve, nodes.reason, nodes.reflect, nodes.generate_answer):
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
    import sqlite3

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
    import sqlite3
    from contextlib import suppress

    with suppress(sqlite3.Error):
        saver.delete_thread(run_id)
