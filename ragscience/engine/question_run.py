"""One question on its way through the engine: the settings it runs under, what it calls, and its own warnings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from threading import Event as Flag
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ragscience.ask.conversation import TurnReading, understand
from ragscience.ask.generation import ThoughtFilter
from ragscience.core.errors import Cancelled, ModelProblem
from ragscience.core.records import Profile, Step
from ragscience.core.settings import changed_settings
from ragscience.engine.events import ModelAsked, OnEvent, StepDone, Thinking, Token, TokensCounted, Warned, unheard
from ragscience.engine.requests import SEARCHED_CHARS, SearchRequest, check_question, shortened
from ragscience.models.model_http import cancellable
from ragscience.models.model_protocols import TokenEmbedder
from ragscience.search.names import PaperNames
from ragscience.search.profiles import profile_of
from ragscience.search.reranking import WordPresence

if TYPE_CHECKING:
    from ragscience.ask.answer_context import AnswerContext
    from ragscience.engine.shared_parts import SharedParts
    from ragscience.graph.graph_search import GraphSearch
    from ragscience.models.llm_reranker import LLMReranker
    from ragscience.models.model_protocols import ChatModel, Embedder, Reply, Reranker
    from ragscience.models.served_llm import ServedLLM


LATE_INTERACTION = "late interaction"
ANSWERABLE = 0.12
"""Least probability that the passages answer a question that names no paper; below it the answer is refused."""
STEPS_FROM = 1e9
"""Parameters from which a model also plans, grades and judges; a smaller one only writes the answer."""


class QuestionRun:
    """What one request needs, made when it is first needed; belongs to one thread."""

    def __init__(
        self,
        shared: SharedParts,
        request: SearchRequest,
        *,
        on_event: OnEvent = unheard,
        cancel: Flag | None = None,
        person: str = "",
    ) -> None:
        """`cancel`, once set, ends the work with `Cancelled`; `person` is who asks, empty for the library's own user.

        Raises UsageError for settings that cannot be.
        """
        self.shared = shared
        self.request = request
        self.person = person
        changes = request.overrides()
        self.settings = changed_settings(shared.settings, changes) if changes else shared.settings
        self.question = check_question(request.question)
        self.library = shared.library
        self.warnings: list[str] = []
        self.publish = on_event
        """Passes an event on."""
        self._cancel = cancel
        if not self.library.about.chunks:
            self.warn("The library is empty: put PDFs into papers/ and run `python ingest.py`.")

    def warn(self, text: str) -> None:
        """Keep a warning for the result and pass it on, once."""
        if text and text not in self.warnings:
            self.warnings.append(text)
            self.publish(Warned(text))

    def all_warnings(self) -> list[str]:
        """The warnings so far, with those that the models in use have given since they were loaded."""
        for text in self.library.damage():
            self.warn(text)
        return self.warnings

    def cancelled(self) -> bool:
        """Whether the caller has given up."""
        return self._cancel is not None and self._cancel.is_set()

    def announced(self, llm: ServedLLM) -> ChatModel:
        """The model as a question calls it: each call is an event, and a reply ends when the question is cancelled."""
        return cast("ChatModel", AnnouncedLLM(llm, self.publish, self.cancelled))

    def on_token(self, text: str) -> None:
        """Pass on a piece of the answer."""
        self.stop_if_cancelled()
        self.publish(Token(text))

    def on_step(self, step: Step) -> None:
        """Pass on a step of the agent."""
        self.stop_if_cancelled()
        self.publish(StepDone(step))

    def stop_if_cancelled(self) -> None:
        """Raise Cancelled where the caller has given up."""
        if self.cancelled():
            raise Cancelled

    @cached_property
    def spelled(self) -> str:
        """The question with words that no passage has corrected to the library's own, each with a warning."""
        if not self.library.about.chunks:
            return self.question
        from ragscience.search.question_words import corrected

        question, corrections = corrected(self.question, self.library)
        for each in corrections:
            self.warn(each.note)
        return question

    @cached_property
    def readings(self) -> tuple[TurnReading, ...]:
        """What the question asks after the turns before it."""
        asked = shortened(self.spelled)
        if asked != self.spelled:
            self.warn(f"Of the question the first and the last {SEARCHED_CHARS // 2:,} characters are searched for.")
        if not self.library.about.chunks:
            return (TurnReading(asked),)
        return understand(asked, self.request.history, PaperNames.of(self.library), self.request.focus)

    def read_question(self, question: str) -> NDArray[np.float32]:
        """[dimension] of a question by the embedded model; empty where that is not installed."""
        own = self.embedder
        embedder = own if isinstance(own, TokenEmbedder) else self.shared.models.minilm(self.settings)
        try:
            return embedder.questions([question])[0].vector
        except ModelProblem:
            return np.empty(0, np.float32)

    # Profiles

    @cached_property
    def named_profile(self) -> Profile:
        """The profile of the settings, whoever reranks."""
        return profile_of(self.settings, self.request.top_k)

    @cached_property
    def profile(self) -> Profile:
        """How it is searched."""
        return profile_of(self.settings, self.request.top_k, by_llm=self.llm_reranker is not None)

    @cached_property
    def answer_profile(self) -> Profile:
        """How it is searched for an answer, which is made of more passages."""
        by_llm = self.llm_reranker is not None
        return profile_of(self.settings, self.request.top_k, for_answer=True, by_llm=by_llm)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder that the library was made with; its calls raise ModelProblem where it is not there."""
        return self.shared.models.query_embedder(self.settings, self.library.about.embedder)

    @cached_property
    def tokens_from(self) -> TokenEmbedder | None:
        """What makes a question's token vectors for late interaction, or None where it is off or nothing is stored."""
        if not self.profile.rerank_depth or self.profile.name == "guide":
            return None
        return self.shared.models.query_tokens(self.settings, self.embedder, self.library)

    @cached_property
    def llm_reranker(self) -> LLMReranker | None:
        """The language model that scores the passages, where the settings or the profile ask for it."""
        return self.shared.models.llm_reranker(self.settings, self.named_profile, self.warn, self.announced)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The language model where it scores the passages, the cross-encoder, or None without one."""
        if self.llm_reranker is not None:
            return self.llm_reranker
        if not self.profile.rerank_depth:
            return None
        if self.profile.name == "guide":  # which says itself that there is none
            return self.shared.models.reranker_choice(self.settings, self.warn, late=False).model
        return self.shared.models.reranker(self.settings, self.warn, late=self.tokens_from is not None)

    @property
    def reranker_name(self) -> str | None:
        """What put the passages in their final order."""
        if self.reranker is not None:
            return self.reranker.name
        return LATE_INTERACTION if self.tokens_from is not None else None

    @property
    def models_of_search(self) -> dict[str, str | None]:
        """As `Answer.models`, without the language model, which is not looked for."""
        embedder = self.library.about.embedder
        return {
            "embedder": embedder.model if embedder else None,
            "reranker": self.reranker_name if self.library.about.chunks else None,
        }

    @property
    def models_used(self) -> dict[str, str | None]:
        """As `Answer.models`."""
        return {**self.models_of_search, "llm": self.llm.name if self.llm else None}

    @cached_property
    def llm(self) -> ServedLLM | None:
        """The chat model, or None for extractive answers."""
        return self.shared.models.llm(self.settings)

    @cached_property
    def step_llm(self) -> ServedLLM | None:
        """The chat model for steps besides the answer's words; None without one, or where it is known to be small."""
        llm = self.llm
        is_small = llm is not None and (llm.details.parameters or STEPS_FROM) < STEPS_FROM
        return None if is_small else llm

    @cached_property
    def answer_context(self) -> AnswerContext:
        """The models and limits of an answer."""
        from ragscience.ask.answer_context import AnswerContext
        from ragscience.ask.extractive import Readers

        settings = self.settings
        return AnswerContext(
            llm=self.announced(self.llm) if self.llm else None,
            readers=Readers(
                self.shared.models.matcher(settings, self.embedder, self.library),
                self.shared.models.span_reader(settings),
            ),
            split=self._split,
            models=self.models_used,
            circuit=self.shared.circuit,
            answer_seconds=settings.answer_seconds,
            answerable_threshold=ANSWERABLE,
            needs_llm=settings.answerer in ("llm", "ollama"),
            presence=WordPresence(self.library) if self.library.about.chunks else None,
            names=PaperNames.of(self.library),
            cancelled=self.cancelled,
        )

    def _split(self, question: str, before: Sequence[str]) -> tuple[str, ...]:
        """As a `Splitter`; the question itself where the model for it fails, with a warning."""
        try:
            return self.shared.models.splitter(self.settings)(question, before)
        except ModelProblem as problem:
            self.warn(f"The question was not taken apart, because the model for it failed: {problem}")
            return (question,)

    @cached_property
    def graph(self) -> GraphSearch | None:
        """The knowledge graph for this search; None if it is off or does not exist."""
        settings = self.settings
        wanted = settings.graph == "on" or self.request.graph_filter
        if not (wanted or (settings.graph == "auto" and self.named_profile.more_weights)):
            return None
        graph, triples = self.shared.graph_and_vectors()
        if not len(graph):
            if wanted:
                self.warn("There is no knowledge graph yet: `python ingest.py graph` makes it.")
            return None
        from ragscience.graph.graph_search import GraphSearch

        passages, types = self.library.about.chunks, settings.graph_entity_types
        return GraphSearch(graph, embedder=self.embedder, passages=passages, types=types, triples=triples)


