"""The settings become a library, models and searches: each made once, when it is first needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.engine.filter_words import described
from ragscience.records import Answer, Filters, Found, Profile, Step, Turn
from ragscience.retrieval import SearchModels, profile_named, read_by_llm, search, with_graph
from ragscience.stage_timing import Timings, timed
from ragscience.store import Home, Library
from ragscience.terminal.cli import say

if TYPE_CHECKING:
    from ragscience.answering.answer_context import AnswerContext
    from ragscience.answering.circuit_breaker import Circuit
    from ragscience.answering.prompts import Prompts
    from ragscience.graph.graph_search import GraphSearch
    from ragscience.models.llm_reranker import LLMReranker
    from ragscience.models.model_protocols import Embedder, Reranker, TokenEmbedder
    from ragscience.models.ollama_embedder import OllamaLLM
    from ragscience.settings import Settings
    from ragscience.telemetry import Telemetry

__all__ = ["Session"]

LATE_INTERACTION = "late interaction"


class Session:
    """One run of query.py over one home: the library open for reading, and the models, loaded on first use."""

    def __init__(self, settings: Settings, *, quiet: bool, wanted: int | None) -> None:
        self.settings = settings
        self.home = Home(settings.home)
        self.warnings: list[str] = []
        """What was said so far, for the JSON."""
        self._quiet = quiet
        self._wanted = wanted
        self.on_search: Callable[[], None] | None = None
        """Told of each search."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if "library" in self.__dict__:
                self.library.close()
        finally:
            if "telemetry" in self.__dict__:
                self.telemetry.close()

    def warning(self, text: str) -> None:
        """Say it once on stderr, unless quiet, and keep it for the JSON."""
        if text and text not in self.warnings:
            self.warnings.append(text)
            if not self._quiet:
                say(text)

    @cached_property
    def telemetry(self) -> Telemetry:
        """Who is told of each question; nobody, where nothing asks for it."""
        from ragscience.terminal.telling import telemetry_of

        return telemetry_of(self)

    @cached_property
    def library(self) -> Library:
        """The library, for reading."""
        library = Library.open(self.home)
        if not library.chunk_count:
            self.warning("The library is empty: put PDFs into papers/ and run `python ingest.py`.")
        return library

    @cached_property
    def profile(self) -> Profile:
        """How this run searches."""
        return read_by_llm(self._named_profile, wanted=self._wanted) if self.llm_reranker else self._named_profile

    @cached_property
    def _named_profile(self) -> Profile:
        settings = self.settings
        named = profile_named(
            settings.profile,
            candidates=settings.top_k_candidates,
            top_k=settings.top_k,
            dense_weight=settings.dense_weight,
            bm25_weight=settings.bm25_weight,
            wanted=self._wanted,
        )
        return with_graph(named) if settings.graph == "on" else named

    @cached_property
    def graph(self) -> GraphSearch | None:
        """The knowledge graph as a search asks it; None where nobody does, or there is none."""
        settings = self.settings
        wanted = settings.graph == "on" or settings.graph_filter
        if not (wanted or (settings.graph == "auto" and self._named_profile.more_weights)):
            return None
        from ragscience.terminal.graph_search import graph_search_of

        return graph_search_of(self, is_asked_for=wanted)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder that the library was made with."""
        from ragscience.terminal.models_of import embedder_of

        return embedder_of(self.settings, self.library.embedder, self._say_choice)

    @cached_property
    def tokens_from(self) -> TokenEmbedder | None:
        """What makes a question's token vectors for late interaction, or None where it is off or nothing is stored."""
        if not self.profile.rerank_depth:
            return None
        from ragscience.terminal.models_of import tokens_at_query

        return tokens_at_query(self.settings, self.embedder, self.library, self.warning)

    @cached_property
    def llm_reranker(self) -> LLMReranker | None:
        """The LLM that scores the passages, where the settings or the profile ask for it."""
        from ragscience.terminal.models_of import llm_reranker_of

        return llm_reranker_of(self.settings, self._named_profile, self.warning)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The LLM where it scores the passages, the cross-encoder, or None without one."""
        if self.llm_reranker is not None:
            return self.llm_reranker
        if not self.profile.rerank_depth:
            return None
        from ragscience.terminal.models_of import reranker_of

        return reranker_of(self.settings, self.warning, late=self.tokens_from is not None)

    @property
    def reranker_name(self) -> str | None:
        """What put the passages in their final order."""
        if self.reranker is not None:
            return self.reranker.name
        return LATE_INTERACTION if self.tokens_from is not None else None

    @property
    def quiet(self) -> bool:
        """Whether nothing is said on stderr but errors."""
        return self._quiet

    @property
    def wanted(self) -> int | None:
        """How many passages were asked for, where that was said."""
        return self._wanted

    @property
    def scorer(self) -> Reranker | None:
        """What helps the check of citations, where there is one."""
        return self.reranker if self.library.chunk_count and not self.llm_reranker else None

    @property
    def models_used(self) -> dict[str, str | None]:
        """As `Answer.models`."""
        embedder = self.library.embedder
        return {
            "embedder": embedder.model if embedder else None,
            "reranker": self.reranker_name if self.library.chunk_count else None,
            "llm": self.llm.name if self.llm else None,
        }

    @cached_property
    def llm(self) -> OllamaLLM | None:
        """The chat model, or None for extractive answers."""
        from ragscience.terminal.models_of import llm_of

        return llm_of(self.settings, self._say_choice)

    @cached_property
    def prompts(self) -> Prompts:
        """What the LLM is told."""
        from ragscience.answering.prompts import Prompts

        settings = self.settings
        return Prompts.chosen(
            rules=settings.answer_rules, request=settings.answer_request, condense=settings.condense_prompt
        )

    @cached_property
    def circuit(self) -> Circuit:
        """Keeps a run of many questions from waiting for an LLM that fails each time."""
        from ragscience.answering.circuit_breaker import Circuit

        settings = self.settings
        return Circuit(failures=settings.llm_failures, pause_seconds=settings.llm_pause_seconds, clock=time.monotonic)

    @property
    def answer_context(self) -> AnswerContext:
        """The models and limits of an answer."""
        from ragscience.answering.answer_context import AnswerContext

        settings = self.settings
        return AnswerContext(
            llm=self.llm,
            embedder=self.embedder if self.library.chunk_count else None,
            scorer=self.scorer,
            models=self.models_used,
            prompts=self.prompts,
            circuit=self.circuit,
            answer_seconds=settings.answer_seconds,
            extractive_sentences=settings.extractive_sentences,
            answerable_threshold=settings.answerable_threshold,
        )

    @cached_property
    def answer_profile(self) -> Profile:
        """The same search, with as many passages as an answer is made from."""
        if self._wanted is not None or self.llm_reranker is not None:
            return self.profile
        return replace(self.profile, top_k=max(self.profile.top_k, self.settings.answer_passages))

    def search(
        self, question: str, filters: Filters, also: Sequence[int] = (), profile: Profile | None = None
    ) -> Found:
        """The passages that the filters allow, best first; those of `also` (ids) are candidates too."""
        profile = profile or self.profile
        if self.on_search is not None:
            self.on_search()
        if not self.library.chunk_count:
            return Found(question, profile.name, ())
        graph, kept_to = self.graph, filters
        if graph is not None and self.settings.graph_filter:
            from ragscience.terminal.graph_search import papers_of

            kept_to = papers_of(graph, question, filters, self.library, self.warning)
        found = search(
            question,
            library=self.library,
            models=SearchModels(
                self.embedder,
                self.tokens_from,
                self.reranker,
                None if self.llm_reranker else self.settings.rerank_budget_ms or None,
                graph.sources if graph is not None else {},
            ),
            profile=profile,
            filters=kept_to,
            also=also,
        )
        if graph is not None:
            from ragscience.terminal.graph_search import with_paths

            found = with_paths(found, graph, self.library, profile)
        if not found.hits and filters != Filters():
            self.warning(f"No passage fits the filters: {described(filters)}.")
        return found

    def answer(
        self,
        question: str,
        *,
        history: Sequence[Turn],
        filters: Filters,
        on_token: Callable[[str], None] | None = None,
        strict: bool = False,
        corrective: bool | None = None,
    ) -> Answer:
        """The answer, worded by the LLM or quoted, with the place of each quote on its page.

        With `corrective` what was found gets a second look first; None: as the settings or the profile say.
        """
        from ragscience.answering.answer_context import AnswerRequest
        from ragscience.answering.answers import answer
        from ragscience.answering.query_rewriting import evidence_again
        from ragscience.engine.quote_location import placed
        from ragscience.terminal.telling import after_first_search

        library, llm = self.library, self.llm
        if self.graph is not None:
            self.graph.llm = llm if self.circuit.allows() else None
        first: dict[str, Found] = {}
        first_times = Timings()
        if llm is not None and not history:
            from ragscience.answering.chain import import_langchain

            imports = Thread(target=import_langchain)
            imports.start()
            try:
                with timed(first_times, "search_ms"):
                    first[question] = self.search(question, filters, profile=self.answer_profile)
            finally:
                imports.join()

        def find(text: str) -> Found:
            if text in first:
                return first[text]
            return self.search(text, filters, evidence_again(question, history), profile=self.answer_profile)

        given = answer(
            AnswerRequest(question, tuple(history), strict),
            self.answer_context,
            search=self._with_second_look(find) if self._is_corrective(corrective) else find,
            on_token=on_token,
        )
        return after_first_search(placed(given, library), first_times)

    def _is_corrective(self, wanted: bool | None) -> bool:
        if wanted is not None:
            return wanted
        setting = self.settings.corrective
        return self.profile.corrective if setting == "auto" else setting == "on"

    def _with_second_look(self, find: Callable[[str], Found]) -> Callable[[str], Found]:
        """The search of one answer, which judges what it finds and searches again in other words where it is doubtful.

        As many passages as were asked for are never passed; without a number, a second search may add some.
        """
        from ragscience.agent.corrective import EXTRA_PASSAGES, Corrective, CorrectiveContext

        titles: dict[str, str] = {}

        def title_of(file: str) -> str:
            titles.update({} if titles else {paper.file: paper.title for paper in self.library.papers()})
            return titles.get(file, "")

        context = CorrectiveContext(
            find,
            llm=self.llm if self.circuit.allows() else None,
            title_of=title_of,
            most_passages=self._wanted or self.answer_profile.top_k + EXTRA_PASSAGES,
            seconds=self.settings.answer_seconds,
        )
        return Corrective(context, on_failure=self.circuit.failed)

    def answer_by_agent(
        self,
        question: str,
        *,
        history: Sequence[Turn],
        filters: Filters,
        on_token: Callable[[str], None] | None = None,
        strict: bool = False,
        on_step: Callable[[Step], None] | None = None,
    ) -> Answer:
        """The answer by the agentic loop, with its trace; `on_step` is told each step when it is done."""
        from ragscience.terminal.agent_run import agent_answer

        return agent_answer(
            self, question, history=history, filters=filters, strict=strict, on_token=on_token, on_step=on_step
        )

    def _say_choice(self, text: str) -> None:
        """One line about what was chosen; it is no warning, for nothing is missing."""
        if not self._quiet:
            say(text)
