"""A question goes in, an answer comes out whose every sentence points at a page: worded by an LLM, or quoted."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.answering.answerability import is_answerable
from ragscience.answering.circuit_breaker import Circuit
from ragscience.answering.extractive import extract_parts, lead_line, quoted
from ragscience.answering.generation import ChatLLM
from ragscience.answering.prompts import NOT_FOUND, REFUSAL, Prompts, prompt_name
from ragscience.answering.query_rewriting import standalone
from ragscience.answering.replies import worded
from ragscience.checking.check import Checked, check
from ragscience.records import Answer, Citation, Found, Hit, Sentence, Stage, Turn
from ragscience.stage_timing import Timings, timed

if TYPE_CHECKING:
    from ragscience.answering.chain import Generated
    from ragscience.models.model_protocols import Embedder, Reranker

__all__ = ["REFUSAL", "UNCITED", "ChatLLM", "Searcher", "answer"]

Searcher = Callable[[str], Found]

UNCITED = "The answer cites no page: nothing in it could be checked."
BROKEN_OFF = " […]\n\n[The model broke off here. Quotes from the passages:]\n\n"
"""Between what an LLM said before it failed, and the quotes that follow."""


def answer(
    question: str,
    *,
    history: Sequence[Turn],
    search: Searcher,
    llm: ChatLLM | None,
    embedder: Embedder | None,
    scorer: Reranker | None,
    models: Mapping[str, str | None],
    on_token: Callable[[str], None] | None,
    prompts: Prompts,
    circuit: Circuit,
    answer_seconds: float,
    extractive_sentences: int,
    answerable_threshold: float,
    strict: bool,
) -> Answer:
    """Answer from what `search` finds, by `llm`, or without one in at most `extractive_sentences` quotes.

    With history the question is first rewritten so that it stands alone, by the LLM, or by taking the last turn along:
    `found.question` is what was searched.
    `on_token` gets the text piece by piece, as the LLM sends it and before its citations are checked; what has no
    stream (quotes, a refusal) comes in one piece. The answer's own text is the one that counts. `scorer` helps the
    check of the citations, where there is one. An LLM that fails, or takes longer than `answer_seconds`, costs a
    notice: what it said so far is kept and marked, and quotes follow; while `circuit` is open it is not asked.
    `strict` refuses an answer no sentence of which the cited pages hold, and where the search's own second look says
    that what was found is wrong (`Found.verdict`). `models` are the identities of what was used;
    `llm` becomes None where none worded the answer. The search's notices stay in `found`. What `search` and `on_token`
    raise is raised.
    """
    how = _How(search, embedder, scorer, models, on_token, extractive_sentences, answerable_threshold, strict)
    run = _Run(question, history, how)
    if llm is None:
        return run.by_quotes(())
    if not circuit.allows():
        return run.by_quotes((f"{circuit.notice} These are quotes instead.",))
    return run.by_llm(llm, prompts, circuit, answer_seconds)


@dataclass(frozen=True, slots=True)
class _How:
    """What `answer` was given, as its arguments are called."""

    search: Searcher
    embedder: Embedder | None
    scorer: Reranker | None
    models: Mapping[str, str | None]
    on_token: Callable[[str], None] | None
    extractive_sentences: int
    answerable_threshold: float
    strict: bool


class _Run:
    """One question on its way to its answer."""

    def __init__(self, question: str, history: Sequence[Turn], how: _How) -> None:
        self._question = question
        self._history = history
        self._how = how
        self._began, self._started = time.time(), time.perf_counter()
        self._timings = Timings()
        self._answerability: float | None = None
        self._tokens: Mapping[str, int] = {}
        self._prompt_cut = False

    def by_quotes(self, notices: tuple[str, ...]) -> Answer:
        whole_question = standalone(self._question, self._history)
        found = self._searched(whole_question)
        if not self._is_answerable(found, whole_question):
            return self._refusal(found, used_llm=False, notices=notices)
        return self._quotes(found, said="", notices=notices)

    def by_llm(self, llm: ChatLLM, prompts: Prompts, circuit: Circuit, answer_seconds: float) -> Answer:
        from ragscience.answering.chain import generate

        asked = time.perf_counter()
        generated = generate(
            self._question,
            history=self._history,
            search=self._searched,
            is_answerable=self._is_answerable,
            llm=llm,
            prompts=prompts,
            on_token=self._how.on_token,
            answer_seconds=answer_seconds,
        )
        # It searches in between; what is left stands at its end, where most of it was.
        llm_ms = round(max(0.0, _since(asked) - self._timings.get("search_ms", 0.0)), 3)
        self._timings.add("llm_ms", llm_ms, time.time() - llm_ms / 1000)
        if generated.first_token_ms is not None:
            self._timings["first_token_ms"] = generated.first_token_ms
        self._tokens, self._prompt_cut = generated.tokens, generated.prompt_cut
        if generated.failure is None:
            circuit.succeeded()
        elif generated.asked:
            circuit.failed(str(generated.failure))
        if generated.found is None:
            why = f"{generated.failure} These are quotes instead."
            return self.by_quotes((why, *generated.notices))
        if not generated.answerable:
            return self._refusal(generated.found, used_llm=False)
        said = worded(generated.text)
        if generated.failure is not None or not said:
            return self._instead(llm.name, said, generated, generated.found)
        return self._checked(said, generated, generated.found)

    def _checked(self, said: str, generated: Generated, found: Found) -> Answer:
        checked = self._check(said, generated.given)
        if _refuses(checked):
            return self._refusal(found, used_llm=True, streamed=True, notices=generated.notices)
        if self._how.strict and not _holds(checked.sentences):
            why = "No sentence of the model's answer is held by the pages that were given, so --strict refuses it."
            return self._refusal(found, used_llm=True, streamed=True, notices=(why, *generated.notices))
        return self._answer(
            checked.text,
            "llm",
            found,
            citations=checked.citations,
            sentences=checked.sentences,
            notices=(*generated.notices, *_check_notices(checked)),
        )

    def _instead(self, name: str, said: str, generated: Generated, found: Found) -> Answer:
        """Quotes, after what the LLM said before it failed."""
        why = str(generated.failure) if generated.failure else f"{name} gave an empty answer."
        what = "The answer broke off; quotes follow it." if said else "These are quotes instead."
        return self._quotes(found, said=said, notices=(f"{why} {what}", *generated.notices), given=generated.given)

    def _quotes(self, found: Found, *, said: str, notices: tuple[str, ...], given: Sequence[Hit] = ()) -> Answer:
        with timed(self._timings, "quotes_ms"):
            units, more = extract_parts(found, embedder=self._how.embedder, limit=self._how.extractive_sentences)
            text, citations = quoted(units)
            quotes = check(text, found.hits, scorer=None)
            text = f"{lead_line(units)}\n\n{text}" if units else text
        if not said:
            self._tell(text)
            return self._answer(
                text, "extractive", found, citations=citations, sentences=quotes.sentences, notices=(*notices, *more)
            )
        checked = self._check(said, given)
        self._tell(BROKEN_OFF + text)
        return self._answer(
            checked.text + BROKEN_OFF + text,
            "llm",
            found,
            citations=tuple(dict.fromkeys((*checked.citations, *citations))),
            sentences=(*checked.sentences, *quotes.sentences),
            notices=(*notices, *more, *_check_notices(checked, broken_off=True)),
        )

    def _check(self, said: str, given: Sequence[Hit]) -> Checked:
        with timed(self._timings, "check_ms"):
            return check(_real_names(said, given), given, scorer=self._how.scorer)

    def _refusal(
        self, found: Found, *, used_llm: bool, streamed: bool = False, notices: tuple[str, ...] = ()
    ) -> Answer:
        if not streamed:
            self._tell(REFUSAL)
        return self._answer(REFUSAL, "llm" if used_llm else "extractive", found, refused=True, notices=notices)

    def _answer(
        self,
        text: str,
        mode: str,
        found: Found,
        *,
        citations: tuple[Citation, ...] = (),
        sentences: tuple[Sentence, ...] = (),
        notices: tuple[str, ...] = (),
        refused: bool = False,
    ) -> Answer:
        models, trace_id = self._how.models, uuid.uuid4().hex
        total_ms = _since(self._started)
        return Answer(
            answer_id=trace_id[:12],
            question=self._question,
            text=text,
            mode=mode,
            refused=refused,
            citations=citations,
            found=found,
            models=dict(models) if mode == "llm" else {**models, "llm": None},
            notices=notices,
            timings_ms={**self._timings, "total_ms": total_ms},
            sentences=sentences,
            answerability=self._answerability,
            prompt_cut=self._prompt_cut,
            tokens=self._tokens,
            trace_id=trace_id,
            stages=(*self._timings.stages, Stage("total", self._began, total_ms)),
        )

    def _searched(self, question: str) -> Found:
        with timed(self._timings, "search_ms"):
            return self._how.search(question)

    def _is_answerable(self, found: Found, question: str) -> bool:
        """Whether to answer from what was found; how likely it answers is kept."""
        answerable, self._answerability = is_answerable(found, question, threshold=self._how.answerable_threshold)
        return answerable and not (self._how.strict and found.verdict == "incorrect")

    def _tell(self, text: str) -> None:
        if self._how.on_token is not None:
            self._how.on_token(text)


def _refuses(checked: Checked) -> bool:
    """Whether the model says that the passages answer nothing."""
    if checked.citations:
        return False
    nothing = NOT_FOUND.casefold().removesuffix(" for")
    return REFUSAL.casefold() in checked.text.casefold() or all(
        sentence.text.casefold().startswith(nothing) for sentence in checked.sentences
    )


def _holds(sentences: Sequence[Sentence]) -> bool:
    """Whether the pages hold any of it, at least weakly."""
    return any(sentence.verdict in ("supported", "weak") for sentence in sentences)


def _real_names(text: str, given: Sequence[Hit]) -> str:
    """`text` with the names that the prompt had for files turned back into the files' own, where they differ."""
    files = {hit.chunk.file for hit in given}
    shown = [prompt_name(file) for file in files]
    for file in sorted(files, key=len, reverse=True):
        name = prompt_name(file)
        if name != file and name and shown.count(name) == 1:
            text = text.replace(name, file)
    return text


def _check_notices(checked: Checked, *, broken_off: bool = False) -> tuple[str, ...]:
    notices = list(checked.notices)
    if checked.unknown:
        which = "1 citation was" if checked.unknown == 1 else f"{checked.unknown} citations were"
        notices.append(f"{which} taken out: no passage that was given is from there.")
    if checked.corrected:
        which = "1 citation was" if checked.corrected == 1 else f"{checked.corrected} citations were"
        notices.append(f"{which} moved to the page of the same paper that says it.")
    unsupported = sum(not citation.supported for citation in checked.citations)
    if unsupported:
        of = len(checked.citations)
        notices.append(f"{unsupported} of {of} citations: the page does not clearly say it. Read it there.")
    if not checked.citations and not broken_off:
        notices.append(UNCITED)
    return tuple(notices)


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
