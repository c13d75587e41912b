"""A draft: the answer that the passages found so far give, by the same road as every answer.

Prompt and window, citation check, refusal and quotes are those of answering/answers.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.agent.passage_merging import merged
from ragscience.answering.answer_context import AnswerRequest
from ragscience.answering.answerability import answerability
from ragscience.answering.answers import REFUSAL, UNCITED, answer
from ragscience.answering.prompts import Prompts
from ragscience.records import Answer, Found, Part, Stage
from ragscience.stage_timing import Timings, timed
from ragscience.text.prompt_sanitizer import sanitize

if TYPE_CHECKING:
    from ragscience.agent.agent_context import AgentContext
    from ragscience.answering.generation import ChatLLM

__all__ = ["added_timings", "draft", "guarded", "merged_found", "own_stages", "searched"]

_NOTES_CHARS = 2000
"""Of what tools said, in the request for a draft."""
_SUMMED = ("llm_ms", "check_ms", "quotes_ms")


def searched(context: AgentContext, query: str, papers: tuple[str, ...]) -> Found:
    """What the search finds for one sub-query, with the time that it took as `search_ms`."""
    timings = Timings()
    with timed(timings, "search_ms"):
        found = context.search(query, papers)
    both = {**found.timings_ms, **timings}
    return replace(found, question=query, timings_ms=both, stages=(*found.stages, *timings.stages))


def merged_found(question: str, parts: Sequence[str], found: Sequence[Found], limit: int) -> Found:
    """All searches as one: the merged passages, the sums of the times, and signals of how far they answer.

    The signals are those of the search for the whole question, or those of the part that is answered worst, whichever
    promise more: a question of two parts is answerable where both are, even if no passage is about both.
    """
    whole = next((each for each in found if each.question == question), found[0])
    own = [each for each in found if each.question in parts and each.question != question and each.signals]
    signals = whole.signals
    if len(own) > 1:
        worst = min(own, key=lambda each: answerability(each, each.question))
        if answerability(worst, worst.question) > answerability(whole, question):
            signals = worst.signals
    timings: dict[str, float] = {}
    for each in found:
        for name, value in each.timings_ms.items():
            timings[name] = round(timings.get(name, 0.0) + value, 3)
    notices = tuple(dict.fromkeys(notice for each in found for notice in each.notices))
    hits = merged(found, limit, first=len(parts))
    kept = {hit.chunk.chunk_id for hit in hits}
    asked = tuple(
        Part(each.question, tuple(hit.chunk.chunk_id for hit in each.hits if hit.chunk.chunk_id in kept))
        for each in found
        if each.question in parts and each.question != question
    )
    in_parts = asked if len(asked) > 1 else ()
    stages = tuple(dict.fromkeys(stage for each in found for stage in each.stages))
    return Found(question, whole.profile, hits, notices, timings, signals, parts=in_parts, stages=stages)


def draft(context: AgentContext, found: Found, notes: Sequence[str], *, llm: ChatLLM | None, seconds: float) -> Answer:
    """The answer to `found.question` from what was found, and from what tools said, by `llm` within `seconds`.

    What an LLM says without citing a page cannot be checked, however right it is: quotes stand in for it.
    """
    made = _answer(context, found, notes, llm=llm, seconds=seconds)
    if llm is None or made.mode != "llm" or made.refused or made.citations:
        return made
    why = f"The draft of {llm.name} cited no page that it was given, so nothing in it could be checked: quotes instead."
    quotes = _answer(context, found, notes, llm=None, seconds=seconds)
    return replace(
        quotes,
        notices=(*(each for each in made.notices if each != UNCITED), why, *quotes.notices),
        timings_ms={**made.timings_ms, **quotes.timings_ms},
        stages=(*made.stages, *quotes.stages),
        tokens=made.tokens,
    )


def _answer(
    context: AgentContext, found: Found, notes: Sequence[str], *, llm: ChatLLM | None, seconds: float
) -> Answer:
    answering = replace(
        context.answering,
        llm=llm,
        prompts=_with_notes(context.answering.prompts, notes),
        answer_seconds=min(context.answering.answer_seconds, seconds),
    )
    return answer(AnswerRequest(found.question, strict=context.request.strict), answering, search=lambda _: found)


def guarded(best: Answer, notes: Sequence[str]) -> Answer:
    """The best draft as it is given: the refusal where no passage holds any of it.

    What a tool computed or looked up stands before the quotes of an extractive answer, which cannot take it in.
    """
    if (
        not best.refused
        and best.sentences
        and not any(each.verdict in ("supported", "weak") for each in best.sentences)
    ):
        why = "The passages hold no sentence of the draft, so it is not given as an answer."
        best = replace(best, text=REFUSAL, refused=True, citations=(), sentences=(), notices=(*best.notices, why))
    if best.mode == "extractive" and notes:
        lines = "\n".join(notes)
        best = replace(best, text=lines if best.refused else f"{lines}\n\n{best.text}", refused=False)
    return best


def added_timings(so_far: dict[str, float], made: Answer) -> dict[str, float]:
    """The times of all drafts together, in milliseconds."""
    return {
        name: round(so_far.get(name, 0.0) + made.timings_ms.get(name, 0.0), 3)
        for name in _SUMMED
        if name in so_far or name in made.timings_ms
    }


def own_stages(made: Answer) -> list[Stage]:
    """The stages of a draft; it searches nothing itself."""
    return [stage for stage in made.stages if f"{stage.name}_ms" in _SUMMED]


def _with_notes(prompts: Prompts, notes: Sequence[str]) -> Prompts:
    """The prompts, with what tools said before the request: part of the template, so every brace of it is doubled."""
    if not notes:
        return prompts
    said = sanitize("\n".join(notes))[:_NOTES_CHARS].replace("{", "{{").replace("}", "}}")
    return replace(prompts, request=f"What tools of this program gave:\n{said}\n\n{prompts.request}")
