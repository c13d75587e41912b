"""The searches of one question: for each way to read a turn of a conversation, and for each paper that it compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from ragscience.ask.confidence import answerability
from ragscience.ask.conversation import LEANING, TurnReading
from ragscience.ask.sides import SubQuery, sides
from ragscience.core.records import Filters, Found, Hit, Part
from ragscience.search.names import PaperNames

if TYPE_CHECKING:
    from ragscience.core.records import Profile
    from ragscience.engine.question_run import QuestionRun

__all__ = ["search_in_parts", "search_readings"]


def search_readings(
    run: QuestionRun,
    filters: Filters,
    also: Sequence[int] = (),
    profile: Profile | None = None,
    rewritten: str = "",
) -> Found:
    """What is found for the reading of the question that the passages answer best; `Found.question` is its text.

    `rewritten`, a language model's own reading, competes where it names the same papers as one of the others. `also`
    are passages (ids) that compete for a reading about the papers of the turn before.
    """
    names = PaperNames.of(run.library) if run.library.about.chunks else None
    readings = run.understood.readings
    if rewritten and names is not None:
        same = next((each for each in readings if _papers(each, names) == _papers(TurnReading(rewritten), names)), None)
        within = same.files if same else ()
        readings = (TurnReading(rewritten, within, LEANING), *readings) if same else readings
    results: list[tuple[float, Found]] = []
    for reading in readings:
        ids = tuple(names.id_of(file) for file in reading.files) if names is not None else ()
        kept = replace(filters, paper_ids=ids) if ids and not (filters.papers or filters.paper_ids) else filters
        found = search_in_parts(run, reading.text, kept, also if reading.files else (), profile)
        results.append((answerability(found, reading.text) + reading.prior, found))
    return max(results, key=lambda result: result[0])[1]


def _papers(reading: TurnReading, names: PaperNames) -> frozenset[str]:
    named = {one.file for one in names.in_text(reading.text) if one.strength >= 0.5}
    return frozenset(named or reading.files)


def search_in_parts(
    run: QuestionRun, question: str, filters: Filters, also: Sequence[int] = (), profile: Profile | None = None
) -> Found:
    """As `run.search`; what the question asks of each of several papers is searched for in that paper.

    The passages of the parts then take turns, the best of each first, and `Found.parts` says which are whose; its
    signals are those of the search for the whole question, or of the part that is answered worst, whichever promise
    more. Raises as `run.search`.
    """
    parts: tuple[SubQuery, ...] = ()
    if not (filters.papers or filters.paper_ids) and run.library.about.chunks:
        names = PaperNames.of(run.library)
        parts = sides(question, names)
    if not parts:
        return run.search(question, filters, also, profile)
    run.embed_ahead([question, *(part.text for part in parts)])
    whole = run.search(question, filters, also, profile)
    found = [
        _searched(
            whole, run.search(part.text, replace(filters, paper_ids=tuple(map(names.id_of, part.papers))), (), profile)
        )
        for part in (parts if whole.hits else ())
    ]
    return _in_turn(whole, parts, found, (profile or run.profile).top_k) if found else whole


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
