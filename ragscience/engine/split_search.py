"""A question that sets papers side by side, or asks something of each: each part is searched in its own paper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from ragscience.answering.answerability import answerability
from ragscience.question_parts.paper_mentions import names_in
from ragscience.question_parts.sub_queries import SubQuery, home_papers, sub_queries
from ragscience.records import Filters, Found, Hit, Part
from ragscience.retrieval.fusion import reciprocal_rank

if TYPE_CHECKING:
    from ragscience.engine.question_run import QuestionRun
    from ragscience.records import Profile

__all__ = ["search_in_parts"]

_MAY_COMPARE = re.compile(
    r"\b(?:and|or|nor|but|while|whereas|versus|vs|than|compare\w*|differ\w*|contrast|opposed|same|both)\b|[,;]",
    re.IGNORECASE,
)
"""A question without any of these is in one piece; saves reading the papers' names."""

_MIXED = re.compile(r"[a-z][-’']?[A-Z]|[A-Z]{2}[a-z]{2}|\w\d")


def search_in_parts(
    run: QuestionRun, question: str, filters: Filters, also: Sequence[int] = (), profile: Profile | None = None
) -> Found:
    """As `run.search`; where the parts of the question belong to two papers or more, each is searched for in its own.

    The passages of the parts then take turns, the best of each first, and `Found.parts` says which are whose; its
    signals are those of the search for the whole question, or of the part that is answered worst, whichever promise
    more. Raises as `run.search`.
    """
    whole = run.search(question, filters, also, profile)
    if not whole.hits or filters.papers or filters.paper_ids or not _may_have_parts(question):
        return whole
    papers = run.library.papers()
    ids = {paper.file: paper.paper_id for paper in papers}

    def home(name: str) -> tuple[str, ...]:
        return home_papers(run.search(name, filters, profile=profile)) if _is_thing(name, question) else ()

    parts = [
        part for part in sub_queries(question, papers, home)[1:] if part.papers and _bare(part.text) != _bare(question)
    ]
    if len({part.papers for part in parts}) < 2:  # of one thing there is nothing to compare
        return whole
    found = [_searched(run, part, filters, profile, ids) for part in parts]
    return _in_turn(whole, parts, found, (profile or run.profile).top_k)


def _may_have_parts(question: str) -> bool:
    return bool(_MAY_COMPARE.search(question)) and len(names_in(question)) > 1


def _is_thing(name: str, question: str) -> bool:
    """Whether a name, given with "the", is one of a thing by the way it is written: "the Transformer", "RNNsearch"."""
    bare = name.removeprefix("the ")
    return name in question or any(_MIXED.search(word) for word in bare.split())


def _bare(text: str) -> str:
    return text.rstrip(" ?.!")


def _searched(
    run: QuestionRun, part: SubQuery, filters: Filters, profile: Profile | None, ids: dict[str, int]
) -> Found:
    """What is found in the part's papers, with their names in the question and without.

    Within a paper its name favours what repeats it, but says what a clause is about; docs/choices.md has both alone.
    """
    own = replace(filters, paper_ids=tuple(ids[file] for file in part.papers))
    bare = run.search(part.searched, own, profile=profile)
    if part.searched == part.text:
        return bare
    named = run.search(part.text, own, profile=profile)
    hits = {hit.chunk.chunk_id: hit for hit in (*named.hits, *bare.hits)}
    ranks = reciprocal_rank([(1.0, [hit.chunk.chunk_id for hit in each.hits]) for each in (bare, named)])
    order = sorted(ranks, key=lambda chunk_id: -ranks[chunk_id])
    return replace(bare, hits=tuple(hits[chunk_id] for chunk_id in order))


def _in_turn(whole: Found, parts: Sequence[SubQuery], found: Sequence[Found], limit: int) -> Found:
    turns = chain.from_iterable(zip_longest(*(each.hits for each in found)))
    once: dict[int, Hit] = {}
    for hit in turns:
        if hit is not None and len(once) < limit:
            once.setdefault(hit.chunk.chunk_id, hit)
    asked = tuple(
        Part(part.text, tuple(hit.chunk.chunk_id for hit in each.hits if hit.chunk.chunk_id in once))
        for part, each in zip(parts, found, strict=True)
    )
    everything = (whole, *found)
    worst = min(
        (replace(each, question=part.text) for part, each in zip(parts, found, strict=True)),
        key=lambda each: answerability(each, each.question),
    )
    promises_more = answerability(worst, worst.question) > answerability(whole, whole.question)
    timings: dict[str, float] = {}
    for name, value in chain.from_iterable(each.timings_ms.items() for each in everything):
        timings[name] = round(timings.get(name, 0.0) + value, 3)
    return replace(
        whole,
        hits=tuple(replace(hit, rank=rank) for rank, hit in enumerate(once.values(), start=1)),
        parts=asked,
        signals=worst.signals if promises_more else whole.signals,
        warnings=tuple(dict.fromkeys(chain.from_iterable(each.warnings for each in everything))),
        timings_ms=timings,
        stages=tuple(chain.from_iterable(each.stages for each in everything)),
    )
