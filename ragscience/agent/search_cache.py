"""The searches of one run: each is made once, and what a name alone was looked up for is not searched for again."""

from __future__ import annotations

from ragscience.agent.agent_context import AgentContext
from ragscience.agent.agent_state import MOST_QUERIES
from ragscience.agent.answer_drafts import searched
from ragscience.agent.query_planning import SubQuery, home_papers
from ragscience.agent.token_budget import Spending
from ragscience.errors import RagScienceError
from ragscience.records import Found

__all__ = ["LookUp"]


class LookUp:
    """Searches within the run's limits, and counts them."""

    def __init__(self, context: AgentContext, spending: Spending) -> None:
        self._context = context
        self._spending = spending
        self._names: dict[str, Found | RagScienceError] = {}
        """What a search for a name alone found, or why it could not be made."""

    def home(self, name: str) -> tuple[str, ...]:
        """The papers that a name is at home in; none where it cannot be searched for, or was asked for too often."""
        if name not in self._names:
            if len(self._names) == MOST_QUERIES or not self._spending.may_go_on():
                return ()
            try:
                self._names[name] = self._search(name, ())
            except RagScienceError as problem:
                self._names[name] = problem
        known = self._names[name]
        return home_papers(known) if isinstance(known, Found) else ()

    def found_for(self, query: SubQuery) -> Found:
        """What the search finds for a sub-query. Raises what the search raises."""
        known = None if query.papers else self._names.get(query.text)
        if isinstance(known, RagScienceError):
            raise known
        return known or self._search(query.text, query.papers)

    def found_for_names(self) -> list[Found]:
        """What was found for names alone: all there is, where every sub-query fails."""
        return [known for known in self._names.values() if isinstance(known, Found)]

    def _search(self, text: str, papers: tuple[str, ...]) -> Found:
        self._spending.searches += 1
        return searched(self._context, text, papers)
