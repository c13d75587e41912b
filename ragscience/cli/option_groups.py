"""Groups of the options that several commands of `query.py` share, each a dataclass."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from ragscience.cli.cli import page_range
from ragscience.cli.options import (
    Authors,
    Graph,
    GraphFilter,
    Kinds,
    LogTo,
    MetricsTo,
    Papers,
    ProfileName,
    Rerank,
    Reranker,
    Sections,
    Wanted,
    Years,
)
from ragscience.cli.run_options import Debug, HomeFolder, Offline, Quiet
from ragscience.core.errors import UsageError

if TYPE_CHECKING:
    from ragscience.core.records import Filters

__all__ = ["How", "LoggedRun", "Narrow", "Ranking", "Run", "grouped", "switch"]


@dataclass(frozen=True)
class Narrow:
    """How many passages, and from which part of the library."""

    k: Wanted = None
    paper: Papers = None
    section: Sections = None
    kind: Kinds = None
    year: Years = None
    author: Authors = None

    def filters(self, pages: str | None = None) -> Filters:
        """The part of the library. Raises UsageError."""
        from ragscience.engine.filter_words import filters_of

        return filters_of(
            papers=self.paper,
            pages=page_range(pages),
            sections=self.section,
            kinds=self.kind,
            years=self.year,
            authors=self.author,
        )


@dataclass(frozen=True)
class Ranking:
    """How passages are ranked."""

    profile: ProfileName = None
    no_rerank: Rerank = False
    reranker: Reranker = None

    def flags(self) -> dict[str, object]:
        """The settings that these options replace. Raises UsageError."""
        if self.no_rerank and self.reranker not in (None, "off"):
            raise UsageError(f"--no-rerank and --reranker {self.reranker} contradict each other.", "Give one of them.")
        return {"profile": self.profile, "rerank": "off" if self.no_rerank else self.reranker}


@dataclass(frozen=True)
class How(Ranking):
    """How a question is searched for."""

    graph: Graph = None
    graph_filter: GraphFilter = False

    def flags(self) -> dict[str, object]:
        """The settings that these options replace. Raises UsageError."""
        return {**super().flags(), "graph": switch(self.graph)}


@dataclass(frozen=True)
class Run:
    """What holds for a whole run."""

    home: HomeFolder = None
    offline: Offline = None
    quiet: Quiet = False
    debug: Debug = False

    def flags(self) -> dict[str, object]:
        """The settings that these options replace."""
        return {"home": self.home, "offline": self.offline}


@dataclass(frozen=True)
class LoggedRun(Run):
    """What holds for a whole run whose questions can be logged."""

    log: LogTo = None
    metrics: MetricsTo = None

    def flags(self) -> dict[str, object]:
        """The settings that these options replace."""
        files = {"log_file": self.log, "metrics_file": self.metrics}
        return {**super().flags(), **{name: str(file) for name, file in files.items() if file is not None}}


def switch(value: bool | None) -> str | None:
    """An option --x/--no-x as the setting that also knows "auto"."""
    return None if value is None else "on" if value else "off"


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """The command as Typer takes it: a parameter that is a dataclass becomes one parameter for each of its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        inner = get_type_hints(groups[name], include_extras=True)
        parameters += [
            parameter.replace(name=field.name, default=field.default, annotation=inner[field.name])
            for field in fields(groups[name])
        ]

    @functools.wraps(command)
    def run(**given: Any) -> int:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
