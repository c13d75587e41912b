"""Loads what the first question needs, while the server answers already."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ragscience.core.errors import RagScienceError

if TYPE_CHECKING:
    from threading import Event as Flag

    from ragscience.engine.library_engine import Engine

__all__ = ["warm_up"]

_QUESTION = "What was measured, and how?"


def warm_up(engine: Engine, cancel: Flag) -> None:
    """Open the indexes and load the models of a search, until `cancel` is set; no log or metric has it.

    What fails here fails again with the first question, which tells it.
    """
    from ragscience.core.records import Filters
    from ragscience.engine.question_run import QuestionRun
    from ragscience.engine.requests import SearchRequest

    with suppress(RagScienceError):
        run = QuestionRun(engine.shared, SearchRequest(_QUESTION), cancel=cancel)
        run.search(_QUESTION, Filters())
