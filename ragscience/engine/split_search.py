"""A question that sets papers side by side, or asks something of each: each part is searched in its own paper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from ragscience.ask.confidence import answerability, is_in_doubt
from ragscience.ask.paper_mentions import names_in
from ragscience.ask.sub_queries import SubQuery, sub_queries
from ragscience.core.records import Filters, Found, Hit, Part
from ragscience.engine.question_run import ANSWERABLE
from ragscience.search.names import PaperNames

if TYPE_CHECKING:
    from ragscience.core.records import Profile
    from ragscience.engine.question_run import QuestionRun

__all__ = ["search_in_parts"]

_MAY_COMPARE = re.compile(
    r"\b(?:and|or|nor|but|while|whereas|versus|vs|than|compare\w*|differ\w*|contrast|opposed|same|both)\b|[,;]",
    re.IGNORECASE,
)
"""A question without any of these is in one piece; saves reading the papers' names."""

SURE = 0.5
"""Strength of a name from which it leads to its paper."""
_CLOSED = " & "


def search_in_parts(
    run: QuestionRun, question: str, filters: Filters, also: Sequence[int] = (), profile: Profile | None = None
) -> Found:
    """As `run.search`; where the parts of the question belong to two papers or more, each is searched for in its own.

    The passages of the parts then take turns, the best of each first, and `Found.parts` says which are whose; its
    signals are those of the search for the whole question, or of the part that is answered worst, whichever promise
    more. Other parts are searched for in all papers where it is in doubt that the search for the whole question answers
    it, and used where each of them is answered without doubt; not with the graph. Raises as `run.search`.
    """
    if filters.papers or filters.paper_ids or not _MAY_COMPARE.search(question):
        return run.search(question, filters, also, profile)
    names = _LibraryNames(PaperNames.of(run.library))
    asked = names.with_lists_closed(question)
    limit = (profile or run.profile).top_k
    compared: list[SubQuery] = []
    if len(names_in(question)) > 1:
        compared = [part for part in _parts(asked, names) if part.papers]
    if len({part.papers for part in compared}) > 1:  # of one thing there is nothing to compare
        run.embed_ahead([question, *(part.text for part in compared)])
        whole = run.search(question, filters, also, profile)
        found = []
        for part in compared if whole.hits else []:
            own = replace(filters, paper_ids=tuple(names.ids[file] for file in part.papers))
            found.append(_searched(whole, run.search(part.text, own, profile=profile)))
        return _in_turn(whole, compared, found, limit) if found else whole
    whole = run.search(question, filters, also, profile)
    if run.graph is not None or not is_in_doubt(answerability(whole, question), threshold=ANSWERABLE):
        return whole  # with the graph a language model may be asked of each search
    parts = _parts(asked, names) if whole.hits else []
    found = [run.search(part.searched, filters, profile=profile) for part in parts] if len(parts) > 1 else []
    likely = [answerability(each, part.text) for part, each in zip(parts, found, strict=False)]
    if not likely or any(is_in_doubt(each, threshold=ANSWERABLE) for each in likely):
        return whole
    return _in_turn(whole, parts, found, limit)


def _parts(asked: str, names: _LibraryNames) -> list[SubQuery]:
    """The parts of a question, without the one that is all of it."""
    return [part for part in sub_queries(asked, names)[1:] if _bare(part.text) != _bare(asked)]


class _LibraryNames:
    """The names of the library's papers, for taking a question apart."""

    def __init__(self, names: PaperNames) -> None:
        self._names = names
        self._known: dict[str, tuple[str, ...]] = {}
        self.ids: dict[str, int] = {}
        """Of the papers that were named so far, by file."""

    def likely(self, text: str) -> tuple[str, ...]:
        if text not in self._known:
            named = [each for each in self._names.in_text(text.replace(_CLOSED, " and ")) if each.strength >= SURE]
            self.ids |= {each.file: each.paper_id for each in named}
            self._known[text] = tuple(dict.fromkeys(each.file for each in named))
        return self._known[text]

    def with_lists_closed(self, question: str) -> str:
        """The question with the "and" of a title or of two authors written so that it is not taken for a list."""
        for name in reversed(self._names.in_text(question)):
            closed = question[name.start : name.end].replace(" and ", _CLOSED)
            question = question[: name.start] + closed + question[name.end :]
        return question


def _bare(text: str) -> str:
    return text.rstrip(" ?.!")


def _searched(whole: Found, found: Found) -> Found:
    """What was found for a part: its best passage, those that the whole question has found in its papers, the rest."""
    papers = {hit.chunk.paper_id for hit in found.hits}
    hits = (*found.hits[:1], *(hit for hit in whole.hits if hit.chunk.paper_id in papers), *found.hits[1:])
    return replace(found, hits=tuple({hit.chunk.chunk_id: hit for hit in hits}.values()))


def _in_turn(whole: Found, parts: Sequence[SubQuery], found: Sequence[Found], limit: int) -> Found:
    turns = chain.from_iterable(zip_longest(*(each.hits for each in found)))
    once: dict[int, Hit] = {}
    for hit in turns:
        if hit is not None and len(once) < limit:
            once.setdefault(hit.chunk.chunk_id, hit)
    asked = tuple(
        Part(part.text, tuple(hit.chunk.chunk_id for hit in each.hits if hit.chunk.chunk_id in once), part.words)
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
