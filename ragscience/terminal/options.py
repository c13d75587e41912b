"""The arguments and options that several commands of `query.py` share, and groups of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ragscience.errors import UsageError
from ragscience.terminal.cli import Debug, HomeFolder, Offline, Quiet, page_range

if TYPE_CHECKING:
    from ragscience.records import Filters

__all__ = [
    "Brief",
    "ByAgent",
    "ChatName",
    "Corrective",
    "From",
    "GoOn",
    "Highlight",
    "How",
    "Json",
    "Limit",
    "LoggedRun",
    "Narrow",
    "NoHistory",
    "Output",
    "Pages",
    "Plain",
    "Ranking",
    "Run",
    "Text",
    "Which",
    "grouped",
    "switch",
]

Text = Annotated[str | None, typer.Argument(help="The question, in quotes.", show_default=False)]
From = Annotated[
    str | None, typer.Option("--from", help="Questions, one a line (text or JSON), from a file or - for stdin.")
]
Wanted = Annotated[int | None, typer.Option("-k", help="How many passages.", min=1, max=1000)]
Papers = Annotated[
    list[str] | None, typer.Option("--paper", help="Only papers of this name (part or pattern); repeatable.")
]
Pages = Annotated[str | None, typer.Option("--pages", help="Only these pages: 3 or 3-9.")]
Sections = Annotated[
    list[str] | None,
    typer.Option("--section", metavar="TEXT", help="Only under headings with this in their name; repeatable."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Only passages of this kind: text, abstract, table, caption, equation, footnote, reference or all;"
        " repeatable. References are found with reference or all alone.",
    ),
]
Years = Annotated[
    str | None, typer.Option("--year", metavar="YEAR", help="Only papers of this year, or of these: 2015-2020.")
]
Authors = Annotated[
    list[str] | None,
    typer.Option("--author", metavar="NAME", help="Only papers by someone of this name (a part will do); repeatable."),
]
ProfileName = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="How to search; `profiles` lists the ways.")
]
Rerank = Annotated[bool, typer.Option("--no-rerank", help="Keep the order of the first pass.")]
Reranker = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        metavar="WHO",
        help="Reranker: auto, cross-encoder, late-interaction, llm (the chat model) or off.",
    ),
]
Budget = Annotated[
    int | None, typer.Option("--rerank-budget-ms", help="Time that the cross-encoder may take; 0: no limit.", min=0)
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a question on stdout; see docs/json.md.")]

GoOn = Annotated[bool, typer.Option("--continue", "-c", help="Continue the last conversation.")]
ChatName = Annotated[
    str | None, typer.Option("--chat", metavar="NAME", help="Continue the conversation of this name, or begin it.")
]
NoHistory = Annotated[bool, typer.Option("--no-history", help="Do not save this conversation.")]
ByAgent = Annotated[
    bool,
    typer.Option("--agent", help="Answer in several steps: sub-queries, drafts, a second look; shown as they come."),
]
Corrective = Annotated[
    bool | None,
    typer.Option(
        "--corrective/--no-corrective",
        help="Judge what was found, and search again in other words where it is doubtful; on in the profile even.",
        show_default=False,
    ),
]
Plain = Annotated[
    bool,
    typer.Option("--plain", help="One search and its quotes for every question: no summaries, lists or counts."),
]
Brief = Annotated[
    bool, typer.Option("--brief", help="One line for an answer: the best quote, its page, how sure it is.")
]
Graph = Annotated[
    bool | None,
    typer.Option(
        "--graph/--no-graph",
        help="Ask the knowledge graph, too (`ingest.py graph` makes it); the profile deep does where there is one.",
        show_default=False,
    ),
]
GraphFilter = Annotated[
    bool, typer.Option("--graph-filter", help="Only papers that mention what the graph has near the question.")
]
Highlight = Annotated[
    Path | None,
    typer.Option("--highlight", metavar="OUT.pdf", help="Write the cited pages to this file, the quotes marked."),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file, not to stdout.")
]
LogTo = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Append a line about each question to this file.")
]
MetricsTo = Annotated[
    Path | None,
    typer.Option("--metrics", metavar="FILE", help="Add what is counted and timed to this file, for Prometheus."),
]
Limit = Annotated[int | None, typer.Option("-n", help="How many lines.", min=1, show_default=False)]
Which = Annotated[
    str | None,
    typer.Argument(
        metavar="[ID]", help="A conversation's id or name, or the beginning of an answer's id.", show_default=False
    ),
]


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

    rerank_budget_ms: Budget = None
    graph: Graph = None
    graph_filter: GraphFilter = False

    def flags(self) -> dict[str, object]:
        """The settings that these options replace. Raises UsageError."""
        graph = {"graph": switch(self.graph), "graph_filter": self.graph_filter or None}
        return {**super().flags(), "rerank_budget_ms": self.rerank_budget_ms, **graph}


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
