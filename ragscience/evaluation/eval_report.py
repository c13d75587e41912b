"""What an evaluation found, as numbers for machines and as a page for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from typing_extensions import TypedDict

from ragscience.core.serialization import Count, Output, Schema, select
from ragscience.evaluation.answer_metrics import Estimate, summary
from ragscience.evaluation.eval_run import Outcome
from ragscience.evaluation.paired_comparison import Comparison, compare
from ragscience.evaluation.question_file import BadLine

__all__ = ["EXPLAINED", "Evaluation", "Paired", "as_markdown", "eval_output", "shown", "shown_difference", "shown_p"]

EXPLAINED = {
    "any@1": "a page with evidence is touched by the first passage",
    "full@1": "the first passage touches a page of each evidence",
    "any@4": "a page with evidence is touched by one of the first 4 passages",
    "full@4": "a page of each evidence is touched by one of the first 4 passages",
    "evidence": "share of the evidence that has a page among all passages given",
    "all evidence": "whether that is all of it",
    "answer": "all that a right answer must hold is in the answer's own words",
    "first quote": "it is in the first quote alone",
    "passages": "it is in the passages that the answer was made from",
    "cited": "at least one citation is on a page with evidence",
    "cited share": "share of an answer's citations that are on such a page",
    "unsupported": "share of claims that no cited page supports",
    "refused": "refused, though the papers answer it",
    "doubted": "refused, or of low confidence, though the papers answer it",
    "rightly refused": "refused, as the papers do not answer it: the recall of refusals",
    "rightly doubted": "refused, or of low confidence, as the papers do not answer it",
    "refusal precision": "of what was refused, the papers do not answer it",
    "sure and right": "of the answers of high confidence: it holds what a right answer must",
    "faithfulness": "judged by the model: share of the answer's statements that the passages support",
    "answer relevance": "judged: how near the questions that the answer would answer are to the one asked",
    "context precision": "judged: whether the passages that are of use come first",
    "searches": "for one question",
    "LLM calls": "for one question",
    "tokens": "of prompts and replies together",
    "seconds": "from question to answer",
}
"""Each measure in a few words; answer_metrics.py defines it."""
COMPARED_BY_KIND = ("evidence", "all evidence", "answer", "cited", "rightly refused", "searches", "seconds")
"""What a page compares for each type of question; the JSON has everything."""


class OutcomeOutput(TypedDict):
    """One question."""

    id: str
    type: str
    question: str
    answer: str | None
    error: str | None
    values: Mapping[str, float]
    """By the name of the measure."""


class Measured(TypedDict):
    """All questions in one mode."""

    conditions: Mapping[str, str]
    measures: Annotated[Mapping[str, Estimate], Schema(description="By the name of the measure.")]
    types: Annotated[Mapping[str, Mapping[str, Estimate]], Schema(description="By the type of question, then measure.")]
    outcomes: Sequence[OutcomeOutput]


class Comparisons(TypedDict):
    """By the name of the measure, over all questions and by the type of question."""

    measures: Mapping[str, Comparison]
    types: Mapping[str, Mapping[str, Comparison]]


class EvalOutput(Output, Measured):
    """`eval`."""

    source: str
    """The name of the file of questions."""
    questions: Count
    bad_lines: Sequence[BadLine]
    against: Measured | None
    """The same questions in the mode that `--against` names."""
    comparison: Comparisons | None


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


def eval_output(evaluation: Evaluation, against: Evaluation | None = None) -> EvalOutput:
    """What `eval --json` prints: means with their intervals, and each question's own values."""
    paired = None if against is None else Paired(evaluation, against)
    return select(
        EvalOutput,
        evaluation,
        **_measured(evaluation),
        questions=len(evaluation.outcomes),
        against=against and _measured(against),
        comparison=paired and {"measures": paired.overall, "types": paired.by_kind},
    )


def _measured(evaluation: Evaluation) -> Measured:
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


def as_markdown(evaluation: Evaluation, against: Evaluation | None = None) -> str:
    """A page of Markdown: what was asked of what, the measures, and the same by type of question.

    With a second evaluation of the same questions its measures follow, after the two have been compared.
    """
    lines = [f"# {_cell(evaluation.source)}", ""]
    if against is None:
        lines += _evaluated(evaluation, "##")
    else:
        paired = Paired(evaluation, against)
        lines += [*_compared(paired), ""]
        for name, each in zip(paired.names, (evaluation, against), strict=True):
            lines += [f"## {_cell(name)}", "", *_evaluated(each, "###"), ""]
    if evaluation.bad_lines:
        lines += ["", "## Lines left out", ""]
        lines += [f"- line {bad.line}: {_cell(bad.reason)}" for bad in evaluation.bad_lines]
    return "\n".join(lines).rstrip() + "\n"


def _evaluated(evaluation: Evaluation, heading: str) -> list[str]:
    conditions = ", ".join(f"{name} {value}" for name, value in evaluation.conditions.items())
    lines = [
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
    lines += ["", f"{heading} By type of question", "", *_table(["type", *names], rows)]
    failed = [outcome for outcome in evaluation.outcomes if outcome.error]
    if failed:
        lines += ["", f"{heading} What failed", ""]
        lines += [f"- {_cell(outcome.question.question_id)}: {_cell(outcome.error)}" for outcome in failed]
    return lines


def _compared(paired: Paired) -> list[str]:
    first, second = map(_cell, paired.names)
    columns = ["measure", first, second, "difference", "higher / lower", "p", "test", "questions"]
    lines = [
        f"## {first} and {second}, question by question",
        "",
        f"The difference is {second} minus {first}, with its 95 % bootstrap interval; higher / lower: on how many "
        "questions it is. p is two-sided (McNemar, exact, or sign flip) and not corrected for the number of measures.",
        "",
        *_table(columns, [[name, *_cells(found)] for name, found in paired.overall.items()]),
        "",
        "### By type of question",
        "",
    ]
    kinds = [(_cell(kind), name, found) for kind, each in paired.by_kind.items() for name, found in each.items()]
    rows = [[kind, name, *_cells(found)] for kind, name, found in kinds if name in COMPARED_BY_KIND]
    return [*lines, *_table(["type", *columns], rows)]


def _cells(found: Comparison) -> list[str]:
    return [
        f"{found.first:.3f}",
        f"{found.second:.3f}",
        shown_difference(found),
        f"{found.higher} / {found.lower}",
        shown_p(found.p),
        found.test,
        str(found.difference.questions),
    ]


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


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return [*head, *("| " + " | ".join(row) + " |" for row in rows)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
