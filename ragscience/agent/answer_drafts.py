"""A run's searches as one, in which each has its share; the draft by ask/answers.py from that; its grade by rules."""

from collections.abc import Sequence
from dataclasses import replace

from ragscience.agent.agent_state import MOST_QUERIES, AgentContext, GradedDraft
from ragscience.ask.answer_context import AnswerRequest
from ragscience.ask.answers import REFUSAL, answer
from ragscience.ask.decomposition import in_turn, together
from ragscience.core.prompt_templates import sanitize
from ragscience.core.records import UNCITED, Answer, Found, Hit
from ragscience.core.tokenizing import tokenize
from ragscience.models.model_protocols import ChatModel
from ragscience.search.first_pass import asked_terms

LATER_SHARE = 4
"""One place in so many is for what later rounds have found."""
_NOTES_CHARS = 2000
"""Of what tools said, in the request for a draft."""
_WORTH = {"supported": 1.0, "quote": 1.0, "weak": 0.8, "unsupported": 0.0}
"""Of a claim in the score, by its verdict."""
_PART_COVERED = 0.5
"""Share of a sub-query's terms that one passage must hold, else the sub-query counts as not answered yet."""
MOST_TOLD = 8
"""Missing things, and claims without a passage, that go back as feedback."""
_LONGEST_TOLD = 200
"""Characters of each."""


def merged_found(question: str, parts: Sequence[str], found: Sequence[Found], limit: int) -> Found:
    """All searches as one, with the merged passages; `parts` are the sub-queries of the first round."""
    whole = next((each for each in found if each.question == question), found[0])
    of_parts = [each for each in found if each.question in parts and each.question != question]
    others = [each for each in found if each is not whole]
    hits = merged(found, limit, first=len(parts))
    return together(replace(whole, question=question), others, hits, of_parts)


def merged(found: Sequence[Found], limit: int, *, first: int = MOST_QUERIES) -> list[Hit]:
    """At most `limit` passages of all searches, each once: the searches take turns, so that each has its share.

    The `first` searches are those of the first round; what later ones add has a quarter of the places at most, at the
    end, for a second look is made with fewer words of the question and should not push out what the first has found.
    Scores of different searches do not compare (each is scaled over its own candidates).
    """
    early = in_turn([each.hits for each in found[:first]])
    known = {hit.chunk.chunk_id for hit in early}
    later = [hit for hit in in_turn([each.hits for each in found[first:]]) if hit.chunk.chunk_id not in known]
    return [*early[: limit - min(len(later), limit // LATER_SHARE)], *later][:limit]


def draft(
    context: AgentContext, found: Found, notes: Sequence[str], *, llm: ChatModel | None, seconds: float
) -> Answer:
    """The answer to `found.question` from what was found, and from what tools said, by `llm` within `seconds`.

    What an LLM says without citing a page cannot be checked, however right it is: quotes replace it.
    """
    said = sanitize("\n".join(notes))[:_NOTES_CHARS]
    answering = replace(
        context.answering,
        llm=llm,
        notes=f"What tools of this program gave:\n{said}\n\n" if notes else "",
        answer_seconds=min(context.answering.answer_seconds, seconds),
        whole_seconds=seconds,
    )
    request = AnswerRequest(found.question, strict=context.request.strict)
    made = answer(request, answering, search=lambda _: found)
    if llm is None or made.mode != "llm" or made.refused or made.citations:
        return made
    why = f"The draft of {llm.name} cited no page that it was given, so nothing in it could be checked: quotes instead."
    quotes = answer(request, replace(answering, llm=None), search=lambda _: found)
    return replace(
        quotes,
        warnings=(*(each for each in made.warnings if each != UNCITED), why, *quotes.warnings),
        timings_ms={**made.timings_ms, **quotes.timings_ms},
        stages=(*made.stages, *quotes.stages),
        tokens=made.tokens,
    )


def guarded(best: Answer, notes: Sequence[str]) -> Answer:
    """The best draft as the final answer: the refusal if no passage supports any of it.

    What a tool computed or looked up goes before the quotes of an extractive answer, which cannot take it in.
    """
    held = any(each.verdict in ("supported", "weak", "quote") for each in best.sentences)
    if not best.refused and best.sentences and not held:
        why = "The passages hold no sentence of the draft, so it is not given as an answer."
        best = replace(best, text=REFUSAL, refused=True, citations=(), sentences=(), warnings=(*best.warnings, why))
    if best.mode == "extractive" and notes:
        lines = "\n".join(notes)
        best = replace(best, text=lines if best.refused else f"{lines}\n\n{best.text}", refused=False)
    return best


def graded(question: str, parts: Sequence[str], one: GradedDraft) -> GradedDraft:
    """The draft with its grade, the lowest of support, coverage and answerability; 0 for a refusal.

    Support is the mean over the draft's claims and quotes: 1 for a quote and where the cited page holds a claim, 0.8
    where nothing there speaks against it. Coverage is the share of the question's terms that the passages hold between
    them. Answerability is the calibrated one (ask/confidence.py). `parts` are the sub-queries that the question was
    split into.
    """
    made, texts = one.answer, [set(tokenize(hit.chunk.searched)) for hit in one.answer.found.hits]
    asked, held = set(asked_terms(question)), set().union(*texts)
    words = (word.strip(".,;:?!()[]\"'“”‘’") for word in question.split())
    absent = dict.fromkeys(word for word in words if (asked - held).intersection(tokenize(word)))
    missing = (*absent, *(part for part in parts if part != question and not _covered(part, texts)))[:MOST_TOLD]
    if made.refused:
        return replace(one, missing=missing, why="refused")
    worth = [_WORTH[each.verdict] for each in made.sentences if each.verdict in _WORTH]
    grades = {
        "support": sum(worth) / len(worth) if worth else 0.0,
        "coverage": len(asked & held) / len(asked) if asked else 1.0,
        "answerability": 1.0 if made.answerability is None else made.answerability,
    }
    why = min(grades, key=lambda name: grades[name])
    unsupported = tuple(each.text[:_LONGEST_TOLD] for each in made.sentences if each.verdict == "unsupported")
    return replace(one, score=round(grades[why], 4), missing=missing, unsupported=unsupported[:MOST_TOLD], why=why)


def _covered(part: str, texts: Sequence[set[str]]) -> bool:
    asked = set(asked_terms(part))
    return not asked or any(len(asked & text) >= _PART_COVERED * len(asked) for text in texts)
