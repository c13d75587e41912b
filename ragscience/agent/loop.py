"""The agentic loop as a LangGraph StateGraph: decompose, retrieve, reason, reflect, and again or generate.

    decompose_query → retrieve → reason → reflect ── good enough, or at a limit ──► generate_answer
          ▲                                  │
          └───────── with the feedback ──────┘

LangGraph is imported inside the function.
"""

from collections.abc import Hashable
from functools import partial

from ragscience.agent.agent_state import AgentContext, AgentState
from ragscience.agent.nodes import Nodes
from ragscience.core.records import Answer


def answer_by_agent(context: AgentContext) -> Answer:
    """The answer to `context.request.question` by as many passes as the limits allow, with its trace.

    Each node is followed by what `Nodes.after` says. Raises what `context.search` raises where nothing at all could be
    searched for, and what `on_step` raises.
    """
    from langgraph.graph import END, START, StateGraph
    from langsmith.run_helpers import tracing_context

    nodes = Nodes(context)  # whose time begins after what takes long to import
    graph = StateGraph(AgentState)
    names = [node.__name__ for node in nodes.all]
    ends: dict[Hashable, str] = {**{name: name for name in names}, "": END}
    for name, node in zip(names, nodes.all, strict=True):
        graph.add_node(name, partial(nodes.run, node))
    for name in (START, *names):
        graph.add_conditional_edges(name, nodes.after, ends)
    with tracing_context(enabled=False):
        begun = AgentState(context.request.question)
        values = graph.compile().invoke(begun, {"recursion_limit": 5 * context.limits.iterations + 10})
    return nodes.answer(AgentState(**values))
