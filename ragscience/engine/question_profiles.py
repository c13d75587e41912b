"""How one question is searched: its profile, and how many passages come of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragscience.core.records import Profile
from ragscience.core.settings import Settings
from ragscience.search.profiles import profile_named, read_by_llm, with_graph

__all__ = ["DECIDING_WHERE_SET", "QuestionProfiles"]

DECIDING_WHERE_SET = frozenset({"top_k", "answer_passages"})
"""Settings whose default, set by somebody, is not the same as no value: what somebody set wins."""


@dataclass(frozen=True, slots=True)
class QuestionProfiles:
    """The profiles of a question, by its settings and the number of passages that it asks for.

    What somebody set wins: the number of the request, else `answer_passages` for an answer, else `top_k`. Where nobody
    set any, a search gives the profile's own number, and an answer is made from that, or from the default of
    `answer_passages` where that is more.
    """

    settings: Settings
    requested: int | None = None
    """Passages that the request asks for; None: as the settings say."""

    @property
    def wanted(self) -> int | None:
        """How many passages of a search somebody asked for; None: nobody did."""
        return self.requested or self.settings.chosen("top_k")

    @property
    def wanted_for_answer(self) -> int | None:
        """How many passages of an answer somebody asked for; None: nobody did."""
        return self.requested or self.settings.chosen("answer_passages") or self.wanted

    @property
    def named(self) -> Profile:
        """The profile of the settings."""
        return self._with_graph(self.called(self.settings.profile, self.wanted))

    def of_search(self, *, by_llm: bool) -> Profile:
        """How a search is made; `by_llm`: a language model reranks."""
        return read_by_llm(self.named, wanted=self.wanted) if by_llm else self.named

    def of_answer(self, *, by_llm: bool) -> Profile:
        """The same search, with as many passages as an answer is made from."""
        wanted = self.wanted_for_answer
        profile = self._with_graph(self.called(self.settings.profile, wanted))
        return read_by_llm(profile, wanted=wanted) if by_llm else self._enough(profile)

    def of_sub_query(self, name: str) -> Profile:
        """The profile `name`, without the graph, with as many passages as an answer is made from."""
        return self._enough(self.called(name, self.wanted_for_answer))

    def called(self, name: str, wanted: int | None) -> Profile:
        """The profile `name` with the numbers of the settings, and `wanted` passages; None: its own number."""
        settings = self.settings
        return profile_named(
            name,
            candidates=settings.top_k_candidates,
            top_k=settings.top_k,
            dense_weight=settings.dense_weight,
            bm25_weight=settings.bm25_weight,
            wanted=wanted,
        )

    def _enough(self, profile: Profile) -> Profile:
        if self.wanted_for_answer is not None:
            return profile
        return replace(profile, top_k=max(profile.top_k, self.settings.answer_passages))

    def _with_graph(self, profile: Profile) -> Profile:
        return with_graph(profile) if self.settings.graph == "on" else profile
