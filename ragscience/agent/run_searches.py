"""The searches of one run, and how their passages become one list in which each search has its share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragscience.agent.agent_state import MOST_QUERIES, AgentContext, Spending, answer_of, found_of
from ragscience.ask.confidence import answerability
from ragscience.core.answer_records import Timings, timed
from ragscience.core.records import Answer, Found, Hit, QuestionPart, StoredChunk

__all__ = ["RunSearches", "merged", "merged_found"]

LATER_SHARE = 4
"""One place in so many is for what later rounds have found."""


class RunSearches:
    """Searches within the run's limits, and counts them."""

    def __init__(self, context: AgentContext, spending: Spending) -> None:
        self._context = context
        self._spending = spending
        self._chunks: dict[int, StoredChunk] = {}

    def found_for(self, text: str, papers: tuple[str, ...]) -> Found:
        """What the search finds for a sub-query. Raises what the search raises."""
        self._spending.searches += 1
        timings = Timings()
        with timed(timings, "search_ms"):
            found = self._context.search(text, papers)
        both = {**found.timings_ms, **timings}
        return replace(found, question=text, timings_ms=both, stages=(*found.stages, *timings.stages))

    def keep(self, found: Found) -> None:
        """Remember the passages of what was found."""
        self._chunks |= {hit.chunk.chunk_id: hit.chunk for hit in found.hits}

    def found_of(self, plain: Mapping[str, Any]) -> Found:
        """What a state holds of a search, with the text of its passages."""
        self._load(plain["hits"])
        return found_of(plain, self._chunks)

    def answer_of(self, plain: Mapping[str, Any]) -> Answer:
        """What a state holds of an answer, with the text of its passages."""
        self._load(plain["hits"])
        return answer_of(plain, self._chunks)

    def _load(self, hits: Sequence[Mapping[str, Any]]) -> None:
        """Read the passages of an interrupted run again."""
        absent = [hit["chunk_id"] for hit in hits if hit["chunk_id"] not in self._chunks]
        if absent:
            self._chunks |= {chunk.chunk_id: chunk for chunk in self._context.passages(absent)}


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
    warnings = tuple(dict.fromkeys(warning for each in found for warning in each.warnings))
    hits = merged(found, limit, first=len(parts))
    kept = {hit.chunk.chunk_id for hit in hits}
    asked = tuple(
        QuestionPart(each.question, tuple(hit.chunk.chunk_id for hit in each.hits if hit.chunk.chunk_id in kept))
        for each in found
        if each.question in parts and each.question != question
    )
    in_parts = asked if len(asked) > 1 else ()
    stages = tuple(dict.fromkeys(stage for each in found for stage in each.stages))
    return Found(question, whole.profile, hits, warnings, timings, signals, parts=in_parts, stages=stages)


def merged(found: Sequence[Found], limit: int, *, first: int = MOST_QUERIES) -> tuple[Hit, ...]:
    """At most `limit` passages of all searches, each once, ranked from 1.

    The first search, that of the question itself, has as large a share as each of the others, which then take turns:
    the best of every search is there while `limit` is no smaller than their number. The `first` searches are those of
    the first round; what later ones add has a quarter of the places at most, at the end, for a second look is made
    with fewer words of the question and should not push out what the first has found.

    Scores of different searches do not compare (each is scaled over its own candidates), so the order is that of the
    best place that a passage has in any search, the earlier search first; a `Hit` keeps the scores of that search.
    """
    early, late = found[:first], found[first:]
    once = _shared(early, limit)
    known = {hit.chunk.chunk_id for hit in once}
    added = [hit for hit in _shared(late, limit) if hit.chunk.chunk_id not in known]
    added = added[: max(limit // LATER_SHARE, limit - len(once))]
    kept = [*once[: limit - len(added)], *added]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(kept, start=1))


def _shared(found: Sequence[Found], limit: int) -> list[Hit]:
    """The passages of one round: shares first, then the order of the best places."""
    if not found or limit < 1:
        return []
    share = max(1, limit // len(found))
    first = found[0].hits
    turns = [*first[:share], *_in_turn([each.hits for each in found[1:]]), *first[share:]]
    chosen = list(dict.fromkeys(hit.chunk.chunk_id for hit in turns))[:limit]
    best: dict[int, tuple[int, int, Hit]] = {}
    for turn, each in enumerate(found):
        for place, hit in enumerate(each.hits):
            key = hit.chunk.chunk_id
            if key not in best or place < best[key][0]:
                best[key] = (place, turn, hit)
    return [hit for _, _, hit in sorted((best[key] for key in chosen), key=lambda placed: placed[:2])]


def _in_turn(lists: Sequence[Sequence[Hit]]) -> Iterator[Hit]:
    """The best passage of each list that none before it has given, then the next best, until all lists are empty."""
    left = [iter(each) for each in lists]
    seen: set[int] = set()
    while left:
        going = []
        for each in left:
            new = next((hit for hit in each if hit.chunk.chunk_id not in seen), None)
            if new is not None:
                seen.add(new.chunk.chunk_id)
                going.append(each)
                yield new
        left = going
