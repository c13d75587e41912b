"""What an evaluation found, as a person sees it: tables with bars, in a pipe without colours."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragscience.engine.printable import plain
from ragscience.evaluation.answer_metrics import COSTS
from ragscience.evaluation.eval_report import EXPLAINED, Evaluation, Paired, shown, shown_difference, shown_p
from ragscience.terminal.views import can_encode

__all__ = ["bar", "show_evaluation", "show_paired"]

BAR_CELLS = 12
PIPE_COLUMNS = 160
"""How wide a table may be where nobody's terminal limits it."""
ROOM_FOR_MEANING = 100
"""Columns of a terminal from which on it is told what a measure means."""
IN_THE_TABLE = ("any@4", "all evidence", "answer", "cited", "refused", "rightly refused")
"""What the table by type has room for; --json and --md have everything."""
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
    told = ("meaning",) if out.width >= ROOM_FOR_MEANING else ()
    table = _table(("measure", "", "value (95 %)", "of", *told))
    for name, found in evaluation.overall.items():
        meaning = [EXPLAINED[name]] if told else []
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
    out.print(Text(plain(f"{evaluation.source}: {len(evaluation.outcomes)} questions")), style="bold", soft_wrap=True)
    out.print(Text(plain(conditions)), style="dim", soft_wrap=True)


def _bar(measure: str, value: float, out: Console) -> Text:
    if measure in COSTS:
        return Text("")
    return Text(bar(value, blocks=can_encode("█·", out.file)), style="cyan")


def _table(columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=name != "meaning")
    return table
