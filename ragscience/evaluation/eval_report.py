"""What an evaluation found, as numbers, and whether one way of asking is better than another on the same questions.

A difference between two means of the same questions is judged by the questions on which they differ, not by the two
intervals. Both tests are two-sided and exact where that can be afforded; nothing is corrected for how many measures are
looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.core.serialization import select
from ragscience.evaluation.answer_metrics import MEASURES, SEED, Estimate, estimate, summary
from ragscience.evaluation.eval_run import Outcome
from ragscience.evaluation.question_file import BadLine

ENUMERATED = 14
"""Differences up to which all 2**n signs are tried."""
FLIPS = 20_000
"""Random signs tried beyond that."""
_AT_ONCE = 500
_ROUNDING = 1e-9
_NOT_PAIRED = ("refusal precision",)
"""Measured on the refused questions alone, which are others for each way of asking."""


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
    p: float
    """How likely a difference as large would be if the two were alike."""
    test: str
    """ "McNemar" is the exact test."""


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
    """The comparison of one measure, from its values (first, second) on each question, of which there is at least one.

    Measures that are 0 or 1 everywhere are tested by McNemar's test, all others by sign_flip.
    """
    values = np.asarray(pairs, np.float64)
    differences = values[:, 1] - values[:, 0]
    higher, lower = int((differences > _ROUNDING).sum()), int((differences < -_ROUNDING).sum())
    if np.isin(values, (0.0, 1.0)).all():
        p, test = mcnemar(higher, lower), "McNemar"
    else:
        p, test = sign_flip(differences), "sign flip"
    first, second = (float(mean) for mean in values.mean(axis=0))
    return Comparison(first, second, estimate(differences.tolist()), higher, lower, p, test)


def mcnemar(higher: int, lower: int) -> float:
    """The exact p-value of so many questions won and lost: two-sided, binomial with one half.

    McNemar 1947, "Note on the sampling error of the difference between correlated proportions or percentages", in its
    exact form (Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91, section 2.3).
    """
    total = higher + lower
    tail = sum(comb(total, i) for i in range(min(higher, lower) + 1))
    return min(1.0, 2 * tail / (1 << total))


def sign_flip(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """The p-value of a mean difference: how often it is as far from 0 with signs at random.

    Fisher's randomisation test for pairs (The Design of Experiments, 1935, section 21). All signs are tried for up to
    ENUMERATED differences that are not 0; beyond that FLIPS random ones with a fixed seed, the real ones counted in
    (Phipson and Smyth 2010, "Permutation p-values should never be zero").
    """
    kept = np.asarray(differences, np.float64)
    kept = kept[np.abs(kept) > _ROUNDING]
    if not kept.size:
        return 1.0
    # A little less than it is, so that sums which differ by rounding alone count as equal.
    observed = float(np.abs(kept.sum()) - _ROUNDING * np.abs(kept).sum())
    if kept.size <= ENUMERATED:
        bits = (np.arange(2**kept.size)[:, None] >> np.arange(kept.size)) & 1
        return float(np.mean(np.abs((1 - 2 * bits) @ kept) >= observed))
    draw, as_far = np.random.default_rng(SEED), 0
    for _ in range(FLIPS // _AT_ONCE):
        signs = draw.choice(np.array([-1.0, 1.0]), (_AT_ONCE, kept.size))
        as_far += int(np.count_nonzero(np.abs(signs @ kept) >= observed))
    return (as_far + 1) / (FLIPS + 1)


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
