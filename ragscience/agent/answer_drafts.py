"""A draft, made by ask/answers.py from the passages found so far, and its grade by rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragscience.ask.answer_context import AnswerRequest
from ragscience.ask.answers import REFUSAL, answer
from ragscience.ask.prompts import Prompts
from ragscience.core.prompt_sanitizer import sanitize
from ragscience.core.records import UNCITED, Answer, Found, Stage
from ragscience.core.tokenizing import tokenize
from ragscience.search.search_signals import asked_terms

if TYPE_CHECKING:
    from ragscience.agent.agent_context import AgentContext
    from ragscience.models.model_protocols import ChatModel

__all__ = ["Reflection", "added_timings", "draft", "guarded", "lower_of", "own_stages", "reflect"]

_NOTES_CHARS = 2000
"""Of what tools said, in the request for a draft."""
_SUMMED = ("llm_ms", "check_ms", "presence_ms", "quotes_ms")
_WORTH = {"supported": 1.0, "quote": 1.0, "weak": 0.5, "unsupported": 0.0}
"""Of a claim in the score, by its verdict."""
_PART_COVERED = 0.5
"""Share of a sub-query's terms that one passage must hold, else the sub-query counts as not answered yet."""
_MOST_TOLD = 8
"""Missing things, and claims without a passage, that go back as feedback."""
_LONGEST_TOLD = 200
"""Characters of each."""


def draft(
    context: AgentContext, found: Found, notes: Sequence[str], *, llm: ChatModel | None, seconds: float
) -> Answer:
    """The answer to `found.question` from what was found, and from what tools said, by `llm` within `seconds`.

    What an LLM says without citing a page cannot be checked, however right it is: quotes replace it.
    """
    made = _answer(context, found, notes, llm=llm, seconds=seconds)
    if llm is None or made.mode != "llm" or made.refused or made.citations:
        return made
    why = f"The draft of {llm.name} cited no page that it was given, so nothing in it could be checked: quotes instead."
    quotes = _answer(context, found, notes, llm=None, seconds=seconds)
    return replace(
        quotes,
        warnings=(*(each for each in made.warnings if each != UNCITED), why, *quotes.warnings),
        timings_ms={**made.timings_ms, **quotes.timings_ms},
        stages=(*made.stages, *quotes.stages),
        tokens=made.tokens,
    )


def _answer(
    context: AgentContext, found: Found, notes: Sequence[str], *, llm: ChatModel | None, seconds: float
) -> Answer:
    answering = replace(
        context.answering,
        llm=llm,
        prompts=_with_notes(context.answering.prompts, notes),
        answer_seconds=min(context.answering.answer_seconds, seconds),
        whole_seconds=seconds,
    )
    return answer(AnswerRequest(found.question, strict=context.request.strict), answering, search=lambda _: found)


def guarded(best: Answer, notes: Sequence[str]) -> Answer:
    """The best draft as the final answer: the refusal if no passage supports any of it.

    What a tool computed or looked up goes before the quotes of an extractive answer, which cannot take it in.
    """
    if (
        not best.refused
        and best.sentences
        and not any(each.verdict in ("supported", "weak", "quote") for each in best.sentences)
    ):
        why = "The passages hold no sentence of the draft, so it is not given as an answer."
        best = replace(best, text=REFUSAL, refused=True, citations=(), sentences=(), warnings=(*best.warnings, why))
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


@dataclass(frozen=True, slots=True)
class Reflection:
    """A grade, and what would make it better."""

    score: float
    """0 to 1."""
    missing: tuple[str, ...]
    """Words of the question, and sub-queries, that the passages do not hold."""
    unsupported: tuple[str, ...]
    """Claims that no passage holds."""
    why: str
    """What decided the score, in a few words."""


def reflect(question: str, parts: Sequence[str], draft: Answer) -> Reflection:
    """The grade of a draft: the lowest of support, coverage and answerability; 0 for a refusal.

    Support is the mean over the draft's claims and quotes: 1 for a quote and where the cited page holds a claim, 0.5
    where it does so weakly. Coverage is the share of the question's terms that the passages hold between them.
    Answerability is the calibrated one (ask/confidence.py). `parts` are the sub-queries that the question was
    split into.
    """
    texts = [set(tokenize(hit.chunk.searched)) for hit in draft.found.hits]
    words = _missing_words(question, texts)
    missing = (*words, *(part for part in parts if part != question and not _covered(part, texts)))[:_MOST_TOLD]
    unsupported = tuple(each.text[:_LONGEST_TOLD] for each in draft.sentences if each.verdict == "unsupported")
    unsupported = unsupported[:_MOST_TOLD]
    if draft.refused:
        return Reflection(0.0, missing, (), "refused")
    grades = {
        "support": _support(draft),
        "coverage": _coverage(question, texts),
        "answerability": 1.0 if draft.answerability is None else draft.answerability,
    }
    why = min(grades, key=lambda name: grades[name])
    return Reflection(round(grades[why], 4), missing, unsupported, why)


def lower_of(ours: Reflection, theirs: Reflection) -> Reflection:
    """The lower score with its reason, and what either says is missing or unsupported."""
    lower = theirs if theirs.score < ours.score else ours
    return Reflection(
        lower.score,
        tuple(dict.fromkeys((*theirs.missing, *ours.missing)))[:_MOST_TOLD],
        tuple(dict.fromkeys((*ours.unsupported, *theirs.unsupported)))[:_MOST_TOLD],
        lower.why,
    )


def _support(draft: Answer) -> float:
    worth = [_WORTH[each.verdict] for each in draft.sentences if each.verdict in _WORTH]
    return sum(worth) / len(worth) if worth else 0.0


def _coverage(question: str, texts: Sequence[set[str]]) -> float:
    asked = set(asked_terms(question))
    held = asked & set().union(*texts)
    return len(held) / len(asked) if asked else 1.0


def _covered(part: str, texts: Sequence[set[str]]) -> bool:
    asked = set(asked_terms(part))
    return not asked or any(len(asked & text) >= _PART_COVERED * len(asked) for text in texts)


def _missing_words(question: str, texts: Sequence[set[str]]) -> tuple[str, ...]:
    """The question's words, as they are in it, whose terms no passage has."""
    held = set().union(*texts)
    wanted = set(asked_terms(question)) - held
    words = (word.strip(".,;:?!()[]\"'“”‘’") for word in question.split())
    return tuple(dict.fromkeys(word for word in words if wanted.intersection(tokenize(word))))
