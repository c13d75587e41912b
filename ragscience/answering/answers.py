"""A question goes in, an answer comes out whose every sentence points at a page: worded by an LLM, or quoted."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ragscience.answering.answerable import is_answerable
from ragscience.answering.citations import check_citations
from ragscience.answering.extractive import extract, quoted
from ragscience.answering.followups import standalone
from ragscience.answering.prompts import REFUSAL
from ragscience.records import Answer, Citation, Found, Turn

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from ragscience.answering.chain import Generated
    from ragscience.models.protocols import Embedder

__all__ = ["REFUSAL", "ChatLLM", "Searcher", "answer"]

Searcher = Callable[[str], Found]


class ChatLLM(Protocol):
    """A chat model that LangChain can drive."""

    @property
    def name(self) -> str:
        """With its tag: "llama3.1:8b"."""

    @property
    def chat_model(self) -> BaseChatModel:
        """The LangChain chat model itself."""


def answer(
    question: str,
    *,
    history: Sequence[Turn],
    search: Searcher,
    llm: ChatLLM | None,
    embedder: Embedder | None,
    models: Mapping[str, str | None],
    on_token: Callable[[str], None] | None,
    extractive_sentences: int,
    min_relevance: float,
) -> Answer:
    """Answer from what `search` finds, by `llm`, or without one in at most `extractive_sentences` quotes.

    With history the question is first rewritten so that it stands alone, by the LLM, or by taking the last turn along:
    `found.question` is what was searched.
    `on_token` gets the text piece by piece, as the LLM sends it and before its citations are checked; what has no
    stream (quotes, a refusal) comes in one piece. The answer's own text is the one that counts. An LLM that fails
    costs a notice: what it said so far is kept and marked, and quotes follow. `models` are the identities of what was
    used; `llm` becomes None where none worded the answer. The search's notices stay in `found`. What `search` and
    `on_token` raise is raised.
    """
    run = _Run(question, search, embedder, models, on_token, extractive_sentences, min_relevance)
    return run.by_quotes(standalone(question, history)) if llm is None else run.by_llm(llm, history)


class _Run:
    """One question on its way to its answer."""

    def __init__(
        self,
        question: str,
        search: Searcher,
        embedder: Embedder | None,
        models: Mapping[str, str | None],
        on_token: Callable[[str], None] | None,
        extractive_sentences: int,
        min_relevance: float,
    ) -> None:
        self._question = question
        self._search = search
        self._embedder = embedder
        self._models = models
        self._on_token = on_token
        self._limit = extractive_sentences
        self._min_relevance = min_relevance
        self._started = time.perf_counter()
        self._timings: dict[str, float] = {}

    def by_quotes(self, whole_question: str) -> Answer:
        found = self._searched(whole_question)
        if not self._is_answerable(found, whole_question):
            return self._refusal(found, used_llm=False)
        return self._quotes(found, said="", notices=())

    def by_llm(self, llm: ChatLLM, history: Sequence[Turn]) -> Answer:
        from ragscience.answering.chain import generate

        asked = time.perf_counter()
        generated = generate(
            self._question,
            history=history,
            search=self._searched,
            is_answerable=self._is_answerable,
            chat_model=llm.chat_model,
            on_token=self._on_token,
        )
        self._timings["llm_ms"] = _since(asked) - self._timings.get("search_ms", 0.0)
        if generated.first_token_ms is not None:
            self._timings["first_token_ms"] = generated.first_token_ms
        found = generated.found or self._searched(self._question)
        if not generated.answerable or (generated.found is None and not self._is_answerable(found, self._question)):
            return self._refusal(found, used_llm=False)
        if generated.failure is not None or not generated.text.strip():
            return self._instead(llm.name, generated, found)
        return self._checked(generated.text, found)

    def _checked(self, text: str, found: Found) -> Answer:
        checked = check_citations(text, found.hits)
        if REFUSAL.casefold() in checked.text.casefold() and not checked.citations:
            return self._refusal(found, used_llm=True, streamed=True)
        return self._answer(
            checked.text,
            "llm",
            found,
            citations=checked.citations,
            notices=_citation_notices(checked.citations, checked.unknown),
        )

    def _instead(self, name: str, generated: Generated, found: Found) -> Answer:
        """Quotes, after what the LLM said before it failed."""
        why = str(generated.failure) if generated.failure else f"{name} gave an empty answer."
        said = generated.text.strip()
        if not said:
            return self._quotes(found, said="", notices=(f"{why} These are quotes instead.",))
        return self._quotes(found, said=said, notices=(f"{why} The answer broke off; quotes follow it.",))

    def _quotes(self, found: Found, *, said: str, notices: tuple[str, ...]) -> Answer:
        started = time.perf_counter()
        units, more = extract(found.question, found.hits, embedder=self._embedder, limit=self._limit)
        text, citations = quoted(units)
        self._timings["quotes_ms"] = _since(started)
        if not said:
            self._tell(text)
            return self._answer(text, "extractive", found, citations=citations, notices=(*notices, *more))
        checked = check_citations(said, found.hits)
        mark = " […]\n\n[The model broke off here. Quotes from the passages:]\n\n"
        self._tell(mark + text)
        return self._answer(
            checked.text + mark + text,
            "llm",
            found,
            citations=tuple(dict.fromkeys((*checked.citations, *citations))),
            notices=(*notices, *more, *_citation_notices(checked.citations, checked.unknown, broken_off=True)),
        )

    def _refusal(self, found: Found, *, used_llm: bool, streamed: bool = False) -> Answer:
        if not streamed:
            self._tell(REFUSAL)
        return self._answer(REFUSAL, "llm" if used_llm else "extractive", found, refused=True)

    def _answer(
        self,
        text: str,
        mode: str,
        found: Found,
        *,
        citations: tuple[Citation, ...] = (),
        notices: tuple[str, ...] = (),
        refused: bool = False,
    ) -> Answer:
        return Answer(
            answer_id=uuid.uuid4().hex[:12],
            question=self._question,
            text=text,
            mode=mode,
            refused=refused,
            citations=citations,
            found=found,
            models=dict(self._models) if mode == "llm" else {**self._models, "llm": None},
            notices=notices,
            timings_ms={**self._timings, "total_ms": _since(self._started)},
        )

    def _searched(self, question: str) -> Found:
        started = time.perf_counter()
        found = self._search(question)
        self._timings["search_ms"] = self._timings.get("search_ms", 0.0) + _since(started)
        return found

    def _is_answerable(self, found: Found, question: str) -> bool:
        return is_answerable(found, question, min_relevance=self._min_relevance)[0]

    def _tell(self, text: str) -> None:
        if self._on_token is not None:
            self._on_token(text)


def _citation_notices(citations: Sequence[Citation], unknown: int, *, broken_off: bool = False) -> tuple[str, ...]:
    notices = []
    if unknown:
        which = "1 citation was" if unknown == 1 else f"{unknown} citations were"
        notices.append(f"{which} taken out: no passage that was given is from there.")
    unsupported = sum(not citation.supported for citation in citations)
    if unsupported:
        notices.append(f"{unsupported} of {len(citations)} citations: the page does not clearly say it. Read it there.")
    if not citations and not broken_off:
        notices.append("The answer cites no page: nothing in it could be checked.")
    return tuple(notices)


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
