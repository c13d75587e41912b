"""What an evaluation found, as a person sees it: tables with bars, in a pipe without colours."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragscience.cli.cli import say
from ragscience.cli.line_wrap import put
from ragscience.cli.links import can_encode
from ragscience.cli.screen import Screen, console, print_json
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import UsageError
from ragscience.engine.eval_runs import (
    COSTS,
    EXPLAINED,
    FAILURES,
    EvalFailed,
    EvalRequest,
    Evaluation,
    Mode,
    Paired,
    QuestionAnswered,
    as_line,
    as_markdown,
    eval_output,
    failed_questions,
    pages_of,
    read_questions,
    shown,
    shown_difference,
    shown_p,
)
from ragscience.engine.events import Event
from ragscience.engine.printable import counted, plain

if TYPE_CHECKING:
    from ragscience.engine.library_engine import Engine

__all__ = ["EvalOutput", "EvalScreen", "bar", "run_drafting", "run_eval", "show_evaluation", "show_paired"]

SOME_FAILED = 3

MOST_FAILED = 20
"""How many failed questions are listed for one reason."""
BAR_CELLS = 12
PIPE_COLUMNS = 160
"""Width of a table when stdout is not a terminal."""
ROOM_FOR_MEANING = 100
"""Terminal width, in columns, from which the meaning of each measure is shown."""
IN_THE_TABLE = ("any@4", "all evidence", "answer", "cited", "refused", "rightly refused")
"""The measures shown by question type; --json and --md have all of them."""
SURE = 0.05
"""p-values below this are shown bold."""


def bar(share: float, *, blocks: bool) -> str:
    """A bar of BAR_CELLS cells for a share from 0 to 1, "███·········" or "###---------"; only 0 has none filled."""
    filled = min(BAR_CELLS, max(round(share * BAR_CELLS), int(share > 0)))
    full, empty = ("█", "·") if blocks else ("#", "-")
    return full * filled + empty * (BAR_CELLS - filled)


def show_evaluation(evaluation: Evaluation, out: Console) -> None:
    """Each measure with its bar, then the types of question side by side."""
    _head(evaluation, out)
    headings = ("meaning",) if out.width >= ROOM_FOR_MEANING else ()
    table = _table(("measure", "", "value (95 %)", "of", *headings))
    for name, found in evaluation.overall.items():
        meaning = [EXPLAINED[name]] if headings else []
        table.add_row(name, _bar(name, found.mean, out), shown(found), str(found.questions), *meaning)
    out.print(table)
    out.print()
    kinds = Table(box=None, pad_edge=False)
    for column in ("type", "questions", *IN_THE_TABLE):
        kinds.add_column(
            column, justify="left" if column == "type" else "right", no_wrap=column in ("type", "questions")
        )
    for kind, means in evaluation.by_kind.items():
        shares = (f"{means[name].mean:.2f}" if name in means else "–" for name in IN_THE_TABLE)
        kinds.add_row(Text(plain(kind)), str(means["seconds"].questions), *shares)
    out.print(kinds)
    _failed(evaluation, out)


def _failed(evaluation: Evaluation, out: Console) -> None:
    """The questions that failed, by why they did, each with the pages that have its answer; MOST_FAILED a kind."""
    for why, outcomes in failed_questions(evaluation.outcomes).items():
        out.print()
        put(out, f"{FAILURES[why]}: {len(outcomes):,}", style="bold")
        for outcome in outcomes[:MOST_FAILED]:
            known, pages = outcome.question, pages_of(outcome)
            line = Text(" ".join(plain(known.question).split()))
            line.append(f"  ({plain(pages)})" if pages else "", "dim")
            put(out, line, f"  {plain(known.question_id)}  ")
        if len(outcomes) > MOST_FAILED:
            put(out, f"and {len(outcomes) - MOST_FAILED:,} more: --json has every question with its values", "  ")


def show_paired(paired: Paired, out: Console) -> None:
    """Each measure of both ways, one bar over the other, with the difference and how sure it is."""
    _head(paired.first, out)
    _head(paired.second, out)
    table = _table(("measure", "", "", "value", "difference (95 %)", "higher/lower", "p", "of"))
    first, second = paired.names
    for found in paired.overall:
        table.add_row(found.measure, first, _bar(found.measure, found.first, out), f"{found.first:.3f}")
        table.add_row(
            "",
            second,
            _bar(found.measure, found.second, out),
            f"{found.second:.3f}",
            shown_difference(found),
            f"{found.higher}/{found.lower}",
            Text(shown_p(found.p), style="bold" if found.p < SURE else ""),
            str(found.difference.questions),
        )
    out.print(table)


def _head(evaluation: Evaluation, out: Console) -> None:
    if not out.is_terminal:
        out.width = PIPE_COLUMNS
    conditions = ", ".join(f"{name} {value}" for name, value in evaluation.conditions.items())
    put(out, plain(f"{evaluation.source}: {counted(len(evaluation.outcomes), 'question')}"), style="bold")
    put(out, plain(conditions), style="dim")


def _bar(measure: str, value: float, out: Console) -> Text:
    if measure in COSTS:
        return Text("")
    return Text(bar(value, blocks=can_encode("█·", out.file)), style="cyan")


def _table(columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=name != "meaning")
    return table


class EvalScreen(Screen):
    """Shows warnings and what failed, and counts the questions where a person watches."""

    def __call__(self, event: Event) -> None:
        """Show it."""
        if isinstance(event, EvalFailed):
            say(event.text)
        elif isinstance(event, QuestionAnswered):
            self._count(event)
        else:
            super().__call__(event)

    def _count(self, event: QuestionAnswered) -> None:
        number = min(event.done + 1, event.total)
        self.task = f"{event.mode}, question {number} of {event.total}: "


@dataclass(frozen=True, slots=True)
class EvalOutput:
    """Where events and measures go; without JSON, tables on stdout."""

    screen: EvalScreen
    as_json: bool = False
    markdown: Path | None = None


def run_eval(engine: Engine, file: Path, modes: Sequence[Mode], request: EvalRequest, output: EvalOutput) -> int:
    """Ask every question of `file` in one mode or two, and show the measures; an exit code.

    It is SOME_FAILED for bad lines and failures. Raises UsageError where there is no question at all, no folder for the
    page, or no model that could judge.
    """
    if output.markdown is not None and not output.markdown.absolute().parent.is_dir():
        raise UsageError(f"{output.markdown.parent} is no folder.", "Name a file in an existing folder.")
    screen = output.screen
    questions, bad = read_questions(engine.shared, file, on_event=screen)
    evaluations = []
    for mode in modes:
        asked = replace(request, questions=questions, source=file.name, bad_lines=bad, mode=mode)
        evaluations.append(engine.evaluate(asked, on_event=screen))
    STATUS.hide()
    first, second = evaluations[0], evaluations[1] if len(evaluations) > 1 else None
    if output.markdown is not None:
        output.markdown.write_text(as_markdown(first, second), encoding="utf-8")
    if output.as_json:
        print_json(eval_output(first, second))
    elif second is None:
        show_evaluation(first, console())
    else:
        show_paired(Paired(first, second), console())
    return SOME_FAILED if bad or any(each.error for one in evaluations for each in one.outcomes) else 0


def run_drafting(engine: Engine, count: int, papers: tuple[str, ...], target: Path | None, screen: EvalScreen) -> int:
    """Write `count` drafts to `target`, or to stdout for None, a JSON object a line; an exit code.

    Raises UsageError where `target` is there already, and NothingFound where no paper gives a question.
    """
    if target is not None and target.exists():
        raise UsageError(f"{target} already exists.", "Name another file; corrected questions are never overwritten.")
    if target is not None and not target.absolute().parent.is_dir():
        raise UsageError(f"{target.parent} is no folder.", "Name a file in an existing folder.")
    made = engine.draft_questions(count, papers=papers, on_event=screen)
    lines = "".join(f"{as_line(draft, number)}\n" for number, draft in enumerate(made, start=1))
    if target is None:
        sys.stdout.write(lines)
    else:
        target.write_text(lines, encoding="utf-8")
    if len(made) < count:
        screen.warn(f"Only {len(made)} of {counted(count, 'question')} could be drafted.")
    drafted = f"{counted(len(made), 'draft')}{f' in {target}' if target is not None else ''}"
    screen.warn(f'{drafted}: correct the wrong ones, remove "draft" from the right ones, then run eval on the file.')
    return 0
