"""From a question to an answer whose every sentence cites a page: written by an LLM, or quoted."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ragscience.ask.answer_blocks import ROUTE, note, quoted, quotes_of, shown_text, side_by_side
from ragscience.ask.answer_context import AnswerContext, AnswerRequest, Searcher
from ragscience.ask.chain import Generated
from ragscience.ask.check import Checked, check
from ragscience.ask.confidence import LookedFor, answerability, confidence, look_for, probability, signs
from ragscience.ask.extractive import MOST_UNITS, Choice, ScoredUnit, extract, extract_parts
from ragscience.ask.generation import worded
from ragscience.ask.prompts import NOT_FOUND, REFUSAL
from ragscience.core.answer_records import Timings, timed
from ragscience.core.records import UNCITED, Answer, Block, Found, Hit, Stage
from ragscience.core.tokenizing import counted
from ragscience.models.model_protocols import ChatModel

__all__ = ["REFUSAL", "answer"]

_MOST_QUOTES = {"high": 5, "low": 3}
"""Quotes of an answer, by its confidence: what comes later hardly ever held the answer (docs/choices.md)."""
BROKEN_OFF = " […]"
"""Behind the unfinished text of an LLM."""


def answer(
    request: AnswerRequest, context: AnswerContext, *, search: Searcher, on_token: Callable[[str], None] | None = None
) -> Answer:
    """The answer from what `search` finds, by the context's LLM, or quotes without one.

    With history an LLM first rewrites the question to stand alone; `found.question` is what was searched for.
    `on_token` gets the text as it comes from the LLM, before its citations are checked; quotes and refusals come in one
    piece. The answer's own text is the one that counts. An LLM that fails or takes too long costs a warning: its text
    so far is kept and marked, and quotes follow. While the circuit breaker is open it is not called. In `Answer.models`
    the `llm` is None where no LLM wrote the answer. The search's warnings stay in `found`.

    Raises Cancelled, and what `search` and `on_token` raise.
    """
    run = _AnswerRun(request, context, search, on_token)
    if context.llm is None:
        return run.by_quotes(())
    if not context.circuit.allows() and not context.needs_llm:
        return run.by_quotes((f"{context.circuit.warning} Showing quotes instead.",))
    return run.by_llm(context.llm)


def worth(found: Found, context: AnswerContext) -> float:
    """How likely quotes from what was found hold the answer to its question, 0 to 1."""
    best = _best(found, context)
    return probability(signs(found, _looked_for(found, context), best)) if best else 0.0


def _looked_for(found: Found, context: AnswerContext) -> LookedFor:
    if context.presence is None or context.names is None:
        return LookedFor((), ())
    return look_for(found, context.presence, context.names)


def likely_answered(found: Found, context: AnswerContext) -> float:
    """How likely the papers answer the question, 0 to 1."""
    return answerability(found, _looked_for(found, context), _best(found, context))


def _best(found: Found, context: AnswerContext) -> ScoredUnit | None:
    return next(iter(extract_parts(found, readers=context.readers, limit=1).units), None)


FOR_LLM = 0.08
"""Below it a question is refused before a language model is asked, which can refuse by itself above it."""
_LIKELY = 0.4
"""Worth from which on a turn of a conversation is never refused."""


class _AnswerRun:
    """One question on its way to its answer."""

    def __init__(
        self, request: AnswerRequest, context: AnswerContext, search: Searcher, on_token: Callable[[str], None] | None
    ) -> None:
        self._request = request
        self._context = context
        self._search = search
        self._on_token = on_token
        self._began, self._started = time.time(), time.perf_counter()
        self._timings = Timings()
        self._least = context.answerable_threshold
        self._answerability: float | None = None
        self._looked: LookedFor | None = None
        self._choice = Choice(())
        self._tokens: Mapping[str, int] = {}
        self._prompt_cut = False

    def by_quotes(self, warnings: tuple[str, ...]) -> Answer:
        found, answerable = self._searched(self._request.question)
        return self._quotes(found, warnings) if answerable else self._refusal(found, warnings=warnings)

    def by_llm(self, llm: ChatModel) -> Answer:
        context, started = self._context, time.perf_counter()
        self._least = min(self._least, FOR_LLM)
        generated = Generated(self._request, context, llm, self._searched, self._on_token)
        generated.run()
        # The search runs in between; the rest is recorded at the end, where most of it was.
        llm_ms = round(max(0.0, _since(started) - sum(self._timings.values())), 3)
        self._timings.add("llm_ms", llm_ms, time.time() - llm_ms / 1000)
        if generated.reply.first_ms is not None:
            self._timings["first_token_ms"] = generated.reply.first_ms
        self._tokens, self._prompt_cut = generated.reply.tokens, generated.reply.prompt_cut
        if generated.failure is None:
            context.circuit.succeeded()
        elif generated.asked:
            context.circuit.failed(str(generated.failure))
        if generated.failure is not None and context.needs_llm:
            raise generated.failure
        if generated.found is None:
            return self.by_quotes((f"{generated.failure} Showing quotes instead.", *generated.warnings))
        if not generated.answerable:
            return self._refusal(generated.found)
        text = worded(generated.reply.text)
        if text:
            return self._checked_answer(text, generated, generated.found)
        why = str(generated.failure) if generated.failure else f"{llm.name} gave an empty answer."
        return self._quotes(generated.found, (f"{why} Showing quotes instead.", *generated.warnings))

    def _checked_answer(self, text: str, generated: Generated, found: Found) -> Answer:
        warnings, checked = generated.warnings, self._check(text, generated.given)
        if generated.failure is not None:
            self._show(BROKEN_OFF)
            checked = replace(checked, text=checked.text + BROKEN_OFF)
            warnings = (f"{generated.failure} The answer is incomplete; quotes follow it.", *warnings)
        blocks, *_ = self._chosen(found)
        if _refuses(checked):
            refusal = self._refusal(found, used_llm=True, warnings=warnings)
            return refusal if self._request.strict else replace(refusal, blocks=blocks)
        if self._request.strict and all(each.verdict not in ("supported", "weak") for each in checked.sentences):
            why = "No sentence of the model's answer is held by the pages that were given, so --strict refuses it."
            return self._refusal(found, used_llm=True, warnings=(why, *warnings))
        warnings = (*warnings, *self._choice.warnings, *_check_warnings(checked))
        return replace(self._answer(found, "llm", checked, warnings), blocks=blocks)

    def _chosen(self, found: Found) -> tuple[tuple[Block, ...], str | None, tuple[str, ...]]:
        """What is quoted of what was found, `Answer.confidence` and `Answer.missing`."""
        units, missing = self._choice.units, tuple[str, ...]()
        sure = None
        looked = self._looked
        if looked is not None and self._context.presence is not None and units:
            firsts = {unit.part: unit for unit in reversed(units)}.values()
            worst = min(firsts, key=lambda unit: probability(signs(found, looked, unit)))
            sure, missing = confidence(found, looked, worst)
        blocks = side_by_side(units) if found.parts else quoted(units[: _MOST_QUOTES.get(sure or "")])
        return (*blocks[:1], *self._second(found, blocks), *blocks[1:]), sure, missing

    def _second(self, found: Found, blocks: Sequence[Block]) -> tuple[Block, ...]:
        """The best quote for the next best reading, where its line is not shown already."""
        if found.second is None or not blocks or found.parts:
            return ()
        units = extract(found.second.question, found.second.hits, readers=self._context.readers, limit=1).units
        shown = " ".join(f"{block.line} {block.text}" for block in blocks if not block.is_brief)
        return tuple(replace(block, beside="") for block in quoted(units) if block.line not in shown)

    def _quotes(self, found: Found, warnings: tuple[str, ...]) -> Answer:
        blocks, sure, missing = self._chosen(found)
        quotes = quotes_of(blocks)
        if missing and blocks and not found.parts:
            blocks = (*blocks, Block("text", " ".join(missing)))
        text = shown_text(blocks)
        citations = tuple(dict.fromkeys(citation for block in blocks for citation in block.citations))
        self._show(text)
        checked = Checked(text, citations, quotes)
        answer = self._answer(found, "extractive", checked, (*warnings, *self._choice.warnings))
        if blocks:
            answer = replace(answer, blocks=blocks, confidence=sure, missing=missing)
        return replace(answer, route=ROUTE, route_note=note(found)) if found.parts else answer

    def _check(self, text: str, given: Sequence[Hit]) -> Checked:
        context = self._context
        with timed(self._timings, "check_ms"):
            return check(text, given, read=context.readers.spans, on_sentence=context.raise_if_cancelled, adds=True)

    def _refusal(self, found: Found, *, used_llm: bool = False, warnings: tuple[str, ...] = ()) -> Answer:
        if not used_llm:
            self._show(REFUSAL)
        return self._answer(found, "llm" if used_llm else "extractive", Checked(REFUSAL), warnings, refused=True)

    def _answer(
        self, found: Found, mode: str, checked: Checked, warnings: tuple[str, ...], *, refused: bool = False
    ) -> Answer:
        self._context.raise_if_cancelled()
        models, trace_id = self._context.models, uuid.uuid4().hex
        total_ms = _since(self._started)
        return Answer(
            answer_id=trace_id[:12],
            question=self._request.question,
            text=checked.text,
            mode=mode,
            refused=refused,
            citations=checked.citations,
            found=found,
            models=dict(models) if mode == "llm" else {**models, "llm": None},
            warnings=warnings,
            timings_ms={**self._timings, "total_ms": total_ms},
            sentences=checked.sentences,
            answerability=self._answerability,
            prompt_cut=self._prompt_cut,
            tokens=self._tokens,
            trace_id=trace_id,
            stages=(*self._timings.stages, Stage("total", self._began, total_ms)),
        )

    def _searched(self, question: str) -> tuple[Found, bool]:
        """What the search finds, and whether to answer from it."""
        self._context.raise_if_cancelled()
        with timed(self._timings, "search_ms"):
            found = self._search(question)
        self._context.raise_if_cancelled()
        with timed(self._timings, "presence_ms"):
            self._looked = _looked_for(found, self._context)
        with timed(self._timings, "quotes_ms"):
            self._choice = extract_parts(found, readers=self._context.readers, limit=MOST_UNITS)
        self._answerability = answerability(found, self._looked, next(iter(self._choice.units), None))
        is_likely = self._answerability >= self._least or found.signals.get("worth", 0.0) >= _LIKELY
        answerable = is_likely or self._looked.names_a_paper
        return found, answerable and not (self._request.strict and found.verdict == "incorrect")

    def _show(self, text: str) -> None:
        if self._on_token is not None:
            self._on_token(text)


def _refuses(checked: Checked) -> bool:
    """Whether the model says that the passages answer nothing."""
    if any(not citation.added for citation in checked.citations):
        return False
    nothing = NOT_FOUND.casefold().removesuffix(" for")
    return REFUSAL.casefold() in checked.text.casefold() or all(
        sentence.text.casefold().startswith(nothing) for sentence in checked.sentences
    )


def _check_warnings(checked: Checked) -> tuple[str, ...]:
    warnings = list(checked.warnings)
    if checked.unknown:
        warnings.append(f"{_cited(checked.unknown)} removed: the model was given no passage from there.")
    if checked.corrected:
        warnings.append(f"{_cited(checked.corrected)} moved to the page of the same paper that says it.")
    if added := sum(citation.added for citation in checked.citations):
        warnings.append(f"The model cited nothing: {_cited(added)} added by matching its sentences with the passages.")
    unsupported = sum(not citation.supported for citation in checked.citations)
    if unsupported:
        of = len(checked.citations)
        warnings.append(f"{unsupported} of {of} citations: the page does not clearly say it. Read it there.")
    if not checked.citations:
        warnings.append(UNCITED)
    return tuple(warnings)


def _cited(count: int) -> str:
    return f"{counted(count, 'citation')} {'was' if count == 1 else 'were'}"


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
