"""What an evaluation found, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragscience.core.serialization import select
from ragscience.evaluation.answer_metrics import Estimate, summary
from ragscience.evaluation.eval_run import Outcome
from ragscience.evaluation.paired_comparison import Comparison, compare
from ragscience.evaluation.question_file import BadLine

__all__ = ["Evaluation", "Paired", "eval_output", "shown", "shown_difference", "shown_p"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that came of a set of questions."""

    source: str
    """The name of the file of questions."""
    outcomes: tuple[Outcome, ...]
    bad_lines: tuple[BadLine, ...]
    conditions: Mapping[str, str]
    """How it was searched and answered, name by name."""

    @property
    def overall(self) -> dict[str, Estimate]:
        """Each measure over all questions that have it."""
        return summary([outcome.values for outcome in self.outcomes])

    @property
    def by_kind(self) -> dict[str, dict[str, Estimate]]:
        """The same for each type of question, sorted by name."""
        kinds = sorted({outcome.question.kind for outcome in self.outcomes})
        return {kind: summary([o.values for o in self.outcomes if o.question.kind == kind]) for kind in kinds}


@dataclass(frozen=True, slots=True)
class Paired:
    """Two ways of asking, on the same questions."""

    first: Evaluation
    second: Evaluation

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called."""
        return self.first.conditions.get("mode", "first"), self.second.conditions.get("mode", "second")

    @property
    def overall(self) -> dict[str, Comparison]:
        """Each measure, on all questions that have it in both."""
        return compare(_values(self.first), _values(self.second))

    @property
    def by_kind(self) -> dict[str, dict[str, Comparison]]:
        """The same for each type of question, sorted by name."""
        kinds = sorted({outcome.question.kind for outcome in self.first.outcomes})
        return {kind: compare(_values(self.first, kind), _values(self.second)) for kind in kinds}


def _values(evaluation: Evaluation, kind: str | None = None) -> dict[str, Mapping[str, float]]:
    return {o.question.question_id: o.values for o in evaluation.outcomes if kind in (None, o.question.kind)}


def eval_output(evaluation: Evaluation, against: Evaluation | None = None) -> dict[str, Any]:
    """What `eval --json` prints: means with their intervals, and each question's own values."""
    paired = None if against is None else Paired(evaluation, against)
    return select(
        "schema conditions measures types outcomes source questions bad_lines against comparison",
        evaluation,
        **_measured(evaluation),
        questions=len(evaluation.outcomes),
        against=against and _measured(against),
        comparison=paired and {"measures": paired.overall, "types": paired.by_kind},
    )


def _measured(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "conditions": evaluation.conditions,
        "measures": evaluation.overall,
        "types": evaluation.by_kind,
        "outcomes": [
            {
                "id": outcome.question.question_id,
                "type": outcome.question.kind,
                "question": outcome.question.question,
                "answer": outcome.answer.text if outcome.answer else None,
                "error": outcome.error or None,
                "values": outcome.values,
            }
            for outcome in evaluation.outcomes
        ],
    }


def shown_difference(found: Comparison) -> str:
    """A difference and its interval, with signs: "+0.120 (-0.01 to +0.25)"."""
    each = found.difference
    return f"{each.mean:+.3f} ({each.low:+.2f} to {each.high:+.2f})"


def shown_p(p: float) -> str:
    """A p-value with three decimals: "0.031", or "<0.001"."""
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"


def shown(found: Estimate) -> str:
    """A mean and its interval: "0.690 (0.58–0.79)"."""
    return f"{found.mean:.3f} ({found.low:.2f}–{found.high:.2f})"
