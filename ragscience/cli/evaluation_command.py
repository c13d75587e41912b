"""`query.py eval`: questions with known answers asked, and the measures as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.cli import options as opt
from ragscience.cli.output import console, flat, print_json, print_table, put
from ragscience.cli.running import SOME_FAILED, opened, say
from ragscience.cli.screen import Screen
from ragscience.cli.status_line import STATUS
from ragscience.engine.printable import counted, plain

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.events import Event
    from ragscience.evaluation.eval_report import Evaluation, Paired


MOST_FAILED = 20
"""How many failed questions are listed for one reason."""
IN_THE_TABLE = ("any@4", "all evidence", "answer", "cited", "refused", "rightly refused")
"""The measures shown by question type; --json has all of them."""


def evaluate(
    narrow: opt.Narrow,
    ranking: opt.Ranking,
    run: opt.Run,
    file: Path = opt.argument("FILE", "Questions with known answers, one JSON object per line."),
    mode: str = opt.option("--mode MODE", "How to answer: ask, agent, corrective, graph, or a profile (deep).", "ask"),
    against: str | None = opt.option("--against MODE", "Also run this mode, and compare the two question by question."),
    json: bool = opt.JSON,
) -> int:
    """Evaluate answers to questions whose answers are known.

    --against compares two modes.
    """
    from ragscience.engine.eval_runs import EvalRequest, check_modes, read_questions

    check_modes(mode, against)
    filters, modes = narrow.filters(), [mode, against] if against else [mode]
    screen = EvalScreen(quiet=run.quiet)
    with opened(screen, **ranking.flags(), **run.flags(), history=False) as engine:
        screen.keep_choices_in(engine.home.told)
        questions, bad = read_questions(engine, file, on_event=screen)
        request = EvalRequest(questions, file.name, bad, filters=filters, top_k=narrow.k)
        evaluations = [engine.evaluate(replace(request, mode=one), on_event=screen) for one in modes]
    STATUS.hide()
    _show(evaluations, as_json=json)
    return SOME_FAILED if bad or any(each.error for one in evaluations for each in one.outcomes) else 0


class EvalScreen(Screen):
    """Shows warnings and what failed, and counts the questions where a person watches."""

    def __call__(self, event: Event) -> None:
        """Show it."""
        from ragscience.engine.events import Noted, Progressed

        if isinstance(event, Noted):
            say(event.line)
        elif isinstance(event, Progressed):
            number = min(event.done + 1, event.total or 0)
            self.task = f"{event.what}, question {number} of {event.total}: "
        else:
            super().__call__(event)


def _show(evaluations: Sequence[Evaluation], *, as_json: bool) -> None:
    """The measures of one mode or two, on stdout."""
    from ragscience.evaluation.eval_report import Paired, eval_output

    first, second = evaluations[0], evaluations[1] if len(evaluations) > 1 else None
    out = console()
    if as_json:
        print_json(eval_output(first, second))
    elif second is None:
        show_evaluation(first, out)
    else:
        show_paired(Paired(first, second), out)


def show_evaluation(evaluation: Evaluation, out: Console) -> None:
    """Each measure, the types of question side by side, and the questions that failed."""
    from rich.text import Text

    from ragscience.evaluation.answer_metrics import MEASURES
    from ragscience.evaluation.eval_report import FAILURES, failed_questions, pages_of, shown

    _head(evaluation, out)
    rows = [(name, shown(found), str(found.questions), MEASURES[name]) for name, found in evaluation.overall.items()]
    print_table(("measure", "value (95 %)", "of", "meaning"), rows, out, wraps=("meaning",))
    out.print()
    kinds = [
        (kind, str(means["seconds"].questions),
         *(f"{means[name].mean:.2f}" if name in means else "–" for name in IN_THE_TABLE))
        for kind, means in evaluation.by_kind.items()
    ]  # fmt: skip
    print_table(("type", "questions", *IN_THE_TABLE), kinds, out, wraps=IN_THE_TABLE)
    for why, outcomes in failed_questions(evaluation.outcomes).items():
        put(out, f"\n{FAILURES[why]}: {len(outcomes):,}", style="bold")
        for outcome in outcomes[:MOST_FAILED]:
            known, pages = outcome.question, pages_of(outcome)
            line = Text(flat(known.question)).append(f"  ({plain(pages)})" if pages else "", "dim")
            put(out, line, f"  {plain(known.question_id)}  ")
        if len(outcomes) > MOST_FAILED:
            put(out, f"  and {len(outcomes) - MOST_FAILED:,} more: --json has every question with its values")


def show_paired(paired: Paired, out: Console) -> None:
    """Each measure of both ways, with the difference and how sure it is."""
    from ragscience.evaluation.eval_report import shown_difference

    _head(paired.first, out)
    _head(paired.second, out)
    rows = [
        (name, f"{found.first:.3f}", f"{found.second:.3f}", shown_difference(found), f"{found.higher}/{found.lower}",
         str(found.difference.questions))
        for name, found in paired.overall.items()
    ]  # fmt: skip
    heads = ("measure", *paired.names, "difference (95 %)", "higher/lower", "of")
    print_table(heads, rows, out, wraps=("difference (95 %)",))


def _head(evaluation: Evaluation, out: Console) -> None:
    conditions = ", ".join(f"{name} {value}" for name, value in evaluation.conditions.items())
    put(out, plain(f"{evaluation.source}: {counted(len(evaluation.outcomes), 'question')}"), style="bold")
    put(out, plain(conditions), style="dim")
