"""Views of the knowledge graph: how it is read, an entity and what is around it, paths, related papers, maps."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.cli.cli import say
from ragscience.cli.column_list import Column, list_records
from ragscience.cli.line_wrap import put
from ragscience.cli.pager import paged
from ragscience.cli.screen import console, print_json
from ragscience.cli.status_line import STATUS
from ragscience.core.records import Found, PathStep, title_of
from ragscience.core.serialization import select
from ragscience.engine.answer_output import page_outputs, step_output
from ragscience.engine.events import Event, ModelChosen
from ragscience.engine.graph_runs import CO_OCCURS, GraphBuild, GraphRequest, PassagesRead
from ragscience.engine.library_output import (
    EntityOutput,
    GraphOutput,
    GraphPathOutput,
    RelatedOutput,
    RelatedPaper,
    RelationOutput,
)
from ragscience.engine.printable import counted, plain, rounded_time
from ragscience.engine.source_list import cited_label

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.library_engine import Engine

__all__ = ["GraphOrder", "GraphProgress", "paths_view", "run_graph", "show_entity", "show_path", "show_related"]

SOME_FAILED = 3
MOST_FAILURES_SHOWN = 20
SECONDS_BETWEEN_LINES = 5.0


@dataclass(frozen=True, slots=True)
class GraphOrder:
    """What `ingest.py graph` is to do; `reads` is None where nothing is to be read."""

    reads: GraphRequest | None
    import_from: Path | None = None
    unmerge: str = ""
    merge_again: str = ""
    merges: bool = False
    export: Path | None = None
    graphml: Path | None = None


def run_graph(engine: Engine, order: GraphOrder, *, quiet: bool) -> int:
    """Do it in this order: imports and merges, reading, lists and exports; an exit code."""
    graph, code = engine.graph, 0
    if order.import_from:
        came = graph.import_jsonl(order.import_from)
        passages = counted(came.passages, "passage")
        _tell(f"imported {_size(came.entities, came.relations)} of {passages}", quiet)
    if order.unmerge:
        _tell(f"{graph.undo_merge(order.unmerge)} is now a separate entity", quiet)
    if order.merge_again:
        _tell(f"{graph.merge_again(order.merge_again)} is merged again", quiet)
    if order.reads:
        with GraphProgress(quiet=quiet) as progress:
            built = graph.build(order.reads, on_event=progress)
        for line in built.report.failures[:MOST_FAILURES_SHOWN]:
            say(line)
        if len(built.report.failures) > MOST_FAILURES_SHOWN:
            say(f"and {len(built.report.failures) - MOST_FAILURES_SHOWN} more of this kind")
        _tell(_summary(built, order.reads), quiet)
        code = SOME_FAILED if built.report.failures else 0
    if order.merges:
        merged, apart = graph.merges()
        for merge in merged:
            sys.stdout.write(plain(f"{merge.label} ({merge.entity_type}): {' | '.join(merge.names)}") + "\n")
        sys.stdout.writelines(plain(f"apart: {name}") + "\n" for name in apart)
    for target, write in ((order.export, graph.export_jsonl), (order.graphml, graph.export_graphml)):
        if target:
            went = write(target)
            _tell(f"{_size(went.entities, went.relations)} written to {target}", quiet)
    return code


def _summary(built: GraphBuild, request: GraphRequest) -> str:
    """What reading did, in one line."""
    report = built.report
    nothing = not report.passages and not report.failures
    parts = ["no new passages to read" if nothing else _read(report.passages, report.papers)]
    if report.dropped:
        parts.append(f"rejected {counted(report.dropped, 'item')} from the model's replies")
    if report.failures:
        parts.append(f"{len(report.failures)} failed")
    if report.left:
        parts.append(f"{counted(report.left, 'passage')} left for the next run")
    graph = f"the graph has {_size(built.entities, built.relations)}"
    options = (" --llm" if request.by_llm else "") + (" --depth full" if request.full else "")
    return f"{', '.join(parts)}: {graph}. After new papers, `python ingest.py graph{options}` updates it."


def _read(passages: int, papers: int) -> str:
    return f"read {counted(passages, 'passage')} of {counted(papers, 'paper')}"


def _size(entities: int, relations: int) -> str:
    return f"{counted(entities, 'entity', 'entities')} and {counted(relations, 'relation')}"


def _tell(line: str, quiet: bool) -> None:
    if not quiet:
        say(line)


class GraphProgress:
    """Shows passages and the time left: in the terminal's last line, elsewhere a line now and then.

    Call it with each event.
    """

    def __init__(self, *, quiet: bool, seconds_between_lines: float = SECONDS_BETWEEN_LINES) -> None:
        self._quiet = quiet
        self._between = seconds_between_lines
        self._total = self._done = 0
        self._started = self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        STATUS.hide()
        if kind is KeyboardInterrupt and self._done:
            line = f"{self._done} of {counted(self._total, 'passage')} saved; the same command continues from there."
            _tell(line, self._quiet)

    def __call__(self, event: Event) -> None:
        """Show it, unless all is quiet."""
        if isinstance(event, ModelChosen):
            _tell(event.text, self._quiet)
        elif isinstance(event, PassagesRead):
            self._done, self._total = event.done, event.total
            if not self._quiet and self._total:
                self._show()

    def _show(self) -> None:
        now = time.monotonic()
        left = (now - self._started) / self._done * (self._total - self._done) if self._done else None
        if sys.stderr.isatty():
            about = f", about {rounded_time(left)} left" if left is not None else ""
            STATUS.show(f"reading passage {self._done:,} of {self._total:,}{about}", keeps_time=True)
        elif left is not None and now - self._said >= self._between:
            self._said = now
            say(f"[{self._done}/{self._total}] passages, about {left:.0f} s left")


def show_entity(engine: Engine, name: str, *, hops: int | None, most: int | None, together: bool, as_json: bool) -> int:
    """Print the entities of a name, and what is around them, nearest first, with pages. Raises NothingFound."""
    found = engine.graph.neighbours(name, hops=hops, most=most, together=together)
    if as_json:
        entities = [
            select(EntityOutput, one.entity, name=one.entity.label, type=one.entity.entity_type,
                   pages=page_outputs(one.pages))
            for one in found.entities
        ]  # fmt: skip
        relations = [select(RelationOutput, each, **step_output(each.step)) for each in found.relations]
        print_json(select(GraphOutput, found, entities=entities, relations=relations))
        return 0
    with paged() as out:
        for one in found.entities:
            entity, others = one.entity, [other for other in one.entity.names if other != one.entity.label]
            called = f"{entity.label} ({entity.entity_type})" + (f", also {', '.join(others)}" if others else "")
            _print(out, f"{called}: named {counted(entity.mentions, 'time')}, {_places(one.pages)}", "bold")
        for each in found.relations:
            words = f"{each.step.source} {each.step.relation} {each.step.target}"
            _print(out, f"{'  ' * each.depth}{words}  {_places(each.step.pages)}")
        reached = f"{counted(found.reached, 'entity', 'entities')} within {counted(found.hops, 'step')}"
        line = f"{reached}; {len(found.relations)} of {counted(found.walked, 'relation')} shown."
        if not found.walked:
            line = "No paper states a relation for it."
        if found.co_occurring:
            names = counted(found.co_occurring, "name")
            line += f" {names} only in the same sentence: --together shows them."
        _print(out, line, "dim")
    return 0


def show_path(engine: Engine, first: str, second: str, *, together: bool, as_json: bool) -> int:
    """Print how two things are connected, with a page for each step. Raises NothingFound."""
    names, steps = engine.graph.path(first, second, together=together)
    if as_json:
        shown = [step_output(step) for step in steps]
        print_json(select(GraphPathOutput, source=names[0], target=names[-1], steps=shown))
        return 0
    out = console()
    for step in steps:
        _print(out, _step(step))
    if not together and any(step.relation == CO_OCCURS for step in steps):
        say(f"No paper states how they are connected: {CO_OCCURS} means named in the same sentence.")
    return 0


def paths_view(found: Found, out: Console) -> None:
    """The graph's paths of stated relations for a question, a line each; nothing without any."""
    paths = [path for path in found.paths if all(step.relation != CO_OCCURS for step in path.steps)]
    if paths:
        _print(out, "Paths in the knowledge graph:", "dim")
    for path in paths:
        _print(out, f"  {path.score:.3f}  {'; '.join(map(_step, path.steps))}", "dim")