_PASSAGE = re.compile(r"<passage \d")


class AnnouncedLLM:
    """A chat model whose calls are events: `ModelAsked`, `Thinking` when its thoughts begin, `TokensCounted`.

    Each reply is read in a thread of its own, for a model may be silent for long: it raises Cancelled within a second
    of the question's cancellation, and closes the connection, so that the server stops, too.
    """

    def __init__(self, llm: ChatModel, publish: OnEvent, cancelled: Callable[[], bool]) -> None:
        self._llm, self._publish, self._cancelled = llm, publish, cancelled

    def __getattr__(self, name: str) -> Any:
        return getattr(self._llm, name)

    def reply(self, messages: Sequence[tuple[str, str]], **how: Any) -> Reply:
        """The model's."""
        passages = sum(len(_PASSAGE.findall(text)) for role, text in messages if role == "user")
        self._publish(ModelAsked(self._llm.name, passages))
        return cast("Reply", _AnnouncedReply(self._llm.reply(messages, **how), self))


class _AnnouncedReply:
    """A reply; its counts are there when it has ended."""

    def __init__(self, reply: Reply, llm: AnnouncedLLM) -> None:
        self._reply, self._llm = reply, llm

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reply, name)

    def __iter__(self) -> Iterator[str]:
        thoughts, was_thinking, llm, reply = ThoughtFilter(), False, self._llm, self._reply
        pieces = cancellable(iter(reply), llm._cancelled)
        try:
            for piece in pieces:
                thoughts.feed(piece)
                if thoughts.is_thinking and not was_thinking:
                    llm._publish(Thinking(llm.name))
                was_thinking = thoughts.is_thinking
                yield piece
        finally:
            pieces.close()
            llm._publish(TokensCounted((reply.prompt_tokens or 0) + (reply.answer_tokens or 0)))
