"""The agentic loop as a LangGraph StateGraph: decompose, retrieve, reason, reflect, and again or generate.

    decompose_query → retrieve → reason → reflect ── good enough, or at a limit ──► generate_answer
          ▲                                  │
          └───────── with the feedback ──────┘

The state after each step is a JSON file in vectorstore/agent until the run is done, so that an interrupted run goes on;
losing one costs the steps of that run. LangGraph is imported inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragscience.agent.agent_state import AgentContext, AgentState
from ragscience.agent.nodes import Nodes
from ragscience.core.records import Answer
from ragscience.core.serialization import from_json, to_json
from ragscience.library.atomic_files import write_atomically

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


_MOST_RUNS = 20
"""Interrupted runs that are kept; the oldest leave first."""


def answer_by_agent(
    context: AgentContext, *, checkpoints: Path | None, run_id: str, on_resume: Callable[[int], None] | None = None
) -> Answer:
    """The answer to `context.request.question` by as many passes as the limits allow, with its trace.

    The state after each finished step is kept in the folder `checkpoints` (None keeps nothing) under `run_id`, which
    must identify the question, the library and all settings: a run that was interrupted goes on where it stopped when
    the same id comes again, and `on_resume` receives the number of finished steps. A finished run leaves nothing.
    Raises what `context.search` raises where nothing at all could be searched for, and what `on_step` raises.
    """
    # What takes long to import is not of the run's own time.
    import langgraph.graph  # noqa: F401
    from langsmith.run_helpers import tracing_context

    kept = None if checkpoints is None else checkpoints / f"{run_id}.json"
    state = None if kept is None else _interrupted(kept)
    if state is not None and on_resume is not None:
        on_resume(len(state.steps))
    state = state or AgentState(context.request.question)
    nodes = Nodes(context, state)
    with tracing_context(enabled=False):
        run = _graph(nodes).stream(state, {"recursion_limit": 5 * context.limits.iterations + 10}, stream_mode="values")
        for values in run:
            state = AgentState(**values)
            if kept is not None and state.steps:
                _keep(state, kept)
    if kept is not None:
        with suppress(OSError):
            kept.unlink(missing_ok=True)
    return nodes.answer(state)


def _graph(nodes: Nodes) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Each node is followed by what `nodes.after` says, and a run begins after its last finished step."""
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(AgentState)
    names = [node.__name__ for node in nodes.all]
    ends: dict[Hashable, str] = {**{name: name for name in names}, "": END}
    for name, node in zip(names, nodes.all, strict=True):
        graph.add_node(name, partial(nodes.run, node))
    for name in (START, *names):
        graph.add_conditional_edges(name, nodes.after, ends)
    return graph.compile()


def _interrupted(kept: Path) -> AgentState | None:
    """The state of a run that did not come to its end; None where none can be read."""
    try:
        state = from_json(AgentState, kept.read_bytes())
    except (OSError, ValueError):
        return None
    return state if state.steps else None


def _keep(state: AgentState, kept: Path) -> None:
    """A state that cannot be written costs the resuming, not the run."""
    with suppress(OSError, ValueError):
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(kept, to_json(state).encode(), private=True)
        runs = sorted(kept.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for old in runs[:-_MOST_RUNS]:
            old.unlink(missing_ok=True)
