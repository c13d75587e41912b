"""The times of an answer whose search was made before the answer was begun."""

from __future__ import annotations

from dataclasses import replace

from ragscience.core.records import Answer, Found, Stage
from ragscience.core.stage_timing import Timings

__all__ = ["after_first_search"]


def after_first_search(answer: Answer, first: Timings) -> Answer:
    """The answer with the times of both, as those of one question."""
    if not first.stages:
        return answer
    (search,) = first.stages
    stages, timings = [search], dict(answer.timings_ms)
    for stage in answer.stages:
        if stage.name == "total":
            total_ms = round((stage.started - search.started) * 1000 + stage.ms, 3)
            timings["total_ms"] = total_ms
            stages.append(Stage("total", search.started, total_ms))
        elif stage.name != "search" or _has_part(stage, answer.found):
            stages.append(stage)
    timings["search_ms"] = round(sum(stage.ms for stage in stages if stage.name == "search"), 3)
    return replace(answer, timings_ms=timings, stages=tuple(stages))


def _has_part(search: Stage, found: Found) -> bool:
    """Whether anything was searched for in it: what was found before is only handed over."""
    end = search.started + search.ms / 1000
    return any(search.started <= stage.started <= end for stage in found.stages)
