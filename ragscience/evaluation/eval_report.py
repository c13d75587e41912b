"""Questions with known answers are asked and measured; what came of them, and of two ways of asking, as numbers.

A difference between two means of the same questions is judged by the questions on which they differ, not by the two
intervals; nothing is corrected for how many measures are looked at.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragscience.core.paper_records import place_label
from ragscience.core.records import Answer
from ragscience.core.serialization import select
from ragscience.evaluation.answer_metrics import COSTS, MEASURES, Estimate, estimate, summary
from ragscience.evaluation.question_file import BadLine, KnownQuestion

_ROUNDING = 1e-9
_NOT_PAIRED = ("refusal precision",)
"""Measured on the refused questions alone, which are others for each way of asking."""


def cost_of(answer: Answer | None, seen: Counter[str], seconds: float) -> dict[str, float]:
    """The cost by the names of COSTS: what was `seen` while it was asked, or what the answer says if that is more."""
    said: Counter[str] = Counter()
    if answer is not None:
        steps = answer.trace
        said["searches"] = sum(step.searches for step in steps)
        said["LLM calls"] = max(sum(step.llm_calls for step in steps), int(answer.mode == "llm"))
        counted = answer.tokens.get("prompt", 0) + answer.tokens.get("answer", 0)
        said["tokens"] = max(counted, sum(step.tokens for step in steps))
    return {name: float((seen | said)[name]) for name in COSTS} | {"seconds": seconds}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, and what came of it."""

    question: KnownQuestion
    answer: Answer | None
    """None where it failed,"""
    error: str
    """for this reason; empty otherwise."""
    values: Mapping[str, float]
    """By the names of metrics.MEASURES."""


FAILURES = {
    "error": "Ended in an error",
    "refused": "Refused, though the papers answer it",
    "page": "Page with the answer not found",
    "answer": "Answer lacks what it must have",
    "cited": "Right page found, but not cited",
    "not refused": "Answered, though the papers do not",
}
"""Why a question counts as failed, the gravest first; a question is in the first that fits."""


def failed_questions(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The questions that failed by why they did (a key of FAILURES, in its order), each in the order of the file."""
    reasons = [(_why(outcome), outcome) for outcome in outcomes]
    found = {why: [outcome for reason, outcome in reasons if reason == why] for why in FAILURES}
    return {why: failed for why, failed in found.items() if failed}


def _why(outcome: Outcome) -> str:
    values = outcome.values
    if outcome.error:
        return "error"
    if not outcome.question.answerable:
        return "" if values.get("rightly refused", 1.0) else "not refused"
    if values.get("refused"):
        return "refused"
    measures = (("page", "all evidence"), ("answer", "answer"), ("cited", "cited"))
    return next((why for why, name in measures if values.get(name, 1.0) < 1.0), "")


def pages_of(outcome: Outcome) -> str:
    """The pages that have the answer: `a.pdf, p.3; b.pdf, p.1 or p.2`; empty where none is known."""
    facts = []
    for places in outcome.question.evidence:
        files: dict[str, list[str]] = {}
        for file, page in sorted(places):
            files.setdefault(file, []).append(place_label(file, page))
        facts.append(" or ".join(f"{file}, {' or '.join(pages)}" for file, pages in files.items()))
    return "; ".join(dict.fromkeys(facts))


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of two ways of asking, on the questions that have it in both."""

    first: float
    """Its mean with the first way,"""
    second: float
    """and with the second."""
    difference: Estimate
    """Second minus first: the mean over the questions, and its bootstrap interval."""
    higher: int
    """On how many questions the second is higher,"""
    lower: int
    """and on how many it is lower."""


def compare(
    first: Mapping[str, Mapping[str, float]], second: Mapping[str, Mapping[str, float]]
) -> dict[str, Comparison]:
    """Each measure that is there for some question in both, in the order of MEASURES.

    `first` and `second` map a question's id to its values.
    """
    both = [(first[key], second[key]) for key in first if key in second]
    found = {}
    for name in MEASURES:
        pairs = [(one[name], other[name]) for one, other in both if name in one and name in other]
        if pairs and name not in _NOT_PAIRED:
            found[name] = paired(pairs)
    return found


def paired(pairs: Sequence[tuple[float, float]]) -> Comparison:
    """The comparison of one measure, from its values (first, second) on each question; there is at least one."""
    values = np.asarray(pairs, np.float64)
    differences = values[:, 1] - values[:, 0]
    higher, lower = int((differences > _ROUNDING).sum()), int((differences < -_ROUNDING).sum())
    first, second = (float(mean) for mean in values.mean(axis=0))
    return Comparison(first, second, estimate(differences.tolist()), higher, lower)


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


def shown(found: Estimate) -> str:
    """A mean and its interval: "0.690 (0.58–0.79)"."""
    return f"{found.mean:.3f} ({found.low:.2f}–{found.high:.2f})"