def show_related(engine: Engine, file: str, count: int, *, as_json: bool) -> int:
    """Print the papers most like one. Raises RagScienceError for an unknown paper, NothingFound without passages."""
    paper, related = engine.graph.related(file, count)
    if as_json:
        rows = [select(RelatedPaper, one, title=title_of(one), cosine=round(cosine, 6)) for one, cosine in related]
        print_json(select(RelatedOutput, paper, related=rows))
        return 0
    if not related:
        say("There are no other papers.")
    columns = (Column("cosine"), Column("file", least=16), Column("title", least=16))
    list_records(columns, [(f"{cosine:.3f}", other.file, title_of(other)) for other, cosine in related], console())
    return 0


def write_map(engine: Engine, target: Path, *, force: bool, quiet: bool) -> int:
    """Write the map and say what it shows. Raises NothingFound for an empty library, UsageError for another's file."""
    drawn = engine.graph.write_map(target, force=force)
    shown = f"{counted(drawn.papers, 'paper')}, {counted(drawn.entities, 'entity', 'entities')}"
    _tell(f"Written to {target}: {shown}. Open it in a browser. {drawn.left_out}".rstrip(), quiet)
    if not drawn.entities:
        _tell("No entities yet: `python ingest.py graph` finds them in the papers.", quiet)
    return 0


def _places(pages: Sequence[tuple[str, int]]) -> str:
    return " ".join(cited_label(file, page) for file, page in pages)


def _step(step: PathStep) -> str:
    return f"{step.source} {step.relation} {step.target} {_places(step.pages)}".strip()


def _print(out: Console, line: str, style: str = "") -> None:
    put(out, " ".join(plain(line).split()) if not line.startswith(" ") else plain(line), style=style)
