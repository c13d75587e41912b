"""What `ingest.py graph` does: passages become the knowledge graph, and the graph goes out, comes in and is mended."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.engine.printable import plain
from ragscience.errors import ModelProblem, UsageError
from ragscience.graph.entity_merging import load_graph
from ragscience.graph.extraction import Report, extract_by_llm, extract_locally, llm_version
from ragscience.graph.graph_records import ENTITY_TYPES, OPTIONAL_TYPES
from ragscience.store import Home, Library
from ragscience.terminal.cli import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ragscience.settings import Settings

__all__ = ["GraphOrder", "run_graph", "types_named"]

SOME_FAILED = 3
MOST_FAILURES_SHOWN = 20
SECONDS_BETWEEN_LINES = 5.0


@dataclass(frozen=True, slots=True)
class GraphOrder:
    """What was asked of `ingest.py graph`."""

    llm: bool = False
    local: bool = False
    full: bool = False
    again: bool = False
    types: Sequence[str] = ENTITY_TYPES
    export: Path | None = None
    graphml: Path | None = None
    import_from: Path | None = None
    merges: bool = False
    unmerge: str = ""
    merge_again: str = ""

    @property
    def reads(self) -> bool:
        """Whether passages are read: nothing else was asked for."""
        others = (self.export, self.graphml, self.import_from, self.merges, self.unmerge, self.merge_again)
        return self.llm or self.local or self.again or not any(others)


def types_named(text: str | None) -> tuple[str, ...]:
    """The types that are always looked for, and those of a list like "person,task". Raises UsageError."""
    named = [word.strip().upper().replace("ORGANIZATION", "ORGANISATION") for word in (text or "").split(",")]
    for word in filter(None, named):
        if word not in (*ENTITY_TYPES, *OPTIONAL_TYPES):
            known = ", ".join(OPTIONAL_TYPES).lower()
            raise UsageError(f"There is no type {word.lower()!r} of entities.", f"--types takes {known}.")
    return (*ENTITY_TYPES, *(kind for kind in OPTIONAL_TYPES if kind in named))


def run_graph(settings: Settings, order: GraphOrder, *, quiet: bool) -> int:
    """Do what was asked, in this order: merges and imports, reading, lists and exports; an exit code."""
    home = Home(settings.home)
    code = 0
    if order.reads or order.import_from or order.unmerge or order.merge_again:
        with Library.open_for_writing(home) as library:
            _mend(library, order, quiet=quiet)
            if order.reads:
                code = _read(settings, library, order, quiet=quiet)
    with Library.open(home) as library:
        _show(library, order, quiet=quiet)
    return code


def _mend(library: Library, order: GraphOrder, *, quiet: bool) -> None:
    if order.import_from:
        from ragscience.graph.graph_exchange import import_jsonl

        came = import_jsonl(library, order.import_from)
        _tell(f"imported {came.entities} entities and {came.relations} relations of {came.passages} passages", quiet)
    if order.unmerge or order.merge_again:
        from ragscience.graph.entity_merging import merge_again, undo_merge

        if order.unmerge:
            _tell(f"{undo_merge(library, order.unmerge)} is an entity of its own now", quiet)
        if order.merge_again:
            _tell(f"{merge_again(library, order.merge_again)} is merged again", quiet)


def _show(library: Library, order: GraphOrder, *, quiet: bool) -> None:
    if order.merges:
        from ragscience.graph.entity_merging import list_merges, names_apart

        for merge in list_merges(library):
            sys.stdout.write(plain(f"{merge.label} ({merge.entity_type}): {' | '.join(merge.names)}") + "\n")
        for name in names_apart(library):
            sys.stdout.write(plain(f"apart: {name}") + "\n")
    if order.export or order.graphml:
        from ragscience.graph.graph_exchange import export_graphml, export_jsonl

        if order.export:
            went = export_jsonl(library, order.export)
            _tell(f"{went.entities} entities and {went.relations} relations are in {order.export}", quiet)
        if order.graphml:
            went = export_graphml(library, order.graphml)
            _tell(f"{went.entities} entities and {went.relations} relations are in {order.graphml}", quiet)


def _read(settings: Settings, library: Library, order: GraphOrder, *, quiet: bool) -> int:
    """Read what is pending, tell what came of it; an exit code."""
    if order.again:
        library.graph.clear("llm" if order.llm else "local")
    with GraphProgress(quiet=quiet) as progress:
        report = _by_llm(settings, library, order, progress) if order.llm else _locally(library, order, progress)
    for line in report.failures[:MOST_FAILURES_SHOWN]:
        say(line)
    if len(report.failures) > MOST_FAILURES_SHOWN:
        say(f"and {len(report.failures) - MOST_FAILURES_SHOWN} more of this kind")
    graph = load_graph(library)
    _tell(_summary(report, len(graph), graph.relation_count, order), quiet)
    return SOME_FAILED if report.failures else 0


def _locally(library: Library, order: GraphOrder, progress: GraphProgress) -> Report:
    return extract_locally(library, order.types, progress)


def _by_llm(settings: Settings, library: Library, order: GraphOrder, progress: GraphProgress) -> Report:
    from ragscience.terminal.models_of import llm_of

    wanted = settings if settings.answerer == "ollama" else settings.model_copy(update={"answerer": "ollama"})
    llm = llm_of(wanted, progress.tell)
    if llm is None:
        raise ModelProblem("There is no LLM to read with.", "`python ingest.py graph --local` reads without one.")
    return extract_by_llm(
        library,
        llm,
        order.types,
        progress,
        version=llm_version(f"{llm.name} {llm.digest[:12]}".strip(), order.types),
        full=order.full,
        max_tokens=settings.max_answer_tokens,
        seconds=settings.answer_seconds,
        most_failures=settings.llm_failures,
    )


def _summary(report: Report, entities: int, relations: int, order: GraphOrder) -> str:
    """What a run did, in one line."""
    graph = f"the graph has {entities} entities and {relations} relations"
    if not report.passages and not report.failures:
        what = "nothing new to read"
    else:
        what = f"read {report.passages} passages of {report.papers} papers"
    parts = [what]
    if report.dropped:
        parts.append(f"{report.dropped} things that the model said were not kept")
    if report.failures:
        parts.append(f"{len(report.failures)} failed")
    if report.left:
        parts.append(f"{report.left} passages left for the next run")
    command = "python ingest.py graph" + (" --llm" if order.llm else "") + (" --depth full" if order.full else "")
    return f"{', '.join(parts)}: {graph}. After new papers, `{command}` brings it in step."


def _tell(line: str, quiet: bool) -> None:
    if not quiet:
        say(line)


class GraphProgress:
    """A Watcher for people: passages and time left; a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, *, quiet: bool, seconds_between_lines: float = SECONDS_BETWEEN_LINES) -> None:
        self._quiet = quiet
        self._between = seconds_between_lines
        self._passages = self._done = 0
        self._started = self._said = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()
        if kind is KeyboardInterrupt and self._done:
            self.tell(f"{self._done} of {self._passages} passages are kept; the same command goes on from there.")

    def tell(self, line: str) -> None:
        """A notice, unless all is quiet."""
        _tell(line, self._quiet)

    def begin(self, passages: int) -> None:
        """Show how many passages there are to read."""
        self._passages = passages
        if self._quiet or not passages or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.completed:.0f}/{task.total:.0f} passages"), BarColumn(), TimeRemainingColumn()
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=passages)
        self._bar.start()

    def read(self, passages: int) -> None:
        """Count them, and show the time that is left."""
        self._done += passages
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=self._done)
        now = time.monotonic()
        if self._bar or self._quiet or now - self._said < self._between:
            return
        self._said = now
        left = (now - self._started) / self._done * (self._passages - self._done)
        say(f"[{self._done}/{self._passages}] passages, about {left:.0f} s left")

    def failed(self, line: str) -> None:
        """Nothing yet: what failed is listed at the end, where it is seen."""
