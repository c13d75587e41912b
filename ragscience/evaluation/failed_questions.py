"""Which questions of an evaluation were not answered rightly, and why, in words."""

from __future__ import annotations

from collections.abc import Iterable

from ragscience.evaluation.eval_run import Outcome

__all__ = ["FAILURES", "failed_questions", "pages_of"]

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
    found: dict[str, list[Outcome]] = {why: [] for why in FAILURES}
    for outcome in outcomes:
        why = _why(outcome)
        if why:
            found[why].append(outcome)
    return {why: failed for why, failed in found.items() if failed}


def _why(outcome: Outcome) -> str:
    values = outcome.values
    if outcome.error:
        return "error"
    if not outcome.question.answerable:
        return "" if values.get("rightly refused", 1.0) else "not refused"
    if values.get("refused"):
        return "refused"
    return next((why for why, name in _MEASURES if values.get(name, 1.0) < 1.0), "")


_MEASURES = (("page", "all evidence"), ("answer", "answer"), ("cited", "cited"))


def pages_of(outcome: Outcome) -> str:
    """The pages that have the answer: `a.pdf, p.3; b.pdf, p.1 or p.2`; empty where none is known."""
    facts = []
    for places in outcome.question.evidence:
        files: dict[str, list[int]] = {}
        for file, page in sorted(places):
            files.setdefault(file, []).append(page)
        facts.append(" or ".join(f"{file}, {' or '.join(f'p.{page}' for page in files[file])}" for file in files))
    return "; ".join(dict.fromkeys(facts))
