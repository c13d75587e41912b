"""What an evaluation found, as numbers for machines and as a page for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragscience.evaluation.metrics import Estimate, summary
from ragscience.evaluation.questions import BadLine
from ragscience.evaluation.running import Outcome

__all__ = ["Evaluation", "as_json", "as_markdown", "shown"]

EXPLAINED = {
    "any@1": "a page with evidence is touched by the first passage",
    "full@1": "the first passage touches a page of each evidence",
    "any@4": "a page with evidence is touched by one of the first 4 passages",
    "full@4": "a page of each evidence is touched by one of the first 4 passages",
    "answer": "all that a right answer must hold is in the answer's own words",
    "passages": "it is in the passages that the answer was made from",
    "cited": "at least one citation is on a page with evidence",
    "cited share": "share of an answer's citations that are on such a page",
    "refused": "refused, though the papers answer it",
    "rightly refused": "refused, as the papers do not answer it",
    "seconds": "from question to answer",
}
"""Each measure in a few words; metrics.py says it exactly."""


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


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Everything, as JSON: means with low and high ends of their intervals, and each question's own values."""
    return {
        "source": evaluation.source,
        "questions": len(evaluation.outcomes),
        "conditions": dict(evaluation.conditions),
        "measures": _estimates(evaluation.overall),
        "types": {kind: _estimates(found) for kind, found in evaluation.by_kind.items()},
        "outcomes": [
            {
                "id": outcome.question.question_id,
                "type": outcome.question.kind,
                "question": outcome.question.question,
                "answer": outcome.answer.text if outcome.answer else None,
                "error": outcome.error or None,
                "values": dict(outcome.values),
            }
            for outcome in evaluation.outcomes
        ],
        "bad_lines": [{"line": bad.number, "reason": bad.reason} for bad in evaluation.bad_lines],
    }


def as_markdown(evaluation: Evaluation) -> str:
    """A page of Markdown: what was asked of what, the measures, and the same by type of question."""
    conditions = ", ".join(f"{name} {value}" for name, value in evaluation.conditions.items())
    lines = [
        f"# {_cell(evaluation.source)}",
        "",
        f"{len(evaluation.outcomes)} questions; {_cell(conditions)}. In brackets: 95 % bootstrap interval.",
        "",
        *_table(
            ["measure", "value", "questions", "meaning"],
            [[name, shown(found), str(found.questions), EXPLAINED[name]] for name, found in evaluation.overall.items()],
        ),
    ]
    names = list(evaluation.overall)
    rows = [
        [_cell(kind), *(shown(found[name]) if name in found else "–" for name in names)]
        for kind, found in evaluation.by_kind.items()
    ]
    lines += ["", "## By type of question", "", *_table(["type", *names], rows)]
    failed = [outcome for outcome in evaluation.outcomes if outcome.error]
    if failed or evaluation.bad_lines:
        lines += ["", "## What failed", ""]
        lines += [f"- {_cell(outcome.question.question_id)}: {_cell(outcome.error)}" for outcome in failed]
        lines += [f"- line {bad.number}: {_cell(bad.reason)}" for bad in evaluation.bad_lines]
    return "\n".join(lines) + "\n"


def shown(found: Estimate) -> str:
    """A mean and its interval: "0.690 (0.58–0.79)"."""
    return f"{found.mean:.3f} ({found.low:.2f}–{found.high:.2f})"


def _estimates(found: Mapping[str, Estimate]) -> dict[str, Any]:
    return {
        name: {"mean": each.mean, "low": each.low, "high": each.high, "questions": each.questions}
        for name, each in found.items()
    }


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return [*head, *("| " + " | ".join(row) + " |" for row in rows)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
